#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/quant/code_table.h>

#include <algorithm>
#include <array>
#include <bit>

namespace octet {
namespace {

constexpr int kMostTableBits = 7;

/// The different values, in ascending order.
std::vector<std::int8_t> values_of(std::span<const std::int8_t> codes) {
  std::array<bool, 256> found{};
  for (const std::int8_t code : codes) found[static_cast<std::size_t>(code + 128)] = true;
  std::vector<std::int8_t> values;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i]) values.push_back(static_cast<std::int8_t>(static_cast<int>(i) - 128));
  }
  return values;
}

void require_width(int bits) {
  if (bits >= 1 && bits <= kMostTableBits) return;
  throw InvalidArgument(
      fmt::format("table of weights: expected 1 to {} bits, found {}", kMostTableBits, bits));
}

}  // namespace

int bits_of_table(std::span<const std::int8_t> codes) {
  const std::size_t count = std::max<std::size_t>(values_of(codes).size(), 2);
  return static_cast<int>(std::bit_width(count - 1));
}

std::vector<std::int8_t> table_of(std::span<const std::int8_t> codes, int bits) {
  require_width(bits);
  std::vector<std::int8_t> table = values_of(codes);
  const std::size_t size = std::size_t{1} << static_cast<unsigned>(bits);
  if (table.size() > size) {
    throw InvalidArgument(fmt::format(
        "table of weights: expected at most {} different values for indices of {} bits, found {}",
        size, bits, table.size()));
  }
  table.resize(size, table.empty() ? std::int8_t{0} : table.back());
  return table;
}

std::vector<std::uint8_t> pack_indices(std::span<const std::int8_t> codes,
                                       std::span<const std::int8_t> table, int bits) {
  require_width(bits);
  std::vector<std::uint8_t> stream(index_bytes(codes.size(), bits));
  std::size_t bit = 0;
  for (const std::int8_t code : codes) {
    const auto place = std::ranges::lower_bound(table, code);
    if (place == table.end() || *place != code) {
      throw InvalidArgument(fmt::format("table of weights: {} is not in it", code));
    }
    const auto index = static_cast<unsigned>(place - table.begin());
    for (int b = bits - 1; b >= 0; --b, ++bit) {
      const unsigned value = (index >> static_cast<unsigned>(b)) & 1U;
      stream[bit / 8] |= static_cast<std::uint8_t>(value << (7U - bit % 8));
    }
  }
  return stream;
}

std::size_t index_at(std::span<const std::uint8_t> stream, std::size_t i, int bits) {
  const auto width = static_cast<std::size_t>(bits);

  const std::size_t first = i / 8 * width + i % 8 * width / 8;
  const std::size_t offset = i % 8 * width % 8;
  unsigned two = static_cast<unsigned>(stream[first]) << 8U;
  if (offset + width > 8) two |= stream[first + 1];
  return (two >> (16U - offset - width)) & ((1U << width) - 1U);
}

}  // namespace octet
