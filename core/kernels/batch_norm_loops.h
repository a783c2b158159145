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

/// Rows at a time for which what belongs to a column is loaded once.
inline constexpr int kNormRows = 4;

template <bool clamps, int rows>
struct NormalizedRows {
  const float* x;
  Index columns;
  const ColumnNorm& norm;
  float* y;

  template <int width>
  [[gnu::always_inline]] void run(Index j) const {
    using Vector = LanesOf<float, width>;
    Vector mean, inverse, gamma, beta;
    load(norm.mean + j, mean);
    load(norm.inverse + j, inverse);
    load(norm.gamma + j, gamma);
    load(norm.beta + j, beta);
    const Vector lo = Vector{} + norm.lo;
    const Vector hi = Vector{} + norm.hi;
#pragma GCC unroll 4
    for (int row = 0; row < rows; ++row) {
      Vector value;
      load(x + row * columns + j, value);
      value = (value - mean) * inverse * gamma + beta;
      if constexpr (clamps) {
        value = value <= lo ? lo : value;
        value = value >= hi ? hi : value;
      }
      store(value, y + row * columns + j);
    }
  }
};

template <int lanes, bool clamps>
static void normalize_rows(const float* x, std::size_t rows, std::size_t columns,
                           const ColumnNorm& norm, float* y) {
  const ColumnNorm of = norm;
  const auto width = static_cast<Index>(columns);
  std::size_t at = 0;
  for (; rows >= kNormRows; rows -= kNormRows, at += kNormRows * columns) {
    for_each_lanes<lanes>(width, NormalizedRows<clamps, kNormRows>{x + at, width, of, y + at});
  }
  for (; rows > 0; --rows, at += columns) {
    for_each_lanes<lanes>(width, NormalizedRows<clamps, 1>{x + at, width, of, y + at});
  }
}

template <int lanes>
static void normalize_columns(const float* x, std::size_t rows, std::size_t columns,
                              const ColumnNorm& norm, float* y) {
  if (norm.clamps) return normalize_rows<lanes, true>(x, rows, columns, norm, y);
  normalize_rows<lanes, false>(x, rows, columns, norm, y);
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

/// The gradients may be overwritten: in vectors of our own, because compilers take memory that is
/// read and written for a reason not to vectorise.
template <bool clamps, int rows>
struct NormGradient {
  const float* x;
  const float* g;
  Index columns;
  const ColumnNorm& norm;
  const float* scales;
  const float* shifts;
  float* dx;

  template <int width>
  [[gnu::always_inline]] void run(Index j) const {
    using Vector = LanesOf<float, width>;
    Vector mean, inverse, gamma, beta, scale, shift;
    load(norm.mean + j, mean);
    load(norm.inverse + j, inverse);
    load(norm.gamma + j, gamma);
    load(norm.beta + j, beta);
    load(scales + j, scale);
    load(shifts + j, shift);
    const Vector slope = gamma * inverse;
#pragma GCC unroll 4
    for (int row = 0; row < rows; ++row) {
      const Index at = row * columns + j;
      Vector value, gradient;
      load(x + at, value);
      load(g + at, gradient);
      value = (value - mean) * inverse;
      if constexpr (clamps) {
        passed_gradient<Vector, LanesOf<std::int32_t, width>>(value * gamma + beta, norm.lo,
                                                              norm.hi, gradient);
      }
      store(slope * (gradient - shift - value * scale), dx + at);
    }
  }
};

template <int lanes, bool clamps>
static void norm_gradient_rows(const float* x, const float* g, std::size_t rows,
                               std::size_t columns, const ColumnNorm& norm, const float* scales,
                               const float* shifts, float* dx) {
  const ColumnNorm of = norm;
  const auto width = static_cast<Index>(columns);
  std::size_t at = 0;
  for (; rows >= kNormRows; rows -= kNormRows, at += kNormRows * columns) {
    for_each_lanes<lanes>(
        width, NormGradient<clamps, kNormRows>{x + at, g + at, width, of, scales, shifts, dx + at});
  }
  for (; rows > 0; --rows, at += columns) {
    for_each_lanes<lanes>(
        width, NormGradient<clamps, 1>{x + at, g + at, width, of, scales, shifts, dx + at});
  }
}

template <int lanes>
static void norm_gradient(const float* x, const float* g, std::size_t rows, std::size_t columns,
                          const ColumnNorm& norm, const float* scales, const float* shifts,
                          float* dx) {
  if (norm.clamps) {
    return norm_gradient_rows<lanes, true>(x, g, rows, columns, norm, scales, shifts, dx);
  }
  norm_gradient_rows<lanes, false>(x, g, rows, columns, norm, scales, shifts, dx);
}

/// In vectors of our own for the same reason.
struct ScaledRows {
  const float* x;
  std::size_t rows;
  Index columns;
  const float* factors;
  float* y;

  template <int width, int vectors>
  [[gnu::always_inline]] void run(Index j) const {
    LanesOf<float, width> factor[vectors];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) load(factors + j + v * width, factor[v]);
    Index at = j;
    for (std::size_t i = 0; i < rows; ++i, at += columns) {
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) {
        LanesOf<float, width> value;
        load(x + at + v * width, value);
        store(value * factor[v], y + at + v * width);
      }
    }
  }
};

template <int lanes>
static void scale_columns(const float* x, std::size_t rows, std::size_t columns,
                          const float* factors, float* y) {
  const auto width = static_cast<Index>(columns);
  for_each_column<lanes>(width, ScaledRows{x, rows, width, factors, y});
}

}  // namespace octet::passes
