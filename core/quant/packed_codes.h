#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

// Codes of 2 to 7 bits without gaps: the first code of a stream in its lowest bits, two's
// complement, from the lowest bits of each byte up; unused bits of the last byte are 0. At 4 and 2
// bits that is how .tflite files and ONNX hold the codes of a tensor, as one stream in row-major
// order (TensorFlow Lite's INT4 and INT2).

namespace octet {

/// Whether .tflite files pack codes of this width: 2 or 4.
[[nodiscard]] constexpr bool is_packed_width(int bits) { return bits == 2 || bits == 4; }

/// The fewest bits, 2 to 8, that hold every one of the codes.
[[nodiscard]] int bits_of_codes(std::span<const std::int8_t> codes);

/// Bytes of `count` packed codes. Throws InvalidArgument for a width other than 2 to 7.
[[nodiscard]] std::size_t packed_bytes(std::size_t count, int bits);

/// Throws InvalidArgument for a width other than 2 to 7 and for a code outside
/// -2^(bits - 1) .. 2^(bits - 1) - 1.
[[nodiscard]] std::vector<std::uint8_t> pack_codes(std::span<const std::int8_t> codes, int bits);

/// Packs a matrix whose rows, of `columns` values each, begin at a byte: packed_bytes(columns,
/// bits) for each. Throws InvalidArgument as pack_codes(), and where the values are no whole number
/// of rows.
[[nodiscard]] std::vector<std::uint8_t> pack_rows(std::span<const std::int8_t> codes,
                                                  std::size_t columns, int bits);

/// The codes by their bits: `bits` planes of ceil(count / 8) bytes each, plane i of the bits of
/// value 2^i (the last of -2^i), the first code in the lowest bit of the first byte. Throws as
/// pack_codes().
[[nodiscard]] std::vector<std::uint8_t> pack_bit_planes(std::span<const std::int8_t> codes,
                                                        int bits);

/// The first `count` codes. Throws InvalidArgument for a width other than 2 to 7 and unless
/// `packed` has packed_bytes(count, bits) bytes.
[[nodiscard]] std::vector<std::int8_t> unpack_codes(std::span<const std::uint8_t> packed, int bits,
                                                    std::size_t count);

}  // namespace octet
