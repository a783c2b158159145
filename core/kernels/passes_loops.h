#pragma once

#include <octet/core/kernels/passes.h>
#include <octet/core/quant/round.h>

// The loops of Passes, for the source of each code path to include: plain enough for the compiler
// to make vectors of. Everything here is static or always inlined, and nothing of the standard
// library is called: a function compiled for one processor must not be the copy that the linker
// keeps for all.
//
// `unroll 1`: loops of 16 would be unrolled before they could become vectors.

namespace octet::passes {

static void bytes_to_unit(const std::uint8_t* __restrict in, std::size_t size,
                          float* __restrict out) {
  // Divided, not multiplied by a rounded 1/255: the quotient that other frameworks feed a model.
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<float>(in[i]) / 255.0F;
}

static void shift_codes(const std::int8_t* __restrict in, std::size_t size, std::int32_t shift,
                        std::uint8_t* __restrict out) {
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<std::uint8_t>(in[i] + shift);
}

static void widen_codes(const std::int8_t* __restrict in, std::size_t size,
                        std::int16_t* __restrict out) {
  for (std::size_t i = 0; i < size; ++i) out[i] = in[i];
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
[[gnu::always_inline]] static inline float rounded(float x) {
  return mode == RoundMode::half_to_even ? small::round_half_even(x) : small::round_half_away(x);
}

/// The rounded quotient x / scale, clamped; 0 of NaN. Never -0: made an integer and a float
/// again it would stay -0 where GCC truncates instead (with SSE4.1 it can), and become 0 elsewhere.
template <RoundMode mode>
[[gnu::always_inline]] static inline float divided(float x, float scale, float lo, float hi) {
  const float quotient = x / scale;
  return rounded<mode>(clamped(quotient == quotient ? quotient : 0.0F, lo, hi)) + 0.0F;
}

// A division costs ten multiplications, and a product with 1 / scale rounds to the same integer
// unless it lies close to a tie: three roundings, of 1 / scale, of the product and of the quotient,
// set the two apart by at most 3 * 2^-24 of a number of at most 255.5, less than 0.00005.
inline constexpr float kClearOfTies = 0.5F - 0.0001F;

[[gnu::always_inline]] static inline float reciprocal(float scale) {
  // NaN, which is clear of nothing, where 1 / scale is not a normal number.
  const bool normal = (scale > 1e-30F) & (scale < 1e30F);
  return normal ? 1.0F / scale : __builtin_nanf("");
}

/// The rounded quotients of x[i] by scales[i], clamped to [lo, hi].
template <RoundMode mode, int count>
[[gnu::always_inline]] static inline void quotients(const float* __restrict x,
                                                    const float* __restrict scales,
                                                    const float* __restrict reciprocals, float lo,
                                                    float hi, float* __restrict out) {
  int unclear = 0;
#pragma GCC unroll 1
  for (int i = 0; i < count; ++i) {
    const float number = clamped(x[i] * reciprocals[i], lo, hi);
    out[i] = small::round_half_even(number);
    unclear |= !(__builtin_fabsf(number - out[i]) <= kClearOfTies);
  }
  if (__builtin_expect(unclear, 0)) {
    for (int i = 0; i < count; ++i) out[i] = divided<mode>(x[i], scales[i], lo, hi);
  }
}

template <RoundMode mode>
static void quantize(const float* __restrict in, std::size_t size, const CodeGrid& grid,
                     std::int8_t* __restrict out) {
  constexpr int kBlock = 64;
  const std::int32_t zero_point = grid.zero_point;
  const auto lo = static_cast<float>(grid.qmin - zero_point);
  const auto hi = static_cast<float>(grid.qmax - zero_point);
  float scales[kBlock];
  float reciprocals[kBlock];
  for (int j = 0; j < kBlock; ++j) {
    scales[j] = grid.scale;
    reciprocals[j] = reciprocal(grid.scale);
  }
  std::size_t i = 0;
  for (; i + kBlock <= size; i += kBlock) {
    float numbers[kBlock];
    quotients<mode, kBlock>(in + i, scales, reciprocals, lo, hi, numbers);
    for (std::size_t j = 0; j < kBlock; ++j) out[i + j] = to_code(numbers[j], zero_point);
  }
  for (; i < size; ++i) out[i] = to_code(divided<mode>(in[i], grid.scale, lo, hi), zero_point);
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

static void real_sums(const std::int32_t* __restrict sums, std::size_t size,
                      const float* __restrict worth, float lo, float hi, float* __restrict real) {
  for (std::size_t j = 0; j < size; ++j) {
    real[j] = clamped(static_cast<float>(sums[j]) * worth[j], lo, hi);
  }
}

static void add_bias(float* __restrict y, std::size_t size, const float* __restrict bias, float lo,
                     float hi) {
  for (std::size_t j = 0; j < size; ++j) {
    const float sum = y[j] + bias[j];
    const float above = sum <= lo ? lo : sum;
    y[j] = above >= hi ? hi : above;
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

static void min_max_bytes(const std::uint8_t* x, std::size_t size, std::uint8_t* least,
                          std::uint8_t* largest) {
  std::uint8_t low = x[0];
  std::uint8_t high = x[0];
  for (std::size_t i = 0; i < size; ++i) {
    low = x[i] < low ? x[i] : low;
    high = x[i] > high ? x[i] : high;
  }
  *least = low;
  *largest = high;
}

/// A mean whose gradients have stayed away decays to the smallest subnormal and, rounded up, never
/// leaves it; each such number costs the processor a hundred cycles a step.
[[gnu::always_inline]] static inline float normal_or_zero(float x) {
  constexpr float kLeastNormal = 0x1p-126F;
  return __builtin_fabsf(x) < kLeastNormal ? 0.0F : x;
}

static void adam(float* __restrict w, float* __restrict m, float* __restrict v,
                 const float* __restrict g, std::size_t size, const AdamStep& step) {
  const auto [beta1, beta2, coupled, shrink, rate, spread, epsilon] = step;
  for (std::size_t i = 0; i < size; ++i) {
    const float slope = g[i] + coupled * w[i];
    m[i] = normal_or_zero(beta1 * m[i] + (1.0F - beta1) * slope);
    v[i] = normal_or_zero(beta2 * v[i] + (1.0F - beta2) * slope * slope);
    w[i] -= shrink * w[i] + rate * m[i] / (__builtin_sqrtf(v[i]) * spread + epsilon);
  }
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

// Whole strides are packed: beyond the rows of the tile stands the next part of the operand, which
// fills what no tile reads. Only behind the last k may nothing stand.

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

/// Group rows of the kernel at a time: coded row by row, then laid out so that the codes of a
/// column stand side by side.
template <int Columns, int Group>
static void pack_kernel(const KernelColumns& from, const KernelPanel& to) {
  float scales[Columns];
  float reciprocals[Columns];
  std::int32_t sums[Columns];
  std::int32_t magnitudes[Columns];
  for (int j = 0; j < Columns; ++j) {
    scales[j] = j < from.valid ? from.scales[j] : 1.0F;
    reciprocals[j] = reciprocal(scales[j]);
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
      float numbers[Columns];
      quotients<RoundMode::half_away, Columns>(row, scales, reciprocals, lo, hi, numbers);
      float reals[Columns];
#pragma GCC unroll 1
      for (int j = 0; j < Columns; ++j) {
        const auto code = static_cast<std::int32_t>(numbers[j]);
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
#pragma GCC unroll 1
    for (int j = 0; j < Columns; ++j) {
      for (int r = 0; r < Group; ++r) out[j * Group + r] = codes[r][j];
    }
  }
  for (int j = 0; j < from.valid; ++j) {
    to.sums[j] = sums[j];
    to.magnitudes[j] = magnitudes[j];
  }
}

/// All of them, for a path with these columns of a float panel, packed rows of a float tile, and
/// columns and groups of an int8 panel.
template <int FloatColumns, int FloatRows, int Columns, int Group>
static constexpr Passes all() {
  return {bytes_to_unit,
          shift_codes,
          widen_codes,
          quantize<RoundMode::half_to_even>,
          quantize<RoundMode::half_away>,
          dequantize,
          requantize,
          requantize_each,
          add_bias,
          real_sums,
          window_gradient,
          mask_columns,
          min_max,
          min_max_bytes,
          adam,
          pack_floats<FloatColumns>,
          pack_rows<FloatRows>,
          pack_code_rows<FloatRows>,
          pack_kernel<Columns, Group>};
}

}  // namespace octet::passes
