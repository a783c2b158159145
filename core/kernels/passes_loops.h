#pragma once

#include <octet/core/arithmetic/comparisons.h>
#include <octet/core/kernels/batch_norm_loops.h>
#include <octet/core/kernels/code_loops.h>
#include <octet/core/kernels/depthwise_loops.h>
#include <octet/core/kernels/lstm_loops.h>
#include <octet/core/kernels/passes.h>
#include <octet/core/kernels/pool_loops.h>
#include <octet/core/kernels/reals_loops.h>
#include <octet/core/kernels/softmax_loops.h>
#include <octet/core/kernels/window_loops.h>

// The loops of Passes, for the source of each code path to include, simple enough for compilers to
// vectorise. Everything here has internal linkage or is always inlined, and nothing of the standard
// library is called, so the linker can never pick a copy that was compiled for another processor.
// See docs/performance.md, "Vector kernels".

namespace octet::passes {

static void bytes_to_unit(const std::uint8_t* __restrict in, std::size_t size,
                          float* __restrict out) {
  // Other frameworks divide by 255. For all 256 values this product in double rounds to the same
  // float as the division, and it is faster.
  for (std::size_t i = 0; i < size; ++i) {
    out[i] = static_cast<float>(static_cast<double>(in[i]) * (1.0 / 255.0));
  }
}

/// Calls run(i) for blocks [i, i + block) that cover [0, size). The last block overlaps the one
/// before, so that no elements are left for a scalar loop. Returns false if size is less than a
/// block.
template <std::size_t block, class Run>
[[gnu::always_inline]] static inline bool in_blocks(std::size_t size, Run run) {
  if (size < block) return false;
#pragma GCC unroll 4
  for (std::size_t i = 0; i + block <= size; i += block) run(i);
  if (size % block != 0) run(size - block);
  return true;
}

static void shift_codes(const std::int8_t* __restrict in, std::size_t size, std::int32_t shift,
                        std::uint8_t* __restrict out) {
  constexpr std::size_t kBlock = 64;
  const auto shift_block = [&](std::size_t first) __attribute__((always_inline)) {
    for (std::size_t i = first; i < first + kBlock; ++i) {
      out[i] = static_cast<std::uint8_t>(in[i] + shift);
    }
  };
  if (in_blocks<kBlock>(size, shift_block)) return;
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<std::uint8_t>(in[i] + shift);
}

static void widen_codes(const std::int8_t* __restrict in, std::size_t size,
                        std::int16_t* __restrict out) {
  for (std::size_t i = 0; i < size; ++i) out[i] = in[i];
}

static void dequantize(const std::int8_t* __restrict in, std::size_t size, float scale,
                       std::int32_t zero_point, float* __restrict out) {
  for (std::size_t i = 0; i < size; ++i) {
    out[i] = scale * static_cast<float>(std::int32_t{in[i]} - zero_point);
  }
}

static void real_sums(const std::int32_t* __restrict sums, std::size_t size,
                      const float* __restrict scales, float lo, float hi, float* __restrict real) {
  for (std::size_t j = 0; j < size; ++j) {
    real[j] = clamped(static_cast<float>(sums[j]) * scales[j], lo, hi);
  }
}

static void scaled_sums(const std::int32_t* __restrict sums, std::size_t size, float scale,
                        float* __restrict real) {
  for (std::size_t i = 0; i < size; ++i) real[i] = static_cast<float>(sums[i]) * scale;
}

static void add_bias(float* __restrict y, std::size_t size, const float* __restrict bias, float lo,
                     float hi) {
  for (std::size_t j = 0; j < size; ++j) {
    y[j] = detail::clamped(y[j] + bias[j], lo, hi);
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

/// Compares in vectors of their own, which do not wait for each other.
template <int lanes>
static void min_max(const float* __restrict x, std::size_t size, float* min, float* max,
                    bool* finite) {
  using Vector = LanesOf<float, lanes>;
  constexpr int kVectors = 4;
  constexpr std::size_t kStep = std::size_t{kVectors} * lanes;
  float lowest = x[0];
  float highest = x[0];
  // 0 * v is 0 for a finite v, NaN for an infinite one or NaN.
  float poison = 0.0F;
  const auto look_at = [&](float low, float high, float spoiled) {
    lowest = low < lowest ? low : lowest;
    highest = high > highest ? high : highest;
    poison += spoiled;
  };
  std::size_t i = 0;
  if (size >= kStep) {
    Vector low[kVectors];
    Vector high[kVectors];
    Vector spoiled[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      low[v] = high[v] = Vector{} + x[0];
      spoiled[v] = Vector{};
    }
    for (; i + kStep <= size; i += kStep) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        Vector value;
        load(x + i + v * lanes, value);
        low[v] = value < low[v] ? value : low[v];
        high[v] = value > high[v] ? value : high[v];
        spoiled[v] += 0.0F * value;
      }
    }
#pragma GCC unroll 4
    for (int v = 1; v < kVectors; ++v) {
      low[0] = low[v] < low[0] ? low[v] : low[0];
      high[0] = high[v] > high[0] ? high[v] : high[0];
      spoiled[0] += spoiled[v];
    }
    for (int j = 0; j < lanes; ++j) look_at(low[0][j], high[0][j], spoiled[0][j]);
  }
  for (; i < size; ++i) look_at(x[i], x[i], 0.0F * x[i]);
  *min = lowest;
  *max = highest;
  *finite = poison == 0.0F;
  // Makes -0 into 0: which of the two was found depends on the order.
  *min += 0.0F;
  *max += 0.0F;
}

static void min_max_bytes(const std::uint8_t* x, std::size_t size, std::uint8_t* min,
                          std::uint8_t* max) {
  std::uint8_t low = x[0];
  std::uint8_t high = x[0];
  for (std::size_t i = 0; i < size; ++i) {
    low = x[i] < low ? x[i] : low;
    high = x[i] > high ? x[i] : high;
  }
  *min = low;
  *max = high;
}

/// Returns x, or 0 if |x| < least. Masks the bits, because compilers turn a selection of floats
/// into branches.
[[gnu::always_inline]] static inline float zero_below(float x, float least) {
  const std::uint32_t kept = __builtin_fabsf(x) < least ? 0U : ~0U;
  return __builtin_bit_cast(float, __builtin_bit_cast(std::uint32_t, x) & kept);
}

/// Flushes subnormal results to 0, because they are slow: the running means of weights without
/// gradients would decay to the smallest subnormal number and, rounded up, stay there; squares of
/// small gradients are subnormal too. See docs/performance.md, "Adam".
template <bool decays>
static void adam_of(float* __restrict w, float* __restrict m, float* __restrict v,
                    const float* __restrict g, std::size_t size, const AdamStep& step) {
  constexpr float kLeastNormal = 0x1p-126F;
  const auto [beta1, beta2, coupled, shrink, rate, spread, epsilon, least_slope, least_mean] = step;
  for (std::size_t i = 0; i < size; ++i) {
    const float slope = decays ? g[i] + coupled * w[i] : g[i];
    const float seen = zero_below(slope, least_slope);
    const float mean = zero_below(beta1 * m[i] + (1.0F - beta1) * slope, kLeastNormal);
    const float square = zero_below(beta2 * v[i] + (1.0F - beta2) * seen * seen, kLeastNormal);
    const float moved = zero_below(mean, least_mean);
    m[i] = mean;
    v[i] = square;
    const float change = rate * moved / (__builtin_sqrtf(square) * spread + epsilon);
    w[i] -= decays ? shrink * w[i] + change : change;
  }
}

/// Without weight decay, 0 * w is not added, which changes no bit of finite numbers.
static bool decays(const AdamStep& step) { return step.coupled != 0.0F || step.shrink != 0.0F; }

template <int lanes>
static void adam(float* w, float* m, float* v, const float* g, std::size_t size,
                 const AdamStep& step, MinMax* range) {
  decays(step) ? adam_of<true>(w, m, v, g, size, step) : adam_of<false>(w, m, v, g, size, step);
  if (range != nullptr) min_max<lanes>(w, size, &range->min, &range->max, &range->finite);
}

inline constexpr int kSquare = 4;

/// out[i * stride + r] = rows[r][k + i] for r, i < 4.
[[gnu::always_inline]] static inline void transpose_square(const float* const* rows, Index k,
                                                           float* out, Index stride) {
  using Vector [[gnu::vector_size(16)]] = float;
  Vector a, b, c, d;
  __builtin_memcpy(&a, rows[0] + k, sizeof(a));
  __builtin_memcpy(&b, rows[1] + k, sizeof(b));
  __builtin_memcpy(&c, rows[2] + k, sizeof(c));
  __builtin_memcpy(&d, rows[3] + k, sizeof(d));
  const Vector ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
  const Vector ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const Vector cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5);
  const Vector cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  const Vector columns[kSquare] = {__builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5),
                                   __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7),
                                   __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5),
                                   __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7)};
  for (int i = 0; i < kSquare; ++i) {
    __builtin_memcpy(out + i * stride, &columns[i], sizeof(Vector));
  }
}

