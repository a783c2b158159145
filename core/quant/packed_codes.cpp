#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/core/quant/packed_codes.h>

namespace octet {
namespace {

std::size_t codes_per_byte(int bits) {
  if (!is_packed_width(bits)) {
    throw InvalidArgument(fmt::format("packed codes: expected 2 or 4 bits, found {}", bits));
  }
  return 8U / static_cast<unsigned>(bits);
}

}  // namespace

std::size_t packed_bytes(std::size_t count, int bits) {
  const std::size_t per_byte = codes_per_byte(bits);
  return count / per_byte + (count % per_byte != 0 ? 1 : 0);
}

std::vector<std::uint8_t> pack_codes(std::span<const std::int8_t> codes, int bits) {
  const std::size_t per_byte = codes_per_byte(bits);
  const int half = 1 << (bits - 1);
  const auto mask = static_cast<unsigned>(2 * half - 1);
  std::vector<std::uint8_t> packed(packed_bytes(codes.size(), bits));
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const int code = codes[i];
    if (code < -half || code >= half) {
      throw InvalidArgument(fmt::format("pack_codes: expected codes from {} to {}, found {} at {}",
                                        -half, half - 1, code, i));
    }
    const unsigned shifted = (static_cast<unsigned>(code) & mask)
                             << (i % per_byte * static_cast<unsigned>(bits));
    packed[i / per_byte] = static_cast<std::uint8_t>(packed[i / per_byte] | shifted);
  }
  return packed;
}

std::vector<std::int8_t> unpack_codes(std::span<const std::uint8_t> packed, int bits,
                                      std::size_t count) {
  const std::size_t per_byte = codes_per_byte(bits);
  if (packed.size() != packed_bytes(count, bits)) {
    throw InvalidArgument(
        fmt::format("unpack_codes: expected {} bytes for {} codes of {} bits, found {}",
                    packed_bytes(count, bits), count, bits, packed.size()));
  }
  const int half = 1 << (bits - 1);
  const auto mask = static_cast<unsigned>(2 * half - 1);
  std::vector<std::int8_t> codes(count);
  for (std::size_t i = 0; i < count; ++i) {
    const unsigned field = packed[i / per_byte] >> (i % per_byte * static_cast<unsigned>(bits));
    // Extends the sign.
    codes[i] = static_cast<std::int8_t>((static_cast<int>(field & mask) ^ half) - half);
  }
  return codes;
}

}  // namespace octet
