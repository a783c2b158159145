#pragma once

#include <octet/core/kernels/tile_dispatch.h>

// Tiles of int8 convolutions, which read the pixels where they lie, for the source of each path to
// include: see docs/performance.md, "Int8 convolutions". Internal linkage as in tile_dispatch.h.

namespace octet::tiles {

/// A tile of S8Windows with `vectors` vectors of V::kLanes columns. A vector of
/// weights takes V::kWeightBytes of a panel, whose rows lie V::kPanelRow bytes apart. V::store
/// writes the first `count` lanes.
template <class V, int vectors>
struct WindowRows {
  template <int rows>
  static void run(const S8WindowTile& tile) {
    // Rows per base pointer, which addressing modes reach from one register.
    constexpr int kRowsPerBase = 4;
    constexpr int kBases = (rows + kRowsPerBase - 1) / kRowsPerBase;
    typename V::Vector sums[rows][vectors];
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) sums[r][v] = V::zero();
    }
    const Index stride = tile.x_stride;
    const std::uint8_t* const x = tile.x;
    const std::int8_t* panel = tile.panel;
    const Index* offset = tile.offsets;
    for (const Index* const end = offset + tile.groups; offset < end; ++offset) {
      const std::uint8_t* bases[kBases];
#pragma GCC unroll 4
      for (int b = 0; b < kBases; ++b) {
        bases[b] = x + *offset + b * kRowsPerBase * stride;
        // Keeps the compiler from deriving a pointer per row.
        asm("" : "+r"(bases[b]));
      }
      typename V::Vector w[vectors];
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) w[v] = V::load_weights(panel + v * V::kWeightBytes);
#pragma GCC unroll 16
      for (int r = 0; r < rows; ++r) {
        std::int32_t codes;
        __builtin_memcpy(&codes, bases[r / kRowsPerBase] + r % kRowsPerBase * stride, 4);
        const typename V::Vector repeated = V::repeat(codes);
#pragma GCC unroll 2
        for (int v = 0; v < vectors; ++v) V::multiply_add(sums[r][v], repeated, w[v]);
      }
      panel += V::kPanelRow;
    }
    const std::int32_t* const start = tile.start;
    std::int32_t* to = tile.sums;
    const Index to_stride = tile.sums_stride;
    const int last = tile.cols - (vectors - 1) * V::kLanes;
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r, to += to_stride) {
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) {
        V::store(to + v * V::kLanes, v + 1 < vectors ? V::kLanes : last,
                 V::add(sums[r][v], V::load(start + v * V::kLanes)));
      }
    }
  }
};

}  // namespace octet::tiles
