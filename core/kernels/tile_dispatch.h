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

/// Calls Rows::run<tile.rows>(tile) as dispatch_rows() does: a tile function of S8Tiles.
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

/// A tile of KernelTable::f32_pieces with `vectors` vectors of V::kWidth columns.
template <class V, int vectors>
struct PieceRows {
  template <int rows>
  static void run(const PieceTile& tile) {
    const auto [from, from_stride, to, to_stride] = tile.sums;
    typename V::Vector sums[rows][vectors];
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) {
        sums[r][v] = from != nullptr ? V::load(from + r * from_stride + v * V::kWidth) : V::zero();
      }
    }
    // Rows of `a` per base pointer: see kGroup in kernels_avx512.cpp.
    constexpr int kGroup = 5;
    constexpr int kGroups = (rows + kGroup - 1) / kGroup;
    const Index a_row = tile.a_row * static_cast<Index>(sizeof(float));
    const Index a_step = tile.a_step * static_cast<Index>(sizeof(float));
    const Index b_stride = tile.b_stride;
    const TilePiece* piece = tile.pieces;
    for (const TilePiece* const end = piece + tile.count; piece < end; ++piece) {
      const auto* a = reinterpret_cast<const char*>(tile.a + piece->a);
      const float* b = tile.b + piece->b;
      const char* groups[kGroups];
#pragma GCC unroll 4
      for (int g = 0; g < kGroups; ++g) groups[g] = a + g * kGroup * a_row;
      for (Index k = tile.depth; k > 0; --k, b += b_stride) {
        typename V::Vector columns[vectors];
#pragma GCC unroll 4
        for (int v = 0; v < vectors; ++v) columns[v] = V::load(b + v * V::kWidth);
#pragma GCC unroll 16
        for (int r = 0; r < rows; ++r) {
          const char* row = groups[r / kGroup] + r % kGroup * a_row;
          const typename V::Vector x = V::repeat(reinterpret_cast<const float*>(row));
#pragma GCC unroll 4
          for (int v = 0; v < vectors; ++v) sums[r][v] = V::fma(x, columns[v], sums[r][v]);
        }
#pragma GCC unroll 4
        for (int g = 0; g < kGroups; ++g) {
          groups[g] += a_step;
          // Keeps the compiler from deriving a pointer per row.
          asm("" : "+r"(groups[g]));
        }
      }
    }
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) V::store(to + r * to_stride + v * V::kWidth, sums[r][v]);
    }
  }
};

/// KernelTable::f32_pieces: one tile type per level.
template <class Whole, class Half, class Quarter, int most>
static void dispatch_pieces(const PieceTile& tile) {
  switch (tile.level) {
    case 0:
      return dispatch_rows<Whole, most, const PieceTile&>(tile.rows, tile);
    case 1:
      return dispatch_rows<Half, most, const PieceTile&>(tile.rows, tile);
    default:
      return dispatch_rows<Quarter, most, const PieceTile&>(tile.rows, tile);
  }
}

}  // namespace octet::tiles
