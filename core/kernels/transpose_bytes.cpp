#include <octet/core/kernels/transpose_bytes.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>

namespace octet {
namespace {

/// A square of bytes, which lie in rows `from_stride` apart, and its transpose.
struct Square {
  const std::int8_t* from;
  Index from_stride;
  std::int8_t* to;
  Index to_stride;
};

/// 16 rows of 16 bytes: vectors of the baseline have them whole. Each of four steps interleaves row
/// i with row i + 8, which makes the row's number the column's.
struct Rows16 {
  static constexpr Index kSize = 16;
  using Vector [[gnu::vector_size(16)]] = std::int8_t;

  static void transpose(const Square& square) {
    Vector rows[kSize];
    for (Index i = 0; i < kSize; ++i) {
      std::memcpy(&rows[i], square.from + i * square.from_stride, sizeof(Vector));
    }
    for (int step = 0; step < 4; ++step) {
      Vector next[kSize];
      for (Index i = 0; i < kSize / 2; ++i) {
        const Vector low = rows[i];
        const Vector high = rows[i + kSize / 2];
        next[2 * i] = __builtin_shufflevector(low, high, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21,
                                              6, 22, 7, 23);
        next[2 * i + 1] = __builtin_shufflevector(low, high, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28,
                                                  13, 29, 14, 30, 15, 31);
      }
      std::copy_n(next, kSize, rows);
    }
    for (Index i = 0; i < kSize; ++i) {
      std::memcpy(square.to + i * square.to_stride, &rows[i], sizeof(Vector));
    }
  }
};

/// 8 rows of 8 bytes: swaps of bytes, pairs and halves of 64-bit words.
struct Rows8 {
  static constexpr Index kSize = 8;

  static void transpose(const Square& square) {
    static_assert(std::endian::native == std::endian::little);
    std::array<std::uint64_t, kSize> rows{};
    for (std::size_t i = 0; i < kSize; ++i) {
      std::memcpy(&rows[i], square.from + static_cast<Index>(i) * square.from_stride, kSize);
    }
    constexpr std::array<std::uint64_t, 3> kMasks = {0x00FF00FF00FF00FFU, 0x0000FFFF0000FFFFU,
                                                     0x00000000FFFFFFFFU};
    for (std::size_t level = 0; level < 3; ++level) {
      const std::size_t distance = std::size_t{1} << level;
      const auto shift = static_cast<unsigned>(8 * distance);
      for (std::size_t i = 0; i < kSize; ++i) {
        if ((i & distance) != 0) continue;
        const std::uint64_t low = rows[i];
        const std::uint64_t high = rows[i + distance];
        const std::uint64_t swapped = ((low >> shift) ^ high) & kMasks[level];
        rows[i + distance] = high ^ swapped;
        rows[i] = low ^ (swapped << shift);
      }
    }
    for (std::size_t i = 0; i < kSize; ++i) {
      std::memcpy(square.to + static_cast<Index>(i) * square.to_stride, &rows[i], kSize);
    }
  }
};

/// The last squares of an axis overlap those before them, so that no element is left.
template <class Rows>
void transpose_squares(const Square& all, Index rows, Index columns) {
  for (Index j = 0; j < columns; j += Rows::kSize) {
    const Index column = std::min(j, columns - Rows::kSize);
    for (Index i = 0; i < rows; i += Rows::kSize) {
      const Index row = std::min(i, rows - Rows::kSize);
      Rows::transpose({all.from + row * all.from_stride + column, all.from_stride,
                       all.to + column * all.to_stride + row, all.to_stride});
    }
  }
}

}  // namespace

void transpose_bytes(const std::int8_t* from, Index from_stride, Index rows, Index columns,
                     std::int8_t* to, Index to_stride) {
  const Square all{from, from_stride, to, to_stride};
  const Index least = std::min(rows, columns);
  if (least >= Rows16::kSize) return transpose_squares<Rows16>(all, rows, columns);
  if (least >= Rows8::kSize) return transpose_squares<Rows8>(all, rows, columns);
  for (Index j = 0; j < columns; ++j) {
    for (Index i = 0; i < rows; ++i) to[j * to_stride + i] = from[i * from_stride + j];
  }
}

}  // namespace octet
