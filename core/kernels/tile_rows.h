#pragma once

#include <octet/core/kernels/isa.h>

// What the tiles of products share between code paths, for the source of each path to include.
//
// A path's vectors come as a type in that source's unnamed namespace. So nothing here is seen by
// another file: what is compiled for one processor can never be the copy that the linker keeps for
// all.

namespace octet::tiles {

/// A tile function of KernelTable for 1 to `most` rows: Rows::run<rows>, where the compiler knows
/// how many there are and keeps their sums in registers.
template <class Rows, int most, class... Arguments>
static void up_to(int rows, Arguments... arguments) {
  if constexpr (most > 1) {
    if (rows < most) return up_to<Rows, most - 1, Arguments...>(rows, arguments...);
  }
  Rows::template run<most>(arguments...);
}

/// The same for a tile of S8Tiles, which says itself how many rows it has.
template <class Rows, int most>
static void s8_up_to(const S8Tile& tile) {
  up_to<Rows, most, const S8Tile&>(tile.rows, tile);
}

/// Rows of KernelTable::f32_tile, of V::kVectors vectors of V::kWidth columns. V::load_panel reads
/// aligned memory; V::fma is a fused a * b + sum.
template <class V>
struct FloatRows {
  template <int rows>
  static void run(Index k, const float* a, Index a_row, Index a_step, const float* panel,
                  const TileSums& tile, const SoonLines& /*soon*/) {
    constexpr int kCols = V::kVectors * V::kWidth;
    const auto [from, from_stride, to, to_stride] = tile;
    typename V::Vector sums[rows][V::kVectors];
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < V::kVectors; ++v) {
        sums[r][v] = from != nullptr ? V::load(from + r * from_stride + v * V::kWidth) : V::zero();
      }
    }
    for (Index kk = 0; kk < k; ++kk) {
      typename V::Vector b[V::kVectors];
#pragma GCC unroll 4
      for (int v = 0; v < V::kVectors; ++v) {
        b[v] = V::load_panel(panel + kk * kCols + v * V::kWidth);
      }
#pragma GCC unroll 8
      for (int r = 0; r < rows; ++r) {
        const typename V::Vector x = V::repeat(a + r * a_row + kk * a_step);
#pragma GCC unroll 4
        for (int v = 0; v < V::kVectors; ++v) sums[r][v] = V::fma(x, b[v], sums[r][v]);
      }
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < V::kVectors; ++v) {
        V::store(to + r * to_stride + v * V::kWidth, sums[r][v]);
      }
    }
  }
};

}  // namespace octet::tiles