template <int Columns>
static void pack_floats(const FloatBlock& block, float* __restrict panel) {
  const int valid = block.valid;
  if (block.next == 1) {
    for (Index k = 0; k < block.depth; ++k, panel += Columns) {
      const float* row = block.data + k * block.step;
      if (valid == Columns) {
        __builtin_memcpy(panel, row, Columns * sizeof(float));
        continue;
      }
      for (int j = 0; j < Columns; ++j) panel[j] = j < valid ? row[j] : 0.0F;
    }
    return;
  }
  // Columns beyond the last are read as the last, then overwritten with 0.
  const auto column = [&](int j) { return block.data + (j < valid ? j : valid - 1) * block.next; };
  const Index whole = block.depth / kSquare * kSquare;
  for (int j = 0; j < Columns; j += kSquare) {
    const float* columns[kSquare] = {column(j), column(j + 1), column(j + 2), column(j + 3)};
    for (Index k = 0; k < whole; k += kSquare) {
      transpose_square(columns, k, panel + k * Columns + j, Columns);
    }
    for (Index k = whole; k < block.depth; ++k) {
      for (int i = 0; i < kSquare; ++i) panel[k * Columns + j + i] = columns[i][k];
    }
  }
  for (Index k = 0; k < block.depth && valid < Columns; ++k) {
    for (int j = valid; j < Columns; ++j) panel[k * Columns + j] = 0.0F;
  }
}

