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

static inline void set_shape(int rows) {
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

/// Multiplies up to 16 rows, or with `two` 17 to 32, by 16 columns, or with `wide` 32.
template <bool two, bool wide>
[[gnu::always_inline]] static inline void multiply(const S8Tile& tile) {
  const std::uint8_t* x = tile.x;
  const std::uint8_t* x_lower = x + kTileRows * tile.x_stride;
  std::int32_t* sums = tile.sums;
  std::int32_t* sums_lower = sums + kTileRows * tile.sums_stride;
  const Index sums_bytes = tile.sums_stride * static_cast<Index>(sizeof(std::int32_t));
  const std::byte* prefetch = tile.prefetch;
  const Index line_step = tile.prefetch_step / kPrefetchLines;
  // A stride of 0: all rows have the same initial sums.
  _tile_loadd(0, tile.start, 0);
  if constexpr (wide) _tile_loadd(1, tile.start + kTileRows, 0);
  if constexpr (two) _tile_loadd(2, tile.start, 0);
  if constexpr (two && wide) _tile_loadd(3, tile.start + kTileRows, 0);
  for (Index k = 0; k < tile.depth; k += kDepthStep) {
    const std::int8_t* weights = tile.panel + k * (kPanelRow / 4);
    _tile_loadd(4, x + k, tile.x_stride);
    _tile_loadd(6, weights, kPanelRow);
    _tile_dpbssd(0, 4, 6);
#pragma GCC unroll 8
    for (int i = 0; i < kPrefetchLines; ++i, prefetch += line_step) {
      _mm_prefetch(prefetch, _MM_HINT_T1);
    }
    if constexpr (wide) {
      _tile_loadd(7, weights + kPanelRow / 2, kPanelRow);
      _tile_dpbssd(1, 4, 7);
    }
    if constexpr (two) {
      _tile_loadd(5, x_lower + k, tile.x_stride);
      _tile_dpbssd(2, 5, 6);
      if constexpr (wide) _tile_dpbssd(3, 5, 7);
    }
  }
  _tile_stored(0, sums, sums_bytes);
  if constexpr (wide) _tile_stored(1, sums + kTileRows, sums_bytes);
  if constexpr (two) _tile_stored(2, sums_lower, sums_bytes);
  if constexpr (two && wide) _tile_stored(3, sums_lower + kTileRows, sums_bytes);
}

static void begin() { set_shape(kRows); }

/// Releases the tiles, which makes context switches cheaper. Other users of AMX configure their
/// own.
static void end() { _tile_release(); }

template <bool wide>
[[gnu::always_inline]] static inline void multiply_rows(const S8Tile& tile) {
  if (tile.rows == kRows) return multiply<true, wide>(tile);
  set_shape(tile.rows);
  if (tile.rows > kTileRows) {
    multiply<true, wide>(tile);
  } else {
    multiply<false, wide>(tile);
  }
  begin();
}

static void whole(const S8Tile& tile) { multiply_rows<true>(tile); }

/// Computes 16 or 32 columns in a buffer, because an AMX store cannot be masked, and stores those
/// that exist.
static void part(const S8Tile& tile) {
  alignas(64) std::int32_t all[kRows * 2 * kTileRows];
  const bool wide = tile.cols > kTileRows;
  S8Tile padded = tile;
  padded.sums = all;
  padded.sums_stride = wide ? 2 * kTileRows : kTileRows;
  if (wide) {
    multiply_rows<true>(padded);
  } else {
    multiply_rows<false>(padded);
  }
  const auto existing = (std::uint32_t{1} << static_cast<unsigned>(tile.cols)) - 1U;
  for (int r = 0; r < tile.rows; ++r) {
    for (Index j = 0; j < padded.sums_stride; j += kTileRows) {
      _mm512_mask_storeu_epi32(tile.sums + r * tile.sums_stride + j,
                               static_cast<__mmask16>(existing >> j),
                               _mm512_load_si512(all + r * padded.sums_stride + j));
    }
  }
}

}  // namespace octet::amx
