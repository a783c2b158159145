#pragma once

#include <octet/core/kernels/avx512_intrinsics.h>
#include <octet/core/kernels/isa.h>

#include <cstdint>

// Tile functions of int8 products with AMX, for the source of the AVX-512 VNNI path to include:
// panels and prepared rows have the same layout for both. An AMX tile is 16 rows of 64 bytes; one
// instruction adds the products of 16 rows of x and 16 columns over 64 codes of k. See
// docs/performance.md, "Int8 products".

namespace octet::amx {

inline constexpr int kRows = 32;
inline constexpr int kDepthStep = 64;
inline constexpr int kTileRows = 16;
inline constexpr int kPrefetchLines = 8;
/// Bytes in a row of a panel: 4 codes of each of 32 columns.
inline constexpr Index kPanelRow = 128;

/// The tile configuration: rows and bytes per row of each tile. Tiles 0 to 3 hold sums, 4 and 5 x,
/// 6 and 7 weights.
struct alignas(64) Shape {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {};
  std::uint8_t rows[16] = {};
};

/// The rows that this thread's tiles are configured for; 0: they are not.
static thread_local int configured_rows = 0;

/// Configures the tiles for so many rows, unless they are.
static inline void set_shape(int rows) {
  if (configured_rows == rows) return;
  configured_rows = rows;
  Shape shape;
  const auto upper = static_cast<std::uint8_t>(rows < kTileRows ? rows : kTileRows);
  const auto lower = static_cast<std::uint8_t>(rows - upper);
  for (int t = 0; t < 8; ++t) shape.row_bytes[t] = 64;
  shape.rows[0] = shape.rows[1] = shape.rows[4] = upper;
  shape.rows[2] = shape.rows[3] = shape.rows[5] = lower;
  shape.rows[6] = shape.rows[7] = kTileRows;
  if (lower == 0) shape.row_bytes[2] = shape.row_bytes[3] = shape.row_bytes[5] = 0;
  // The intrinsic tells the compiler of 8 of the bytes that it reads only.
  asm volatile("" : : "r"(&shape) : "memory");
  _tile_loadconfig(&shape);
}

/// Releases the tiles, which makes context switches cheaper. Other users of AMX configure their
/// own.
static void end() {
  if (configured_rows == 0) return;
  configured_rows = 0;
  _tile_release();
}

/// The codes that S8Tile multiplies at step i, kDepthStep of k, and what it prefetches.
struct RowsInPlace {
  const S8Tile& tile;

  Index steps() const { return tile.depth / kDepthStep; }
  [[gnu::always_inline]] const std::uint8_t* x(Index i) const { return tile.x + i * kDepthStep; }
  [[gnu::always_inline]] void prefetch(Index i) const {
    const std::byte* line = tile.prefetch + i * tile.prefetch_step;
    const Index line_step = tile.prefetch_step / kPrefetchLines;
#pragma GCC unroll 8
    for (int l = 0; l < kPrefetchLines; ++l, line += line_step) _mm_prefetch(line, _MM_HINT_T1);
  }
};

/// The codes that S8WindowTile multiplies at step i: a group.
struct Windows {
  const S8WindowTile& tile;

  Index steps() const { return tile.groups; }
  [[gnu::always_inline]] const std::uint8_t* x(Index i) const { return tile.x + tile.offsets[i]; }
  [[gnu::always_inline]] void prefetch(Index /*i*/) const {}
};

/// Where sums go.
struct Sums {
  std::int32_t* to;
  Index stride;
};

/// Multiplies up to 16 rows, or with `two` 17 to 32, by 16 columns, or with `wide` 32.
template <bool two, bool wide, class Codes>
[[gnu::always_inline]] static inline void multiply(const Codes& codes, const Sums& sums) {
  const auto& tile = codes.tile;
  const Index lower = kTileRows * tile.x_stride;
  std::int32_t* const sums_lower = sums.to + kTileRows * sums.stride;
  const Index sums_bytes = sums.stride * static_cast<Index>(sizeof(std::int32_t));
  // A stride of 0: all rows have the same initial sums.
  _tile_loadd(0, tile.start, 0);
  if constexpr (wide) _tile_loadd(1, tile.start + kTileRows, 0);
  if constexpr (two) _tile_loadd(2, tile.start, 0);
  if constexpr (two && wide) _tile_loadd(3, tile.start + kTileRows, 0);
  const Index steps = codes.steps();
  for (Index i = 0; i < steps; ++i) {
    const std::int8_t* const weights = tile.panel + i * kDepthStep * (kPanelRow / 4);
    const std::uint8_t* const x = codes.x(i);
    _tile_loadd(4, x, tile.x_stride);
    _tile_loadd(6, weights, kPanelRow);
    _tile_dpbssd(0, 4, 6);
    codes.prefetch(i);
    if constexpr (wide) {
      _tile_loadd(7, weights + kPanelRow / 2, kPanelRow);
      _tile_dpbssd(1, 4, 7);
    }
    if constexpr (two) {
      _tile_loadd(5, x + lower, tile.x_stride);
      _tile_dpbssd(2, 5, 6);
      if constexpr (wide) _tile_dpbssd(3, 5, 7);
    }
  }
  _tile_stored(0, sums.to, sums_bytes);
  if constexpr (wide) _tile_stored(1, sums.to + kTileRows, sums_bytes);
  if constexpr (two) _tile_stored(2, sums_lower, sums_bytes);
  if constexpr (two && wide) _tile_stored(3, sums_lower + kTileRows, sums_bytes);
}

template <bool wide, class Codes>
[[gnu::always_inline]] static inline void multiply_rows(const Codes& codes, const Sums& sums) {
  set_shape(codes.tile.rows);
  if (codes.tile.rows > kTileRows) {
    multiply<true, wide>(codes, sums);
  } else {
    multiply<false, wide>(codes, sums);
  }
}

/// Computes 16 or 32 columns, in a buffer where not all of them exist, because an AMX store cannot
/// be masked, and stores those that do.
template <class Codes>
[[gnu::always_inline]] static inline void multiply_columns(const Codes& codes) {
  const auto& tile = codes.tile;
  const Sums sums{tile.sums, tile.sums_stride};
  if (tile.cols == 2 * kTileRows) return multiply_rows<true>(codes, sums);
  if (tile.cols == kTileRows) return multiply_rows<false>(codes, sums);
  alignas(64) std::int32_t all[kRows * 2 * kTileRows];
  const bool wide = tile.cols > kTileRows;
  const Index stride = wide ? 2 * kTileRows : kTileRows;
  if (wide) {
    multiply_rows<true>(codes, {all, stride});
  } else {
    multiply_rows<false>(codes, {all, stride});
  }
  const auto existing = (std::uint32_t{1} << static_cast<unsigned>(tile.cols)) - 1U;
  for (int r = 0; r < tile.rows; ++r) {
    for (Index j = 0; j < stride; j += kTileRows) {
      _mm512_mask_storeu_epi32(tile.sums + r * tile.sums_stride + j,
                               static_cast<__mmask16>(existing >> j),
                               _mm512_load_si512(all + r * stride + j));
    }
  }
}

static void multiply_tile(const S8Tile& tile) { multiply_columns(RowsInPlace{tile}); }
static void window_tile(const S8WindowTile& tile) { multiply_columns(Windows{tile}); }

}  // namespace octet::amx
