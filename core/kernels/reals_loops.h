#pragma once

#include <octet/core/kernels/lanes.h>
#include <octet/core/kernels/passes.h>

#include <cstddef>

// The loops that dequantize packed codes to a float panel and that measure sums, as simple as those
// of passes_loops.h.

namespace octet::passes {

/// Gathers `valid` codes of one column of a panel, from row k0 on, from the layout of store_codes.
template <int Columns, int Group, class Code>
[[gnu::always_inline]] static inline void gather_codes(const PanelPart& part, int column, int valid,
                                                       Code* __restrict out) {
  const auto* panel = reinterpret_cast<const Code*>(part.codes);
  if constexpr (Group == 0) {
    __builtin_memcpy(out, panel + column * part.depth + part.k0,
                     static_cast<std::size_t>(valid) * sizeof(Code));
  } else {
    const Code* from = panel + part.k0 * Columns + column * Group;
#pragma GCC unroll 8
    for (int i = 0; i < valid; i += Group) {
      __builtin_memcpy(out + i, from + i * Columns, Group * sizeof(Code));
    }
  }
}

template <int FloatColumns, int Columns, int Group, class Code>
static void pack_reals(const PanelPart& part, float* __restrict panel) {
  // Gathers every column before converting any: a wide load right after narrow stores stalls.
  Code codes[Columns * FloatColumns];
  for (int r = 0; r < part.rows; ++r) {
    Code* row = codes + r * FloatColumns;
    if (part.valid == FloatColumns) {
      gather_codes<Columns, Group>(part, part.first + r, FloatColumns, row);
    } else {
      __builtin_memset(row, 0, FloatColumns * sizeof(Code));
      gather_codes<Columns, Group>(part, part.first + r, part.valid, row);
    }
  }
  for (int r = 0; r < part.rows; ++r) {
    const float scale = part.scales[r];
#pragma GCC unroll 1
    for (int i = 0; i < FloatColumns; ++i) {
      panel[r * FloatColumns + i] = static_cast<float>(codes[r * FloatColumns + i]) * scale;
    }
  }
}

struct ColumnLimits {
  const std::int32_t* x;
  Index stride;
  std::size_t rows;
  std::int32_t* lowest;
  std::int32_t* highest;

  template <int width, int vectors>
  [[gnu::always_inline]] void run(Index j) const {
    LanesOf<std::int32_t, width> low[vectors], high[vectors];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      load(x + j + v * width, low[v]);
      high[v] = low[v];
    }
    const std::int32_t* row = x + j;
    for (std::size_t i = 1; i < rows; ++i) {
      row += stride;
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) {
        LanesOf<std::int32_t, width> value;
        load(row + v * width, value);
        low[v] = value < low[v] ? value : low[v];
        high[v] = value > high[v] ? value : high[v];
      }
    }
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      store(low[v], lowest + j + v * width);
      store(high[v], highest + j + v * width);
    }
  }
};

template <int lanes>
static void column_limits(const std::int32_t* x, Index stride, std::size_t rows,
                          std::size_t columns, std::int32_t* lowest, std::int32_t* highest) {
  for_each_column<lanes>(static_cast<Index>(columns),
                         ColumnLimits{x, stride, rows, lowest, highest});
}

struct QuantizedColumns {
  const float* x;
  std::size_t rows;
  Index columns;
  const float* factors;
  std::int8_t* out;

  template <int width, int vectors>
  [[gnu::always_inline]] void run(Index j) const {
    using Integers = LanesOf<std::int32_t, width>;
    LanesOf<float, width> factor[vectors];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) load(factors + j + v * width, factor[v]);
    Index at = j;
    for (std::size_t i = 0; i < rows; ++i, at += columns) {
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) {
        LanesOf<float, width> value;
        load(x + at + v * width, value);
        value *= factor[v];
        Integers integer = __builtin_convertvector(value, Integers);
        const auto fraction = value - __builtin_convertvector(integer, LanesOf<float, width>);
        // A comparison that holds is -1.
        integer -= fraction >= 0.5F;
        integer += fraction <= -0.5F;
        store_bytes<width>(integer, out + at + v * width);
      }
    }
  }
};

template <int lanes>
static void quantize_columns(const float* x, std::size_t rows, std::size_t columns,
                             const float* factors, std::int8_t* out) {
  const auto width = static_cast<Index>(columns);
  for_each_column<lanes>(width, QuantizedColumns{x, rows, width, factors, out});
}

struct RaisedMagnitudes {
  const float* x;
  std::size_t rows;
  Index columns;
  std::int32_t* largest;

  template <int width, int vectors>
  [[gnu::always_inline]] void run(Index j) const {
    constexpr std::int32_t kMagnitude = 0x7FFFFFFF;
    LanesOf<std::int32_t, width> most[vectors];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) load(largest + j + v * width, most[v]);
    const float* row = x + j;
    for (std::size_t i = 0; i < rows; ++i, row += columns) {
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) {
        LanesOf<std::int32_t, width> bits;
        load(row + v * width, bits);
        bits &= kMagnitude;
        most[v] = bits > most[v] ? bits : most[v];
      }
    }
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) store(most[v], largest + j + v * width);
  }
};

template <int lanes>
static void raise_magnitudes(const float* x, std::size_t rows, std::size_t columns,
                             std::int32_t* largest) {
  const auto width = static_cast<Index>(columns);
  for_each_column<lanes>(width, RaisedMagnitudes{x, rows, width, largest});
}

struct MaskedSums {
  const std::int32_t* sums;
  std::size_t rows;
  Index columns;
  const std::int32_t* lowest;
  const std::int32_t* highest;
  std::int8_t* mask;

  template <int width, int vectors>
  [[gnu::always_inline]] void run(Index j) const {
    using Vector = LanesOf<std::int32_t, width>;
    Vector low[vectors], high[vectors];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      load(lowest + j + v * width, low[v]);
      load(highest + j + v * width, high[v]);
    }
    Index at = j;
    for (std::size_t i = 0; i < rows; ++i, at += columns) {
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) {
        Vector sum;
        load(sums + at + v * width, sum);
        // Comparisons that hold are -1.
        const Vector inside = -((sum >= low[v]) & (sum <= high[v]));
        store_bytes<width>(inside, mask + at + v * width);
      }
    }
  }
};

template <int lanes>
static void mask_sums(const std::int32_t* sums, std::size_t rows, std::size_t columns,
                      const std::int32_t* lowest, const std::int32_t* highest, std::int8_t* mask) {
  const auto width = static_cast<Index>(columns);
  for_each_column<lanes>(width, MaskedSums{sums, rows, width, lowest, highest, mask});
}

}  // namespace octet::passes
