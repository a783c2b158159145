#pragma once

#include <octet/core/kernels/passes.h>
#include <octet/core/quant/round.h>

// The loops of Passes, for the source of each code path to include: plain enough for the compiler
// to make vectors of. Everything here is static or always inlined, and nothing of the standard
// library is called: a function compiled for one processor must not be the copy that the linker
// keeps for all.

namespace octet::passes {

static void bytes_to_unit(const std::uint8_t* __restrict in, std::size_t size,
                          float* __restrict out) {
  // Divided, not multiplied by a rounded 1/255: the quotient that other frameworks feed a model.
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<float>(in[i]) / 255.0F;
}

/// Clamping to integers before rounding gives what clamping after it would.
[[gnu::always_inline]] static inline float clamped(float x, float lo, float hi) {
  const float above = x < lo ? lo : x;
  return above > hi ? hi : above;
}

[[gnu::always_inline]] static inline std::int8_t to_code(float rounded, std::int32_t zero_point) {
  return static_cast<std::int8_t>(static_cast<std::int32_t>(rounded) + zero_point);
}

template <RoundMode mode>
static void quantize(const float* __restrict in, std::size_t size, const CodeGrid& grid,
                     std::int8_t* __restrict out) {
  const float scale = grid.scale;
  const std::int32_t zero_point = grid.zero_point;
  const auto lo = static_cast<float>(grid.qmin - zero_point);
  const auto hi = static_cast<float>(grid.qmax - zero_point);
  for (std::size_t i = 0; i < size; ++i) {
    const float quotient = in[i] / scale;
    const float number = clamped(quotient == quotient ? quotient : 0.0F, lo, hi);
    out[i] = to_code(mode == RoundMode::half_to_even ? small::round_half_even(number)
                                                     : small::round_half_away(number),
                     zero_point);
  }
}

static void dequantize(const std::int8_t* __restrict in, std::size_t size, float scale,
                       std::int32_t zero_point, float* __restrict out) {
  for (std::size_t i = 0; i < size; ++i) {
    out[i] = scale * static_cast<float>(std::int32_t{in[i]} - zero_point);
  }
}

template <bool each>
static void requantize_by(const std::int32_t* __restrict in, std::size_t size,
                          const float* __restrict factors, const CodeGrid& grid,
                          std::int8_t* __restrict out) {
  const float factor = factors[0];
  const std::int32_t zero_point = grid.zero_point;
  const auto lo = static_cast<float>(grid.qmin - zero_point);
  const auto hi = static_cast<float>(grid.qmax - zero_point);
  for (std::size_t i = 0; i < size; ++i) {
    const float scaled = static_cast<float>(in[i]) * (each ? factors[i] : factor);
    out[i] = to_code(small::round_half_even(clamped(scaled, lo, hi)), zero_point);
  }
}

static void requantize(const std::int32_t* in, std::size_t size, float factor, const CodeGrid& grid,
                       std::int8_t* out) {
  requantize_by<false>(in, size, &factor, grid, out);
}

static void requantize_each(const std::int32_t* in, std::size_t size, const float* factors,
                            const CodeGrid& grid, std::int8_t* out) {
  requantize_by<true>(in, size, factors, grid, out);
}

static void finish_sums(std::int32_t* __restrict sums, std::size_t size,
                        const std::int32_t* __restrict start, const float* __restrict worth,
                        float lo, float hi, float* __restrict real) {
  for (std::size_t j = 0; j < size; ++j) {
    sums[j] += start[j];
    real[j] = clamped(static_cast<float>(sums[j]) * worth[j], lo, hi);
  }
}

static void window_gradient(const float* __restrict x, const float* __restrict g, std::size_t size,
                            const GradientWindow& window, float* __restrict out) {
  const auto [lo, hi, above, below] = window;
  for (std::size_t i = 0; i < size; ++i) {
    const bool passes = (x[i] >= lo) & (x[i] <= hi) & (x[i] > above) & (x[i] < below);
    out[i] = passes ? g[i] : 0.0F;
  }
}

static void mask_columns(const float* __restrict x, std::size_t rows, std::size_t columns,
                         const float* __restrict lo, const float* __restrict hi,
                         float* __restrict g) {
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      const bool passes = (x[i * columns + j] >= lo[j]) & (x[i * columns + j] <= hi[j]);
      g[i * columns + j] = passes ? g[i * columns + j] : 0.0F;
    }
  }
}

