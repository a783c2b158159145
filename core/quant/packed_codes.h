#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

// Codes of 2 or 4 bits as .tflite files and ONNX hold them: one stream in row-major order, the
// first code of a byte in its lowest bits, two's complement; rows are not padded, and unused bits
// of the last byte are 0. (TensorFlow Lite's INT4 and INT2.)

namespace octet {

/// Whether codes are packed at this width: 2 or 4.
[[nodiscard]] constexpr bool is_packed_width(int bits) { return bits == 2 || bits == 4; }

/// Bytes of `count` packed codes. Throws InvalidArgument for a width that is not packed.
[[nodiscard]] std::size_t packed_bytes(std::size_t count, int bits);

/// Throws InvalidArgument for a width that is not packed and for a code outside
/// -2^(bits - 1) .. 2^(bits - 1) - 1.
[[nodiscard]] std::vector<std::uint8_t> pack_codes(std::span<const std::int8_t> codes, int bits);

/// The first `count` codes. Throws InvalidArgument for a width that is not packed and unless
/// `packed` has packed_bytes(count, bits) bytes.
[[nodiscard]] std::vector<std::int8_t> unpack_codes(std::span<const std::uint8_t> packed, int bits,
                                                    std::size_t count);

}  // namespace octet
