#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

// Codes as indices of 1 to 7 bits into a table of the values that there are. In a stream the first
// index lies in the highest bits of the first byte, without gaps; unused bits of the last byte are
// 0. That is how TensorFlow Lite Micro's operator DECODE takes them, in the reverse order of
// packed_codes.h.

namespace octet {

/// The fewest bits, 1 to 8, of an index into the table of different values of the codes; 8 stands
/// for more than 128 values.
[[nodiscard]] int bits_of_table(std::span<const std::int8_t> codes);

/// The different values of the codes, in ascending order, and the last one again until there are
/// 2^bits. Throws InvalidArgument for a width other than 1 to 7 and where there are more of them.
[[nodiscard]] std::vector<std::int8_t> table_of(std::span<const std::int8_t> codes, int bits);

/// Bytes of `count` indices.
[[nodiscard]] constexpr std::size_t index_bytes(std::size_t count, int bits) {
  const auto width = static_cast<std::size_t>(bits);
  return count / 8 * width + (count % 8 * width + 7) / 8;
}

/// The stream of the codes' indices. Throws InvalidArgument where a code is not in the table, which
/// is in ascending order and has at most 2^bits values.
[[nodiscard]] std::vector<std::uint8_t> pack_indices(std::span<const std::int8_t> codes,
                                                     std::span<const std::int8_t> table, int bits);

/// Index `i` of a stream that has index_bytes(i + 1, bits) bytes at least.
[[nodiscard]] std::size_t index_at(std::span<const std::uint8_t> stream, std::size_t i, int bits);

}  // namespace octet
