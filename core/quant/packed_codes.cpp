#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/quant/packed_codes.h>

#include <algorithm>
#include <string_view>

namespace octet {
namespace {

constexpr int kLeastPackedBits = 2;
constexpr int kMostPackedBits = 7;

/// Two's complement of a few bits.
struct Field {
  explicit Field(int width)
      : bits(static_cast<unsigned>(width)), half(1 << (width - 1)), mask((1U << bits) - 1U) {}

  unsigned bits;
  int half;
  unsigned mask;
};

Field field_of(int bits) {
  if (bits < kLeastPackedBits || bits > kMostPackedBits) {
    throw InvalidArgument(fmt::format("packed values: expected {} to {} bits, found {}",
                                      kLeastPackedBits, kMostPackedBits, bits));
  }
  return Field(bits);
}

/// The bits of code i as a number that is not negative.
unsigned bits_at(std::span<const std::int8_t> codes, std::size_t i, const Field& field,
                 std::string_view owner) {
  const int code = codes[i];
  if (code < -field.half || code >= field.half) {
    throw InvalidArgument(fmt::format("{}: expected values from {} to {}, found {} at {}", owner,
                                      -field.half, field.half - 1, code, i));
  }
  return static_cast<unsigned>(code) & field.mask;
}

/// Where code i of a stream begins.
struct Place {
  Place(std::size_t i, const Field& field)
      : byte(i / 8 * field.bits + i % 8 * field.bits / 8),
        shift(static_cast<unsigned>(i % 8 * field.bits % 8)),
        is_split(shift + field.bits > 8) {}

  std::size_t byte;
  unsigned shift;
  bool is_split;
};

}  // namespace

int bits_of_codes(std::span<const std::int8_t> codes) {
  if (codes.empty()) return kLeastPackedBits;
  const auto [least, most] = std::ranges::minmax(codes);
  int bits = kLeastPackedBits;
  while (least < -(1 << (bits - 1)) || most >= 1 << (bits - 1)) ++bits;
  return bits;
}

std::size_t packed_bytes(std::size_t count, int bits) {
  const Field field = field_of(bits);
  return count / 8 * field.bits + (count % 8 * field.bits + 7) / 8;
}

std::vector<std::uint8_t> pack_codes(std::span<const std::int8_t> codes, int bits) {
  const Field field = field_of(bits);
  std::vector<std::uint8_t> packed(packed_bytes(codes.size(), bits));
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const Place at(i, field);
    const unsigned shifted = bits_at(codes, i, field, "pack_codes") << at.shift;
    packed[at.byte] = static_cast<std::uint8_t>(packed[at.byte] | shifted);
    if (at.is_split) packed[at.byte + 1] = static_cast<std::uint8_t>(shifted >> 8U);
  }
  return packed;
}

std::vector<std::uint8_t> pack_rows(std::span<const std::int8_t> codes, std::size_t columns,
                                    int bits) {
  if (columns == 0 || codes.size() % columns != 0) {
    throw InvalidArgument(
        fmt::format("pack_rows: {} values are no whole rows of {}", codes.size(), columns));
  }
  std::vector<std::uint8_t> packed;
  packed.reserve(codes.size() / columns * packed_bytes(columns, bits));
  for (std::size_t begin = 0; begin < codes.size(); begin += columns) {
    const auto row = pack_codes(codes.subspan(begin, columns), bits);
    packed.insert(packed.end(), row.begin(), row.end());
  }
  return packed;
}

std::vector<std::uint8_t> pack_bit_planes(std::span<const std::int8_t> codes, int bits) {
  const Field field = field_of(bits);
  const std::size_t plane_bytes = codes.size() / 8 + (codes.size() % 8 != 0 ? 1 : 0);
  std::vector<std::uint8_t> planes(field.bits * plane_bytes);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const unsigned code = bits_at(codes, i, field, "pack_bit_planes");
    for (unsigned bit = 0; bit < field.bits; ++bit) {
      std::uint8_t& byte = planes[bit * plane_bytes + i / 8];
      byte = static_cast<std::uint8_t>(byte | (code >> bit & 1U) << i % 8);
    }
  }
  return planes;
}

std::vector<std::int8_t> unpack_codes(std::span<const std::uint8_t> packed, int bits,
                                      std::size_t count) {
  const Field field = field_of(bits);
  if (packed.size() != packed_bytes(count, bits)) {
    throw InvalidArgument(
        fmt::format("unpack_codes: expected {} bytes for {} values of {} bits, found {}",
                    packed_bytes(count, bits), count, bits, packed.size()));
  }
  std::vector<std::int8_t> codes(count);
  for (std::size_t i = 0; i < count; ++i) {
    const Place at(i, field);
    const unsigned next = at.is_split ? packed[at.byte + 1] : 0U;
    const unsigned bits_of_code = (packed[at.byte] | next << 8U) >> at.shift & field.mask;
    // Extends the sign.
    codes[i] = static_cast<std::int8_t>((static_cast<int>(bits_of_code) ^ field.half) - field.half);
  }
  return codes;
}

}  // namespace octet
