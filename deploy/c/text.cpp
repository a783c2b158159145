#include <octet/core/error.h>
#include <octet/deploy/c/text.h>

#include <algorithm>

namespace octet::detail {

std::string fill(std::string_view text, const Fillings& fillings) {
  std::string result;
  while (true) {
    const std::size_t begin = text.find('@');
    result += text.substr(0, begin);
    if (begin == std::string_view::npos) return result;
    const std::size_t end = text.find('@', begin + 1);
    const std::string_view key = text.substr(begin + 1, end - begin - 1);
    const auto filling = fillings.find(key);
    if (filling == fillings.end()) {
      throw InvalidArgument(fmt::format("c source: nothing to fill in for \"{}\"", key));
    }
    result += filling->second;
    text.remove_prefix(end + 1);
  }
}

std::string comment_text(std::string_view name) {
  constexpr std::size_t kMost = 60;
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _-+=.,:;/()[]";
  std::string text;
  for (const char c : name.substr(0, kMost)) {
    const bool plain = kPlain.find(c) != std::string_view::npos;
    text += plain ? std::string(1, c) : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return name.size() > kMost ? text + "..." : text;
}

std::string operand_text(std::int64_t value) {
  return value < 0 ? fmt::format("({})", value) : std::to_string(value);
}

std::string float_literal(float value) {
  const std::string digits = fmt::format("{}", value);
  const bool is_real = digits.find_first_of(".e") != std::string::npos;
  return digits + (is_real ? "f" : ".0f");
}

std::string indented(std::string_view lines, std::size_t levels) {
  std::string result;
  while (!lines.empty()) {
    const std::size_t length = lines.find('\n') + 1;
    result.append(4 * levels, ' ').append(lines.substr(0, length));
    lines.remove_prefix(length);
  }
  return result;
}

}  // namespace octet::detail
