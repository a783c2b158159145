#pragma once

#include <octet/core/kernels/gemm.h>
#include <octet/core/kernels/isa.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

// Shared by the drivers of float products: the depth of panels, and the product of rows with one
// panel. See docs/performance.md, "Float products: tiles".

namespace octet::detail {

/// A panel of at most this depth and f32_cols columns stays in the first-level cache.
inline constexpr Index kDepthBlock = 288;

/// The depth of the panels of a product. Divides k evenly: a shallow last block would write and
/// read as many partial sums as a deep one.
inline Index depth_of_blocks(Index k) {
  const Index blocks = (k + kDepthBlock - 1) / kDepthBlock;
  return blocks == 0 ? 1 : (k + blocks - 1) / blocks;
}

/// The first operand of a product with one panel: element (i, k) is data[i * row + k * step].
struct PanelRows {
  const float* data;
  Index row;
  Index step;
};

/// The height of the tiles for `rows` rows: divides them evenly among the fewest tiles. 128 rows in
/// tiles of at most 14 are nine of 13 and one of 11, not nine of 14 and one of 2, which would have
/// too few independent sums to hide the latency of an fma.
inline Index tile_height(const KernelTable& table, Index rows) {
  const Index tiles = (rows + table.f32_rows - 1) / table.f32_rows;
  return tiles == 0 ? 1 : (rows + tiles - 1) / tiles;
}

/// Multiplies `rows` rows of `a` with the first `valid` columns of a panel. Tile t of `a`, of
/// `height` rows, starts at a.data + t * tile_stride and prefetches what prefetcher.next(depth)
/// returns.
template <class Prefetcher>
void multiply_panel(const KernelTable& table, Index rows, Index height, Index depth,
                    const PanelRows& a, Index tile_stride, const float* panel, Index valid,
                    const TileSums& sums, Prefetcher& prefetcher) {
  const Index cols = table.f32_cols;
  const float* data = a.data;
  TileSums tile = sums;
  for (Index i = 0; i < rows; i += height, data += tile_stride) {
    const auto count = static_cast<int>(std::min(height, rows - i));
    if (valid == cols) {
      table.f32_tile(count, depth, data, a.row, a.step, panel, tile, prefetcher.next(depth));
    } else {
      // A partial last panel is computed whole in a buffer, from which the valid columns are
      // copied.
      alignas(64) std::array<float, kMaxF32Rows * kMaxF32Cols> whole{};
      for (int r = 0; tile.from != nullptr && r < count; ++r) {
        std::copy_n(tile.from + r * tile.from_stride, valid, whole.data() + Index{r} * cols);
      }
      table.f32_tile(count, depth, data, a.row, a.step, panel,
                     {tile.from == nullptr ? nullptr : whole.data(), cols, whole.data(), cols},
                     prefetcher.next(depth));
      for (int r = 0; r < count; ++r) {
        std::copy_n(whole.data() + Index{r} * cols, valid, tile.to + r * tile.to_stride);
      }
    }
    if (tile.from != nullptr) tile.from += height * tile.from_stride;
    tile.to += height * tile.to_stride;
  }
}

/// Packs rows [k0, k0 + depth) and columns [j0, j0 + f32_cols) of b' into `panel`.
inline void pack_panel(const KernelTable& table, const GemmOperand& b, Index n, Index k0,
                       Index depth, Index j0, float* panel) {
  const bool transposed = b.transpose == Transpose::yes;
  const Index step = transposed ? 1 : b.stride;
  const Index next = transposed ? b.stride : 1;
  table.passes.pack_floats({.data = b.data + k0 * step + j0 * next,
                            .step = step,
                            .next = next,
                            .depth = depth,
                            .valid = static_cast<int>(std::min<Index>(table.f32_cols, n - j0))},
                           panel);
}

}  // namespace octet::detail
