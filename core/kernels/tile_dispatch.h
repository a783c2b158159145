#pragma once

#include <octet/core/kernels/isa.h>

// Parts of the tiles that the code paths have in common, for the source of each path to include.
//
// Everything here has internal linkage, so the linker can never pick an AVX-512 copy for the
// baseline: functions are static, and vectors are types in the unnamed namespace of the source.

namespace octet::tiles {

/// Calls Rows::run<rows>, for 1 <= rows <= most, which knows the number of rows at compile time and
/// keeps all sums in registers. A tile function of KernelTable.
template <class Rows, int most, class... Arguments>
static void dispatch_rows(int rows, Arguments... arguments) {
  if constexpr (most > 1) {
    if (rows < most) return dispatch_rows<Rows, most - 1, Arguments...>(rows, arguments...);
  }
  Rows::template run<most>(arguments...);
}

/// The same as a tile function of S8Tiles.
template <class Rows, int most>
static void dispatch_s8_rows(const S8Tile& tile) {
  dispatch_rows<Rows, most, const S8Tile&>(tile.rows, tile);
}

/// KernelTable::f32_tile with V::kVectors vectors of V::kWidth columns. V::load_panel reads aligned
/// memory; V::fma is a fused a * b + sum.
template <class V>
struct VectorFloatRows {
  template <int rows>
  static void run(Index k, const float* a, Index a_row, Index a_step, const float* panel,
                  const TileSums& tile, const TilePrefetch& /*prefetch*/) {
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
