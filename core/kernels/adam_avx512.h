#pragma once

#include <octet/core/kernels/codes_avx512.h>
#include <octet/core/kernels/passes_loops.h>

// passes::adam for the AVX-512 paths to include: the same bits for a finite rate of 0 or more. The
// compiler's loop is limited by the divider, which computes roots and quotients. This one computes
// the roots of every other vector by multiplications, which keeps divider and multipliers equally
// busy. The range of the new weights is measured on the way. See docs/performance.md, "Adam".

namespace octet::avx512 {

/// Returns the correctly rounded square root of x, 0 where the mask `normal` is not set.
[[gnu::always_inline]] static inline __m512 root_of_products(__m512 x, __mmask16 normal) {
  // Below 2^-102 a remainder may be too small for a float. NaN compares as tiny.
  const __mmask16 tiny = _mm512_mask_cmp_ps_mask(normal, x, _mm512_set1_ps(0x1p-100F), _CMP_NGE_UQ);
  const __mmask16 infinite = _mm512_fpclass_ps_mask(x, 0x08);
  if (__builtin_expect(_mm512_kortestz(tiny, infinite) == 0, 0)) {
    return _mm512_maskz_sqrt_ps(normal, x);
  }
  // One Goldschmidt step from 14 bits of 1 / sqrt(x) gives sqrt(x) up to its last bit, and
  // 1 / (2 sqrt(x)); the remainder then determines the nearest float. Verified for all mantissas
  // and, for roots close to the middle of two floats, for all estimates within the instruction's
  // error bound, since processors differ in them.
  const __m512 half = _mm512_set1_ps(0.5F);
  const __m512 estimate = _mm512_maskz_rsqrt14_ps(normal, x);
  const __m512 root = _mm512_mul_ps(x, estimate);
  const __m512 slope = _mm512_mul_ps(estimate, half);
  const __m512 error = _mm512_fnmadd_ps(root, slope, half);
  const __m512 close_root = _mm512_fmadd_ps(root, error, root);
  const __m512 close_slope = _mm512_fmadd_ps(slope, error, slope);
  const __m512 remainder = _mm512_fnmadd_ps(close_root, close_root, x);
  return _mm512_fmadd_ps(remainder, close_slope, close_root);
}

/// For 16 elements: the new v, where it is not 0, and rate * the new m.
struct AdamMeans {
  __m512 square;
  __mmask16 normal;
  __m512 moved;
};

/// Updates m and v of 16 elements. Zero-masked instructions take the place of passes::zero_below.
template <bool decays>
[[gnu::always_inline]] static inline AdamMeans adam_means(const float* w, float* m, float* v,
                                                          const float* g, const AdamStep& step) {
  // A number that is 0 or subnormal has none of these bits.
  const __m512i exponent = _mm512_set1_epi32(0x7F800000);
  __m512 slope = _mm512_loadu_ps(g);
  if constexpr (decays) {
    const __m512 decay = _mm512_mul_ps(_mm512_set1_ps(step.coupled), _mm512_loadu_ps(w));
    slope = _mm512_add_ps(slope, decay);
  }
  const __m512 new_mean = _mm512_mul_ps(_mm512_set1_ps(1.0F - step.beta1), slope);
  const __m512 old_mean = _mm512_mul_ps(_mm512_set1_ps(step.beta1), _mm512_loadu_ps(m));
  __m512 mean = _mm512_add_ps(old_mean, new_mean);
  mean = _mm512_maskz_mov_ps(_mm512_test_epi32_mask(_mm512_castps_si512(mean), exponent), mean);
  _mm512_storeu_ps(m, mean);

  const __mmask16 seen =
      _mm512_cmp_ps_mask(_mm512_abs_ps(slope), _mm512_set1_ps(step.least_slope), _CMP_NLT_UQ);
  const __m512 part = _mm512_maskz_mul_ps(seen, _mm512_set1_ps(1.0F - step.beta2), slope);
  const __m512 old_square = _mm512_mul_ps(_mm512_set1_ps(step.beta2), _mm512_loadu_ps(v));
  __m512 square = _mm512_add_ps(old_square, _mm512_mul_ps(part, slope));
  const __mmask16 normal = _mm512_test_epi32_mask(_mm512_castps_si512(square), exponent);
  square = _mm512_maskz_mov_ps(normal, square);
  _mm512_storeu_ps(v, square);

  const __mmask16 moves =
      _mm512_cmp_ps_mask(_mm512_abs_ps(mean), _mm512_set1_ps(step.least_mean), _CMP_NLT_UQ);
  return {square, normal, _mm512_maskz_mul_ps(moves, _mm512_set1_ps(step.rate), mean)};
}

/// Updates 16 weights and returns them.
template <bool decays>
[[gnu::always_inline]] static inline __m512 adam_weights(float* w, __m512 moved, __m512 root,
                                                         const AdamStep& step) {
  const __m512 weight = _mm512_loadu_ps(w);
  const __m512 spread =
      _mm512_add_ps(_mm512_mul_ps(root, _mm512_set1_ps(step.spread)), _mm512_set1_ps(step.epsilon));
  __m512 change = _mm512_div_ps(moved, spread);
  if constexpr (decays) {
    change = _mm512_add_ps(_mm512_mul_ps(_mm512_set1_ps(step.shrink), weight), change);
  }
  const __m512 result = _mm512_sub_ps(weight, change);
  _mm512_storeu_ps(w, result);
  return result;
}

/// Running maximum and minimum of floats as integers, two instructions per vector: the bits of
/// positive floats order like signed integers, those of negative floats like unsigned integers by
/// magnitude. Infinities and NaN compare above all finite floats.
struct Extremes {
  __m512i highest;
  __m512i lowest;
};

[[gnu::always_inline]] static inline void include(Extremes& extremes, __m512 values) {
  const __m512i bits = _mm512_castps_si512(values);
  extremes.highest = _mm512_max_epi32(extremes.highest, bits);
  extremes.lowest = _mm512_max_epu32(extremes.lowest, bits);
}

/// Converts to a range. Returns false if all floats have one sign, when one end is unknown.
static bool find_range(const Extremes& extremes, MinMax& range) {
  constexpr std::uint32_t kSign = 0x80000000U;
  constexpr std::uint32_t kInfinity = 0x7F800000U;
  const auto highest = static_cast<std::uint32_t>(_mm512_reduce_max_epi32(extremes.highest));
  const auto lowest = static_cast<std::uint32_t>(_mm512_reduce_max_epu32(extremes.lowest));
  if ((highest & kSign) != 0 || (lowest & kSign) == 0) return false;
  // Adding 0 makes -0 into 0.
  range = {__builtin_bit_cast(float, lowest) + 0.0F, __builtin_bit_cast(float, highest),
           highest < kInfinity && lowest < (kSign | kInfinity)};
  return true;
}

template <bool decays>
static void adam_of(float* w, float* m, float* v, const float* g, std::size_t size,
                    const AdamStep& shared_step, MinMax* range) {
  // A copy, because the compiler must assume that a store to w changes the shared step.
  const AdamStep step = shared_step;
  Extremes extremes{_mm512_set1_epi32(INT32_MIN), _mm512_setzero_si512()};
  std::size_t i = 0;
  for (; i + 2 * kVector <= size; i += 2 * kVector) {
    // Both means before both weights gives the processor more independent instructions.
    const std::size_t j = i + kVector;
    const AdamMeans a = adam_means<decays>(w + i, m + i, v + i, g + i, step);
    const AdamMeans b = adam_means<decays>(w + j, m + j, v + j, g + j, step);
    const __m512 a_root = _mm512_maskz_sqrt_ps(a.normal, a.square);
    const __m512 b_root = root_of_products(b.square, b.normal);
    include(extremes, adam_weights<decays>(w + i, a.moved, a_root, step));
    include(extremes, adam_weights<decays>(w + j, b.moved, b_root, step));
  }
  passes::adam_of<decays>(w + i, m + i, v + i, g + i, size - i, step);
  if (range == nullptr) return;
  if (!find_range(extremes, *range)) {
    return passes::min_max<16>(w, size, &range->min, &range->max, &range->finite);
  }
  for (; i < size; ++i) {
    range->min = w[i] < range->min ? w[i] : range->min;
    range->max = w[i] > range->max ? w[i] : range->max;
    range->finite = range->finite && 0.0F * w[i] == 0.0F;
  }
}

static void adam(float* w, float* m, float* v, const float* g, std::size_t size,
                 const AdamStep& step, MinMax* range) {
  passes::decays(step) ? adam_of<true>(w, m, v, g, size, step, range)
                       : adam_of<false>(w, m, v, g, size, step, range);
}

}  // namespace octet::avx512
