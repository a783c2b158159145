#pragma once

#include <immintrin.h>
#include <octet/core/shape.h>

#include <cstdint>

// Int8 products by AMX tiles, for the source of the AVX-512 VNNI path to include: panels and
// prepared rows are laid out alike for both. A tile is 16 rows of 64 bytes; one instruction adds
// the products of 16 rows of x with 16 columns over 64 codes of k.

namespace octet::amx {

inline constexpr int kRows = 32;
inline constexpr int kDepthStep = 64;
inline constexpr int kTileRows = 16;
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

static void set_shape(int rows) {
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

template <bool two>
[[gnu::always_inline]] static inline void multiply(Index depth, const std::uint8_t* x,
                                                   Index x_stride, const std::int8_t* panel,
                                                   const std::int32_t* start, std::int32_t* acc,
                                                   Index acc_stride) {
  const std::uint8_t* x_lower = x + kTileRows * x_stride;
  std::int32_t* acc_lower = acc + kTileRows * acc_stride;
  const Index acc_bytes = acc_stride * static_cast<Index>(sizeof(std::int32_t));
  // Rows 0 bytes apart: all sums start alike.
  _tile_loadd(0, start, 0);
  _tile_loadd(1, start + kTileRows, 0);
  if constexpr (two) {
    _tile_loadd(2, start, 0);
    _tile_loadd(3, start + kTileRows, 0);
  }
  for (Index k = 0; k < depth; k += kDepthStep) {
    const std::int8_t* weights = panel + k * (kPanelRow / 4);
    _tile_loadd(4, x + k, x_stride);
    _tile_loadd(6, weights, kPanelRow);
    _tile_dpbusd(0, 4, 6);
    _tile_loadd(7, weights + kPanelRow / 2, kPanelRow);
    _tile_dpbusd(1, 4, 7);
    if constexpr (two) {
      _tile_loadd(5, x_lower + k, x_stride);
      _tile_dpbusd(2, 5, 6);
      _tile_dpbusd(3, 5, 7);
    }
  }
  _tile_stored(0, acc, acc_bytes);
  _tile_stored(1, acc + kTileRows, acc_bytes);
  if constexpr (two) {
    _tile_stored(2, acc_lower, acc_bytes);
    _tile_stored(3, acc_lower + kTileRows, acc_bytes);
  }
}

/// s8_tile of KernelTable, for any rows up to kRows.
static void s8_tile(int rows, Index depth, const std::uint8_t* x, Index x_stride,
                    const std::int8_t* panel, const std::int32_t* start, std::int32_t* acc,
                    Index acc_stride) {
  set_shape(rows);
  if (rows > kTileRows) {
    multiply<true>(depth, x, x_stride, panel, start, acc, acc_stride);
  } else {
    multiply<false>(depth, x, x_stride, panel, start, acc, acc_stride);
  }
  // The state of other users of the tiles is theirs to set, and a thread switch costs less without.
  _tile_release();
}

}  // namespace octet::amx
