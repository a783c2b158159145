#pragma once

#include <octet/core/arithmetic/small_round.h>
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

static void window_mask(const float* __restrict x, std::size_t size, const GradientWindow& window,
                        std::int8_t* __restrict mask) {
  const auto [lo, hi, above, below] = window;
  for (std::size_t i = 0; i < size; ++i) {
    const bool passes = (x[i] >= lo) & (x[i] <= hi) & (x[i] > above) & (x[i] < below);
    mask[i] = passes ? 1 : 0;
  }
}

static void masked_gradient(const std::int8_t* __restrict mask, const float* __restrict g,
                            std::size_t size, float* __restrict out) {
  for (std::size_t i = 0; i < size; ++i) out[i] = mask[i] != 0 ? g[i] : 0.0F;
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
        sums[v] += as_doubles<width>(value);
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
        totals[v] += as_doubles<width>(gradient);
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

/// Rows whose terms are summed as floats.
inline constexpr std::size_t kStepRows = 32;

/// Terms of some columns over kStepRows rows or fewer.
template <class Vector>
struct StepTerms {
  Vector inside = {};
  Vector below = {};
  Vector above = {};
};

/// What step_sums() adds. Quotients are products with the reciprocal: they round to the same
/// integer as v = x / step unless v is close to a tie; the three roundings of 1 / step, of the
/// product and of the quotient change v by at most 3 * 2^-24 of it. Where one is close, the rows
/// are done anew by dividing.
template <bool writes>
struct StepSums {
  const float* x;
  const float* g;
  std::size_t rows;
  Index columns;
  const StepColumns& grid;
  float* passed;
  double* sums;

  template <int width, int vectors>
  [[gnu::always_inline]] void run(Index j) const {
    for (int v = 0; v < vectors; ++v) run_vector<width>(j + v * width);
  }

 private:
  template <int width>
  [[gnu::always_inline]] void run_vector(Index j) const {
    using Vector = LanesOf<float, width>;
    for (std::size_t row = 0; row < rows; row += kStepRows) {
      const std::size_t count = rows - row < kStepRows ? rows - row : kStepRows;
      StepTerms<Vector> terms;
      if (!add_rows<width, false>(j, row, count, terms)) {
        // By now g may be what has been passed: nothing where x is clamped.
        StepTerms<Vector> divided;
        add_rows<width, true>(j, row, count, divided);
        terms.inside = divided.inside;
      }
      add_to(terms.inside, sums + j);
      add_to(terms.below, sums + columns + j);
      add_to(terms.above, sums + 2 * columns + j);
    }
  }

  template <class Vector>
  [[gnu::always_inline]] static void add_to(const Vector& terms, double* to) {
    constexpr std::size_t kWidth = sizeof(Vector) / sizeof(float);
    float values[kWidth];
    store(terms, values);
    for (std::size_t i = 0; i < kWidth; ++i) to[i] += static_cast<double>(values[i]);
  }

  /// Returns whether no quotient is close to a tie.
  template <int width, bool divides>
  [[gnu::always_inline]] bool add_rows(Index j, std::size_t row, std::size_t count,
                                       StepTerms<LanesOf<float, width>>& terms) const {
    using Vector = LanesOf<float, width>;
    using Mask = LanesOf<std::int32_t, width>;
    constexpr std::int32_t kAllButSign = 0x7FFFFFFF;
    const auto magnitude = [](const Vector& v) __attribute__((always_inline)) {
      return __builtin_bit_cast(Vector, __builtin_bit_cast(Mask, v) & kAllButSign);
    };
    Vector factor, lowest, highest;
    load((divides ? grid.steps : grid.reciprocals) + j, factor);
    load(grid.lowest + j, lowest);
    load(grid.highest + j, highest);
    const Vector none = {};
    const Vector one = none + 1.0F;
    Vector close = {};
    Index at = static_cast<Index>(row) * columns + j;
    for (std::size_t i = 0; i < count; ++i, at += columns) {
      Vector value, gradient;
      load(x + at, value);
      load(g + at, gradient);
      const Mask passes = (value >= lowest) & (value <= highest);
      const Vector v = divides ? value / factor : value * factor;
      const Vector nearest = (v + small::kNoFraction) - small::kNoFraction;
      Vector distance = nearest - v;
      if constexpr (divides) {
        const Mask away = (__builtin_bit_cast(Mask, distance) & kAllButSign) |
                          (__builtin_bit_cast(Mask, v) & ~kAllButSign);
        distance = magnitude(distance) == 0.5F ? __builtin_bit_cast(Vector, away) : distance;
      } else {
        // A NaN is close to a tie as well.
        const Mask is_clear = magnitude(distance) + magnitude(v) * 0x1p-21F < 0.5F;
        close += (passes & ~is_clear) ? one : none;
      }
      terms.inside += passes ? gradient * distance : none;
      terms.below += value < lowest ? gradient : none;
      terms.above += value > highest ? gradient : none;
      if constexpr (writes && !divides) store(passes ? gradient : none, passed + at);
    }
    float counts[width];
    store(close, counts);
    float count_of_all = 0.0F;
    for (int i = 0; i < width; ++i) count_of_all += counts[i];
    return count_of_all == 0.0F;
  }
};

template <int lanes>
static void step_sums(const float* x, const float* g, std::size_t rows, std::size_t columns,
                      const StepColumns& grid, float* passed, double* sums) {
  const auto width = static_cast<Index>(columns);
  if (passed != nullptr) {
    for_each_column<lanes>(width, StepSums<true>{x, g, rows, width, grid, passed, sums});
  } else {
    for_each_column<lanes>(width, StepSums<false>{x, g, rows, width, grid, passed, sums});
  }
}

}  // namespace octet::passes