// The two functions below copy f32_packed_rows elements per k, more than the `rows` that the tile
// reads: the rest are elements of the same row of the operand or of the next one. The last k copies
// `rows` elements alone, because the operand may end there.

template <int Stride>
static void pack_rows(const float* a, Index stride, Index depth, int rows, float* out) {
  Index k = 0;
  for (; k + 1 < depth && stride >= Stride; ++k) {
    __builtin_memcpy(out + k * Stride, a + k * stride, Stride * sizeof(float));
  }
  for (; k < depth; ++k) {
    for (int r = 0; r < rows; ++r) out[k * Stride + r] = a[k * stride + r];
  }
}

template <int Stride>
static void pack_code_rows(const std::int8_t* a, Index stride, Index depth, int rows, float scale,
                           std::int32_t zero_point, float* out) {
  Index k = 0;
  for (; k + 1 < depth && stride >= Stride; ++k) {
    const std::int8_t* from = a + k * stride;
    float* to = out + k * Stride;
    for (int r = 0; r < Stride; ++r) to[r] = scale * static_cast<float>(from[r] - zero_point);
  }
  for (; k < depth; ++k) {
    for (int r = 0; r < rows; ++r) {
      out[k * Stride + r] = scale * static_cast<float>(a[k * stride + r] - zero_point);
    }
  }
}

/// The sizes that the tiles of a code path and the loops that pack for them have in common: those
/// of its KernelTable.
struct PanelSizes {
  int f32_cols;
  int f32_packed_rows;
  int s8_cols;
  int s8_group;
  /// Numbers of 32 bits in a vector.
  int lanes;
};

/// Returns the passes of a code path with panels of these sizes and weights packed as Code.
template <PanelSizes sizes, class Code>
static constexpr Passes all() {
  return {.bytes_to_unit = bytes_to_unit,
          .shift_codes = shift_codes,
          .widen_codes = widen_codes,
          .quantize_even = quantize<RoundMode::half_to_even>,
          .quantize_away = quantize<RoundMode::half_away>,
          .dequantize = dequantize,
          .requantize = requantize,
          .requantize_each = requantize_each,
          .requantize_single = requantize_fixed<false>,
          .requantize_double = requantize_fixed<true>,
          .add_codes = add_codes,
          .softmax_codes = softmax_codes,
          .lstm_gates = lstm_gates,
          .lstm_cells = lstm_cells,
          .add_bias = add_bias,
          .real_sums = real_sums,
          .scaled_sums = scaled_sums,
          .raise_magnitudes = raise_magnitudes<sizes.lanes>,
          .column_limits = column_limits<sizes.lanes>,
          .mask_sums = mask_sums<sizes.lanes>,
          .window_gradient = window_gradient<sizes.lanes>,
          .masked_gradient = masked_gradient,
          .window_gradient_sums = window_gradient_sums<sizes.lanes / 2>,
          .scale_columns = scale_columns<sizes.lanes>,
          .quantize_columns = quantize_columns<sizes.lanes>,
          .mask_columns = mask_columns,
          .step_sums = step_sums<sizes.lanes>,
          .max_pool = max_pool,
          .max_pool_codes = max_pool_codes,
          .max_pool_gradient = max_pool_gradient,
          .depthwise = depthwise<sizes.lanes, float>,
          .depthwise_codes = depthwise<sizes.lanes, std::int32_t>,
          .depthwise_products = depthwise_products<sizes.lanes, float>,
          .depthwise_code_products = depthwise_products<sizes.lanes, std::int32_t>,
          .shifted_codes = shifted_codes,
          .pair_codes = pair_codes,
          .column_moments = column_moments<sizes.lanes>,
          .normalize_columns = normalize_columns<sizes.lanes>,
          .norm_sums = norm_sums<sizes.lanes>,
          .norm_gradient = norm_gradient<sizes.lanes>,
          .add_to_totals = add_to_totals<sizes.lanes / 2>,
          .min_max = min_max<sizes.lanes>,
          .min_max_bytes = min_max_bytes,
          .adam = adam<sizes.lanes>,
          .pack_floats = pack_floats<sizes.f32_cols>,
          .pack_rows = pack_rows<sizes.f32_packed_rows>,
          .pack_code_rows = pack_code_rows<sizes.f32_packed_rows>,
          .pack_kernel = pack_kernel<sizes.s8_cols, sizes.s8_group, Code>,
          .pack_reals = pack_reals<sizes.f32_cols, sizes.s8_cols, sizes.s8_group, Code>};
}

}  // namespace octet::passes
