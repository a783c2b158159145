#include <fmt/format.h>
#include <octet/command_line/numbers.h>

namespace octet::command_line {
namespace {

constexpr std::uint64_t kMostSigned = std::numeric_limits<std::int64_t>::max();

/// The largest numbers of 64 bits are known by their powers.
std::string power_or_digits(std::uint64_t count) {
  if (count == std::numeric_limits<std::uint64_t>::max()) return "2^64 - 1";
  if (count == kMostSigned) return "2^63 - 1";
  return fmt::format("{}", count);
}

}  // namespace

std::string in_words(const Count& range) {
  return fmt::format("a whole number from {} to {}", range.least, power_or_digits(range.most));
}

std::string in_words(const Real& range) {
  return fmt::format("a number from {} to {}", range.least, range.most);
}

std::string in_short(const Count& range) {
  return range.most >= kMostSigned ? "N" : fmt::format("{}..{}", range.least, range.most);
}

std::string in_short(const Real& range) { return fmt::format("{}..{}", range.least, range.most); }

void refuse_number(const std::string& option, const std::string& expected,
                   const std::string& text) {
  throw CLI::ValidationError(option, fmt::format("expected {}, found \"{}\"", expected, text));
}

}  // namespace octet::command_line
