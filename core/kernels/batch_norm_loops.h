#pragma once

#include <octet/core/kernels/lanes.h>
#include <octet/core/kernels/passes.h>

// Batch normalization of rows of columns, one column per channel or several side by side. Sums run
// down the rows, one chain per column, and stay in registers. As simple as the loops of
// passes_loops.h.

namespace octet::passes {

struct ColumnMoments {
  const float* x;
  std::size_t rows;
  Index columns;
  const float* center;
  float* sums;

  template <int width, int vectors>
  [[gnu::always_inline]] void run(Index j) const {
    LanesOf<float, width> sum[vectors] = {};
    LanesOf<float, width> squares[vectors] = {};
    LanesOf<float, width> middle[vectors];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) load(center + j + v * width, middle[v]);
    const float* row = x + j;
    for (std::size_t i = 0; i < rows; ++i, row += columns) {
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) {
        LanesOf<float, width> value;
        load(row + v * width, value);
        value -= middle[v];
        sum[v] += value;
        squares[v] += value * value;
      }
    }
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      store(sum[v], sums + j + v * width);
      store(squares[v], sums + columns + j + v * width);
    }
  }
};

template <int lanes>
static void column_moments(const float* x, std::size_t rows, std::size_t columns,
                           const float* center, float* sums) {
  for_each_column<lanes>(static_cast<Index>(columns),
                         ColumnMoments{x, rows, static_cast<Index>(columns), center, sums});
}

template <bool clamps>
static void normalize_rows(const float* __restrict x, std::size_t rows, std::size_t columns,
                           const ColumnNorm& norm, float* __restrict y) {
  const float* __restrict mean = norm.mean;
  const float* __restrict inverse = norm.inverse;
  const float* __restrict gamma = norm.gamma;
  const float* __restrict beta = norm.beta;
  const float lo = norm.lo;
  const float hi = norm.hi;
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      const float value = (x[i * columns + j] - mean[j]) * inverse[j] * gamma[j] + beta[j];
      const float above = clamps && value <= lo ? lo : value;
      y[i * columns + j] = clamps && above >= hi ? hi : above;
    }
  }
}

static void normalize_columns(const float* x, std::size_t rows, std::size_t columns,
                              const ColumnNorm& norm, float* y) {
  if (norm.clamps) return normalize_rows<true>(x, rows, columns, norm, y);
  normalize_rows<false>(x, rows, columns, norm, y);
}

/// g where a value passes its gradient: one that was not clamped. A NaN does.
template <class Vector, class Mask>
[[gnu::always_inline]] static inline void passed_gradient(const Vector& value, float lo, float hi,
                                                          Vector& g) {
  const Mask clamped = (value <= lo) | (value >= hi);
  g = __builtin_bit_cast(Vector, ~clamped & __builtin_bit_cast(Mask, g));
}

template <bool clamps>
struct NormSums {
  const float* x;
  const float* g;
  std::size_t rows;
  Index columns;
  const ColumnNorm& norm;
  float* sums;

  template <int width, int vectors>
  [[gnu::always_inline]] void run(Index j) const {
    // With what they read per column, more would not fit the registers.
    constexpr int kMost = width == 16 ? 4 : 2;
    constexpr int kVectors = vectors < kMost ? vectors : kMost;
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v += kVectors) run_vectors<width, kVectors>(j + v * width);
  }

 private:
  template <int width, int vectors>
  [[gnu::always_inline]] void run_vectors(Index j) const {
    using Vector = LanesOf<float, width>;
    Vector of_products[vectors] = {};
    Vector of_g[vectors] = {};
    Vector mean[vectors], inverse[vectors], gamma[vectors], beta[vectors];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      load(norm.mean + j + v * width, mean[v]);
      load(norm.inverse + j + v * width, inverse[v]);
      load(norm.gamma + j + v * width, gamma[v]);
      load(norm.beta + j + v * width, beta[v]);
    }
    const float lo = norm.lo;
    const float hi = norm.hi;
    Index at = j;
    for (std::size_t i = 0; i < rows; ++i, at += columns) {
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) {
        Vector value;
        Vector gradient;
        load(x + at + v * width, value);
        load(g + at + v * width, gradient);
        value = (value - mean[v]) * inverse[v];
        if constexpr (clamps) {
          passed_gradient<Vector, LanesOf<std::int32_t, width>>(value * gamma[v] + beta[v], lo, hi,
                                                                gradient);
        }
        of_products[v] += gradient * value;
        of_g[v] += gradient;
      }
    }
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      store(of_products[v], sums + j + v * width);
      store(of_g[v], sums + columns + j + v * width);
    }
  }
};

template <int lanes>
static void norm_sums(const float* x, const float* g, std::size_t rows, std::size_t columns,
                      const ColumnNorm& norm, float* sums) {
  const auto width = static_cast<Index>(columns);
  if (norm.clamps) {
    return for_each_column<lanes>(width, NormSums<true>{x, g, rows, width, norm, sums});
  }
  for_each_column<lanes>(width, NormSums<false>{x, g, rows, width, norm, sums});
}

/// Of one row, whose gradients may be overwritten: in vectors of our own, because compilers take
/// memory that is read and written for a reason not to vectorise.
template <bool clamps>
struct NormGradient {
  const float* x;
  const float* g;
  const ColumnNorm& norm;
  const float* scales;
  const float* shifts;
  float* dx;

  template <int width>
  [[gnu::always_inline]] void run(Index j) const {
    using Vector = LanesOf<float, width>;
    Vector value, gradient, mean, inverse, gamma, scale, shift;
    load(x + j, value);
    load(g + j, gradient);
    load(norm.mean + j, mean);
    load(norm.inverse + j, inverse);
    load(norm.gamma + j, gamma);
    load(scales + j, scale);
    load(shifts + j, shift);
    value = (value - mean) * inverse;
    if constexpr (clamps) {
      Vector beta;
      load(norm.beta + j, beta);
      passed_gradient<Vector, LanesOf<std::int32_t, width>>(value * gamma + beta, norm.lo, norm.hi,
                                                            gradient);
    }
    store(gamma * inverse * (gradient - shift - value * scale), dx + j);
  }
};

template <int lanes>
static void norm_gradient(const float* x, const float* g, std::size_t rows, std::size_t columns,
                          const ColumnNorm& norm, const float* scales, const float* shifts,
                          float* dx) {
  const ColumnNorm of = norm;
  const auto width = static_cast<Index>(columns);
  for (std::size_t at = 0; at < rows * columns; at += columns) {
    if (of.clamps) {
      for_each_lanes<lanes>(width, NormGradient<true>{x + at, g + at, of, scales, shifts, dx + at});
    } else {
      for_each_lanes<lanes>(width,
                            NormGradient<false>{x + at, g + at, of, scales, shifts, dx + at});
    }
  }
}

}  // namespace octet::passes
