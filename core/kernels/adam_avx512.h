#pragma once

#include <octet/core/kernels/codes_avx512.h>
#include <octet/core/kernels/passes_loops.h>

// passes::adam for the AVX-512 paths to include, the same bits for a finite rate of 0 or more. The
// loop that the compiler makes waits for the divider, which takes 22 cycles for 16 roots and
// quotients. Here every other vector has its roots made of products, and that keeps both kinds of
// units busy: 784 x 256 weights with their means in the cache take 63 us instead of 77. Measuring
// the new weights beside that costs nothing, where a pass of its own takes 12 us.

namespace octet::avx512 {

/// The correctly rounded square root of x, which is 0 where it is not `normal`.
[[gnu::always_inline]] static inline __m512 root_of_products(__m512 x, __mmask16 normal) {
  // Below 2^-102 a remainder may be too small for a float. NaN counts as tiny.
  const __mmask16 tiny = _mm512_mask_cmp_ps_mask(normal, x, _mm512_set1_ps(0x1p-100F), _CMP_NGE_UQ);
  const __mmask16 infinite = _mm512_fpclass_ps_mask(x, 0x08);
  if (__builtin_expect(_mm512_kortestz(tiny, infinite) == 0, 0)) {
    return _mm512_maskz_sqrt_ps(normal, x);
  }
  // Goldschmidt's step from 14 bits of 1 / sqrt(x) leads to sqrt(x) but for its last bit, and to
  // 1 / (2 sqrt(x)); the remainder then says which float is nearest. That it always does has been
  // tried of all mantissas and, for the roots near the middle of two floats, with all estimates as
  // close as the instruction promises: processors differ in them.
  const __m512 half = _mm512_set1_ps(0.5F);
  const __m512 estimate = _mm512_maskz_rsqrt14_ps(normal, x);
  const __m512 root = _mm512_mul_ps(x, estimate);
  const __m512 slope = _mm512_mul_ps(estimate, half);
  const __m512 off = _mm512_fnmadd_ps(root, slope, half);
  const __m512 close_root = _mm512_fmadd_ps(root, off, root);
  const __m512 close_slope = _mm512_fmadd_ps(slope, off, slope);
  const __m512 remainder = _mm512_fnmadd_ps(close_root, close_root, x);
  return _mm512_fmadd_ps(remainder, close_slope, close_root);
}

/// Of 16 elements: their new v, where it is not 0, and rate * their new m.
struct AdamMeans {
  __m512 square;
  __mmask16 normal;
  __m512 moved;
};

/// Masked products instead of passes::zero_below: what a mask leaves out is 0.
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

/// Returns the new weights.
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

/// The largest and the least of floats, found by their bits: those of positive ones grow with them
/// as signed integers, those of negative ones grow with their magnitude as unsigned ones. Two
/// instructions a vector; what is not finite is above all else.
struct Extremes {
  __m512i highest;
  __m512i lowest;
};

[[gnu::always_inline]] static inline void include(Extremes& extremes, __m512 values) {
  const __m512i bits = _mm512_castps_si512(values);
  extremes.highest = _mm512_max_epi32(extremes.highest, bits);
  extremes.lowest = _mm512_max_epu32(extremes.lowest, bits);
}

/// False where all have one sign: then one end is not known.
static bool find_limits(const Extremes& extremes, MinMax& limits) {
  constexpr std::uint32_t kSign = 0x80000000U;
  constexpr std::uint32_t kInfinity = 0x7F800000U;
  const auto highest = static_cast<std::uint32_t>(_mm512_reduce_max_epi32(extremes.highest));
  const auto lowest = static_cast<std::uint32_t>(_mm512_reduce_max_epu32(extremes.lowest));
  if ((highest & kSign) != 0 || (lowest & kSign) == 0) return false;
  // Plus 0: none is left below 0.
  limits = {__builtin_bit_cast(float, lowest) + 0.0F, __builtin_bit_cast(float, highest),
            highest < kInfinity && lowest < (kSign | kInfinity)};
  return true;
}

template <bool decays>
static void adam_of(float* w, float* m, float* v, const float* g, std::size_t size,
                    const AdamStep& shared_step, MinMax* limits) {
  // A copy: for all that the compiler knows, a store to w could change the shared step.
  const AdamStep step = shared_step;
  Extremes extremes{_mm512_set1_epi32(INT32_MIN), _mm512_setzero_si512()};
  std::size_t i = 0;
  for (; i + 2 * kVector <= size; i += 2 * kVector) {
    // Both means before both weights, which is quicker by 4 %.
    const std::size_t j = i + kVector;
    const AdamMeans a = adam_means<decays>(w + i, m + i, v + i, g + i, step);
    const AdamMeans b = adam_means<decays>(w + j, m + j, v + j, g + j, step);
    const __m512 a_root = _mm512_maskz_sqrt_ps(a.normal, a.square);
    const __m512 b_root = root_of_products(b.square, b.normal);
    include(extremes, adam_weights<decays>(w + i, a.moved, a_root, step));
    include(extremes, adam_weights<decays>(w + j, b.moved, b_root, step));
  }
  passes::adam_of<decays>(w + i, m + i, v + i, g + i, size - i, step);
  if (limits == nullptr) return;
  if (!find_limits(extremes, *limits)) {
    return passes::min_max(w, size, &limits->min, &limits->max, &limits->finite);
  }
  for (; i < size; ++i) {
    limits->min = w[i] < limits->min ? w[i] : limits->min;
    limits->max = w[i] > limits->max ? w[i] : limits->max;
    limits->finite = limits->finite && 0.0F * w[i] == 0.0F;
  }
}

static void adam(float* w, float* m, float* v, const float* g, std::size_t size,
                 const AdamStep& step, MinMax* limits) {
  passes::decays(step) ? adam_of<true>(w, m, v, g, size, step, limits)
                       : adam_of<false>(w, m, v, g, size, step, limits);
}

}  // namespace octet::avx512
