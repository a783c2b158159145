#pragma once

#include <octet/core/kernels/avx512_intrinsics.h>
#include <octet/core/kernels/isa.h>

#include <cstdint>

// Int8 products by AMX tiles, for the source of the AVX-512 VNNI path to include: panels and
// prepared rows are laid out alike for both. A tile is 16 rows of 64 bytes; one instruction adds
// the products of 16 rows of x with 16 columns over 64 codes of k.

namespace octet::amx {

inline constexpr int kRows = 32;
inline constexpr int kDepthStep = 64;
inline constexpr int kTileRows = 16;
inline constexpr int kSoonLines = 8;
/// A row of a panel of 32 columns: 4 codes of each.
inline constexpr Index kPanelRow = 128;

/// How many rows and bytes a row each tile has. 0 to 3: sums, 4 and 5: x, 6 and 7: weights.
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
  // The intrinsic names 8 of the bytes that it reads.
  asm volatile("" : : "r"(&shape) : "memory");
  _tile_loadconfig(&shape);
}

/// 16 rows, or 32 of which `two` says, and 16 or 32 columns.
template <bool two, bool wide>
[[gnu::always_inline]] static inline void multiply(const S8Tile& tile) {
  const std::uint8_t* x = tile.x;
  const std::uint8_t* x_lower = x + kTileRows * tile.x_stride;
  std::int32_t* sums = tile.sums;
  std::int32_t* sums_lower = sums + kTileRows * tile.sums_stride;
  const Index sums_bytes = tile.sums_stride * static_cast<Index>(sizeof(std::int32_t));
  const std::byte* soon = tile.soon;
  const Index line_step = tile.soon_step / kSoonLines;
  // Rows 0 bytes apart: all sums start alike.
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
    for (int i = 0; i < kSoonLines; ++i, soon += line_step) _mm_prefetch(soon, _MM_HINT_T1);
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

/// The state of other users of the tiles is theirs to set, and a thread switch costs less without.
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

/// Instructions store 16 columns or none.
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
