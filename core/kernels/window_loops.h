#pragma once

#include <octet/core/kernels/lanes.h>
#include <octet/core/kernels/passes.h>

// Gradients of clamped, quantized values, and their sums in double. As simple as the loops of
// passes_loops.h.

namespace octet::passes {

static void window_gradient(const float* __restrict x, const float* __restrict g, std::size_t size,
                            const GradientWindow& window, float* __restrict out) {
  const auto [lo, hi, above, below] = window;
  for (std::size_t i = 0; i < size; ++i) {
    const bool passes = (x[i] >= lo) & (x[i] <= hi) & (x[i] > above) & (x[i] < below);
    out[i] = passes ? g[i] : 0.0F;
  }
}

struct Totals {
  const float* x;
  Index stride;
  std::size_t rows;
  double* totals;

  template <int width, int vectors>
  [[gnu::always_inline]] void run(Index j) const {
    LanesOf<double, width> sums[vectors];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) load(totals + j + v * width, sums[v]);
    const float* row = x + j;
    for (std::size_t i = 0; i < rows; ++i, row += stride) {
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) {
        LanesOf<float, width> value;
        load(row + v * width, value);
        sums[v] += __builtin_convertvector(value, LanesOf<double, width>);
      }
    }
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) store(sums[v], totals + j + v * width);
  }
};

template <int lanes>
static void add_to_totals(const float* x, Index stride, std::size_t rows, std::size_t columns,
                          double* totals) {
  for_each_column<lanes>(static_cast<Index>(columns), Totals{x, stride, rows, totals});
}

/// Columns whose sums stay in registers over all rows.
struct WindowSums {
  const float* x;
  const float* g;
  std::size_t rows;
  Index columns;
  const GradientWindow& window;
  float* out;
  double* sums;

  template <int width, int vectors>
  [[gnu::always_inline]] void run(Index j) const {
    using Vector = LanesOf<float, width>;
    const auto [lo, hi, above, below] = window;
    LanesOf<double, width> totals[vectors];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) load(sums + j + v * width, totals[v]);
    Index at = j;
    for (std::size_t i = 0; i < rows; ++i, at += columns) {
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) {
        Vector value;
        Vector gradient;
        load(x + at + v * width, value);
        load(g + at + v * width, gradient);
        const LanesOf<std::int32_t, width> passes =
            (value >= lo) & (value <= hi) & (value > above) & (value < below);
        gradient = __builtin_bit_cast(
            Vector, passes & __builtin_bit_cast(LanesOf<std::int32_t, width>, gradient));
        store(gradient, out + at + v * width);
        totals[v] += __builtin_convertvector(gradient, LanesOf<double, width>);
      }
    }
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) store(totals[v], sums + j + v * width);
  }
};

template <int lanes>
static void window_gradient_sums(const float* x, const float* g, std::size_t rows,
                                 std::size_t columns, const GradientWindow& window, float* out,
                                 double* sums) {
  for_each_column<lanes>(static_cast<Index>(columns),
                         WindowSums{x, g, rows, static_cast<Index>(columns), window, out, sums});
}

}  // namespace octet::passes
