#pragma once

#include <octet/core/arithmetic/small_round.h>
#include <octet/core/kernels/lanes.h>
#include <octet/core/kernels/passes.h>

// Gradients of clamped, quantized values, and their sums in double. As simple as the loops of
// passes_loops.h.

namespace octet::passes {

/// Where x is inside the window, g, else 0.
template <int width>
[[gnu::always_inline]] static inline LanesOf<float, width> inside(const LanesOf<float, width>& x,
                                                                  const LanesOf<float, width>& g,
                                                                  const GradientWindow& window) {
  const LanesOf<std::int32_t, width> passes =
      (x >= window.lo) & (x <= window.hi) & (x > window.above) & (x < window.below);
  return __builtin_bit_cast(LanesOf<float, width>,
                            passes & __builtin_bit_cast(LanesOf<std::int32_t, width>, g));
}

/// In vectors of our own, because `out` may be g: memory that is read and written is a reason for
/// compilers not to vectorise.
struct WindowGradient {
  const float* x;
  const float* g;
  const GradientWindow& window;
  float* out;

  template <int width, int vectors>
  [[gnu::always_inline]] void run(Index i) const {
    LanesOf<float, width> value[vectors];
    LanesOf<float, width> gradient[vectors];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      load(x + i + v * width, value[v]);
      load(g + i + v * width, gradient[v]);
      store(inside<width>(value[v], gradient[v], window), out + i + v * width);
    }
  }
};

template <int lanes>
static void window_gradient(const float* x, const float* g, std::size_t size,
                            const GradientWindow& window, float* out) {
  for_each_column<lanes>(static_cast<Index>(size), WindowGradient{x, g, window, out});
}