/// In lanes of their own, so that the loop vectorises without reordering a comparison: the same
/// lanes on every path, since -0 and 0 compare equal.
static void min_max(const float* __restrict x, std::size_t size, float* least, float* largest,
                    bool* finite) {
  constexpr std::size_t kLanes = 32;
  float low[kLanes];
  float high[kLanes];
  float poison[kLanes];
  for (std::size_t j = 0; j < kLanes; ++j) {
    low[j] = high[j] = x[0];
    poison[j] = 0.0F;
  }
  // 0 * v is 0 for a finite v, NaN for an infinite one or NaN.
  std::size_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    for (std::size_t j = 0; j < kLanes; ++j) {
      const float v = x[i + j];
      low[j] = v < low[j] ? v : low[j];
      high[j] = v > high[j] ? v : high[j];
      poison[j] += 0.0F * v;
    }
  }
  for (std::size_t j = 0; i < size; ++i, ++j) {
    low[j] = x[i] < low[j] ? x[i] : low[j];
    high[j] = x[i] > high[j] ? x[i] : high[j];
    poison[j] += 0.0F * x[i];
  }
  *least = low[0];
  *largest = high[0];
  *finite = true;
  for (std::size_t j = 0; j < kLanes; ++j) {
    *least = low[j] < *least ? low[j] : *least;
    *largest = high[j] > *largest ? high[j] : *largest;
    *finite = *finite && poison[j] == 0.0F;
  }
}

static void adam(float* __restrict w, float* __restrict m, float* __restrict v,
                 const float* __restrict g, std::size_t size, const AdamStep& step) {
  const auto [beta1, beta2, coupled, shrink, rate, spread, epsilon] = step;
  for (std::size_t i = 0; i < size; ++i) {
    const float slope = g[i] + coupled * w[i];
    m[i] = beta1 * m[i] + (1.0F - beta1) * slope;
    v[i] = beta2 * v[i] + (1.0F - beta2) * slope * slope;
    w[i] -= shrink * w[i] + rate * m[i] / (__builtin_sqrtf(v[i]) * spread + epsilon);
  }
}

/// Group rows of the kernel at a time: coded row by row, then laid out so that the codes of a
/// column stand side by side.
template <int Columns, int Group>
static void pack_kernel(const KernelColumns& from, const KernelPanel& to) {
  float scales[Columns];
  std::int32_t sums[Columns];
  std::int32_t magnitudes[Columns];
  for (int j = 0; j < Columns; ++j) {
    scales[j] = j < from.valid ? from.scales[j] : 1.0F;
    sums[j] = magnitudes[j] = 0;
  }
  const auto lo = static_cast<float>(from.qmin);
  const auto hi = static_cast<float>(from.qmax);
  std::int8_t* out = to.codes;
  for (Index k0 = 0; k0 < from.k; k0 += Group, out += Columns * Group) {
    std::int8_t codes[Group][Columns];
    for (int r = 0; r < Group; ++r) {
      float row[Columns] = {};
      if (k0 + r < from.k) {
        const float* x = from.data + (k0 + r) * from.stride;
        if (from.valid == Columns) {
          __builtin_memcpy(row, x, sizeof(row));
        } else {
          for (int j = 0; j < from.valid; ++j) row[j] = x[j];
        }
      }
      float reals[Columns];
      for (int j = 0; j < Columns; ++j) {
        const float quotient = row[j] / scales[j];
        const float number = clamped(quotient == quotient ? quotient : 0.0F, lo, hi);
        const auto code = static_cast<std::int32_t>(small::round_half_away(number));
        codes[r][j] = static_cast<std::int8_t>(code);
        sums[j] += code;
        magnitudes[j] += code < 0 ? -code : code;
        reals[j] = static_cast<float>(code) * scales[j];
      }
      if (to.reals != nullptr && k0 + r < from.k) {
        float* place = to.reals + (k0 + r) * from.stride;
        for (int j = 0; j < from.valid; ++j) place[j] = reals[j];
      }
    }
    for (int j = 0; j < Columns; ++j) {
      for (int r = 0; r < Group; ++r) out[j * Group + r] = codes[r][j];
    }
  }
  for (int j = 0; j < from.valid; ++j) {
    to.sums[j] = sums[j];
    to.magnitudes[j] = magnitudes[j];
  }
}

/// All of them, for a path whose int8 panels have these columns and groups.
template <int Columns, int Group>
static constexpr Passes all() {
  return {bytes_to_unit,
          quantize<RoundMode::half_to_even>,
          quantize<RoundMode::half_away>,
          dequantize,
          requantize,
          requantize_each,
          finish_sums,
          window_gradient,
          mask_columns,
          min_max,
          adam,
          pack_kernel<Columns, Group>};
}

}  // namespace octet::passes