static void masked_gradient(const std::int8_t* __restrict mask, const float* g, std::size_t size,
                            float* out) {
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
        gradient = inside<width>(value, gradient, window);
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
  Vector inside;
  Vector below;
  Vector above;
  /// The farthest that a quotient was off its integer.
  Vector farthest;
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
    // As many at a time as fit the registers: lines of memory come two by two.
    constexpr int kTogether = width * vectors >= 32 ? 2 : 1;
    for (int v = 0; v < vectors; v += kTogether) run_vectors<width, kTogether>(j + v * width);
  }

 private:
  static constexpr std::int32_t kAllButSign = 0x7FFFFFFF;
  /// The share of v within which it counts as close to a tie.
  static constexpr float kDoubt = 0x1p-21F;

  template <class Vector>
  [[gnu::always_inline]] static Vector magnitude(const Vector& v) {
    using Mask = LanesOf<std::int32_t, sizeof(Vector) / sizeof(float)>;
    return __builtin_bit_cast(Vector, __builtin_bit_cast(Mask, v) & kAllButSign);
  }
  template <int width, int vectors>
  [[gnu::always_inline]] void run_vectors(Index j) const {
    using Vector = LanesOf<float, width>;
    for (std::size_t row = 0; row < rows; row += kStepRows) {
      const std::size_t count = rows - row < kStepRows ? rows - row : kStepRows;
      StepTerms<Vector> terms[vectors];
      add_rows<width, vectors>(j, row, count, terms);
      LanesOf<std::int32_t, width> close = {};
#pragma GCC unroll 2
      for (int k = 0; k < vectors; ++k) close |= doubtful<width>(j + k * width, terms[k].farthest);
      const bool settles = any<width>(close);
#pragma GCC unroll 2
      for (int k = 0; k < vectors; ++k) {
        const Index at = j + k * width;
        if (settles) terms[k].inside = settled_rows<width>(at, row, count);
        add_to<width>(terms[k].inside, sums + at);
        add_to<width>(terms[k].below, sums + columns + at);
        add_to<width>(terms[k].above, sums + 2 * columns + at);
      }
    }
  }

  template <int width>
  [[gnu::always_inline]] static void add_to(const LanesOf<float, width>& terms, double* to) {
    if constexpr (width == 1) {
      *to += static_cast<double>(terms[0]);
    } else {
      // Doubles of one register.
      add_doubles<width / 2>(low_half<width>(terms), to);
      add_doubles<width / 2>(high_half<width>(terms), to + width / 2);
    }
  }
  template <int width>
  [[gnu::always_inline]] static void add_doubles(const LanesOf<float, width>& terms, double* to) {
    LanesOf<double, width> total;
    load(to, total);
    total += as_doubles<width>(terms);
    store(total, to);
  }

  template <int width>
  [[gnu::always_inline]] static bool any(const LanesOf<std::int32_t, width>& mask) {
    std::int32_t lanes[width];
    store(mask, lanes);
    std::int32_t found = 0;
    for (int i = 0; i < width; ++i) found |= lanes[i];
    return found != 0;
  }

  /// Where a quotient may be close to a tie, were it the largest of those that pass.
  template <int width>
  [[gnu::always_inline]] LanesOf<std::int32_t, width> doubtful(
      Index j, const LanesOf<float, width>& farthest) const {
    LanesOf<float, width> factor, lowest, highest;
    load(grid.reciprocals + j, factor);
    load(grid.lowest + j, lowest);
    load(grid.highest + j, highest);
    const LanesOf<float, width> below = magnitude(lowest * factor);
    const LanesOf<float, width> above = magnitude(highest * factor);
    const LanesOf<float, width> most = below > above ? below : above;
    // Not >=: nothing is known where the reciprocal is a NaN.
    return ~(farthest + most * (2.0F * kDoubt) < 0.5F);
  }

  template <int width, int vectors>
  [[gnu::always_inline]] void add_rows(Index j, std::size_t row, std::size_t count,
                                       StepTerms<LanesOf<float, width>> (&terms)[vectors]) const {
    using Vector = LanesOf<float, width>;
    using Mask = LanesOf<std::int32_t, width>;
    const Vector none = {};
    Vector factor[vectors], lowest[vectors], highest[vectors];
    // In registers, where `terms` would be in memory.
    Vector inside[vectors], below[vectors], above[vectors], farthest[vectors];
#pragma GCC unroll 2
    for (int k = 0; k < vectors; ++k) {
      load(grid.reciprocals + j + k * width, factor[k]);
      load(grid.lowest + j + k * width, lowest[k]);
      load(grid.highest + j + k * width, highest[k]);
      inside[k] = below[k] = above[k] = farthest[k] = none;
    }
    Index at = static_cast<Index>(row) * columns + j;
    for (std::size_t i = 0; i < count; ++i, at += columns) {
#pragma GCC unroll 2
      for (int k = 0; k < vectors; ++k) {
        Vector value, gradient;
        load(x + at + k * width, value);
        load(g + at + k * width, gradient);
        const Mask is_below = value < lowest[k];
        const Mask is_above = value > highest[k];
        const Mask clamped = is_below | is_above;
        const Vector distance = beyond_integer<width>(value * factor[k]);
        const Vector off = clamped ? none : magnitude(distance);
        farthest[k] = off > farthest[k] ? off : farthest[k];
        inside[k] -= clamped ? none : gradient * distance;
        below[k] = is_below ? below[k] + gradient : below[k];
        above[k] = is_above ? above[k] + gradient : above[k];
        if constexpr (writes) store(clamped ? none : gradient, passed + at + k * width);
      }
    }
#pragma GCC unroll 2
    for (int k = 0; k < vectors; ++k) terms[k] = {inside[k], below[k], above[k], farthest[k]};
  }

  /// The terms inside, by dividing where a quotient is close to a tie. By now g may be what has
  /// been passed: nothing where x is clamped.
  template <int width>
  [[gnu::always_inline]] LanesOf<float, width> settled_rows(Index j, std::size_t row,
                                                            std::size_t count) const {
    using Vector = LanesOf<float, width>;
    using Mask = LanesOf<std::int32_t, width>;
    Vector step, factor, lowest, highest;
    load(grid.steps + j, step);
    load(grid.reciprocals + j, factor);
    load(grid.lowest + j, lowest);
    load(grid.highest + j, highest);
    const Vector none = {};
    Vector by_products = {}, by_quotients = {};
    Mask close = {};
    Index at = static_cast<Index>(row) * columns + j;
    for (std::size_t i = 0; i < count; ++i, at += columns) {
      Vector value, gradient;
      load(x + at, value);
      load(g + at, gradient);
      const Mask passes = (value >= lowest) & (value <= highest);
      const Vector product = value * factor;
      const Vector distance = beyond_integer<width>(product);
      close |= passes & ~(magnitude(distance) + magnitude(product) * kDoubt < 0.5F);
      by_products -= passes ? gradient * distance : none;
      const Vector quotient = value / step;
      const Vector off = beyond_integer<width>(quotient);
      // Ties away from zero.
      const Mask away = (__builtin_bit_cast(Mask, off) & kAllButSign) |
                        (~__builtin_bit_cast(Mask, quotient) & ~kAllButSign);
      by_quotients -=
          passes ? gradient * (magnitude(off) == 0.5F ? __builtin_bit_cast(Vector, away) : off)
                 : none;
    }
    // Column by column, so that what lies beside one in a vector does not matter.
    return close ? by_quotients : by_products;
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
