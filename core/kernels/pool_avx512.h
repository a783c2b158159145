#pragma once

#include <octet/core/kernels/avx512_intrinsics.h>
#include <octet/core/kernels/passes.h>

// passes::max_pool and max_pool_gradient for the AVX-512 paths to include: comparisons give masks,
// which the compiler's vectors of pool_loops.h would make vectors of again. See
// docs/performance.md, "Maximum pooling".

namespace octet::avx512 {

/// Channels that are computed at a time, in vectors of half the width where they are few.
struct WidePool {
  using Vector = __m512;
  using Mask = __mmask16;
  static constexpr Index kLanes = 16;
  [[gnu::always_inline]] static Vector load(Mask mask, const float* p) {
    return _mm512_maskz_loadu_ps(mask, p);
  }
  [[gnu::always_inline]] static void store(float* p, Mask mask, Vector x) {
    _mm512_mask_storeu_ps(p, mask, x);
  }
  [[gnu::always_inline]] static Mask numbers(Mask mask, Vector x) {
    return _mm512_mask_cmp_ps_mask(mask, x, x, _CMP_ORD_Q);
  }
  /// Where x is above y, or a NaN.
  [[gnu::always_inline]] static Mask above(Mask mask, Vector x, Vector y) {
    return _mm512_mask_cmp_ps_mask(mask, x, y, _CMP_NLE_UQ);
  }
  [[gnu::always_inline]] static Mask equal(Mask mask, Vector x, Vector y) {
    return _mm512_mask_cmp_ps_mask(mask, x, y, _CMP_EQ_OQ);
  }
  [[gnu::always_inline]] static Vector blend(Mask mask, Vector x, Vector y) {
    return _mm512_mask_blend_ps(mask, x, y);
  }
  [[gnu::always_inline]] static Vector only(Mask mask, Vector x) {
    return _mm512_maskz_mov_ps(mask, x);
  }
  [[gnu::always_inline]] static Vector plus_zero(Vector x) {
    return _mm512_add_ps(x, _mm512_setzero_ps());
  }
};

struct NarrowPool {
  using Vector = __m256;
  using Mask = __mmask8;
  static constexpr Index kLanes = 8;
  [[gnu::always_inline]] static Vector load(Mask mask, const float* p) {
    return _mm256_maskz_loadu_ps(mask, p);
  }
  [[gnu::always_inline]] static void store(float* p, Mask mask, Vector x) {
    _mm256_mask_storeu_ps(p, mask, x);
  }
  [[gnu::always_inline]] static Mask numbers(Mask mask, Vector x) {
    return _mm256_mask_cmp_ps_mask(mask, x, x, _CMP_ORD_Q);
  }
  [[gnu::always_inline]] static Mask above(Mask mask, Vector x, Vector y) {
    return _mm256_mask_cmp_ps_mask(mask, x, y, _CMP_NLE_UQ);
  }
  [[gnu::always_inline]] static Mask equal(Mask mask, Vector x, Vector y) {
    return _mm256_mask_cmp_ps_mask(mask, x, y, _CMP_EQ_OQ);
  }
  [[gnu::always_inline]] static Vector blend(Mask mask, Vector x, Vector y) {
    return _mm256_mask_blend_ps(mask, x, y);
  }
  [[gnu::always_inline]] static Vector only(Mask mask, Vector x) {
    return _mm256_maskz_mov_ps(mask, x);
  }
  [[gnu::always_inline]] static Vector plus_zero(Vector x) {
    return _mm256_add_ps(x, _mm256_setzero_ps());
  }
};

/// The largest values of a window, a NaN counting as the largest.
template <class V>
[[gnu::always_inline]] static inline typename V::Vector largest_of(const float* x,
                                                                   const PoolWindows& p,
                                                                   typename V::Mask mask) {
  typename V::Vector largest = V::load(mask, x);
  for (Index ky = 0; ky < p.height; ++ky) {
    const float* pixel = x + ky * p.line;
    for (Index kx = 0; kx < p.width; ++kx, pixel += p.channels) {
      const typename V::Vector value = V::load(mask, pixel);
      largest = V::blend(V::above(V::numbers(mask, largest), value, largest), largest, value);
    }
  }
  return largest;
}

/// Calls body(first channel, mask) for the channels of every window of a line, with the offsets of
/// its first pixel and of its output.
template <class V, class Body>
[[gnu::always_inline]] static inline void for_each_window(const PoolWindows& p, Body body) {
  for (Index o = 0; o < p.count; ++o) {
    for (Index c = 0; c < p.channels; c += V::kLanes) {
      const Index left = p.channels - c < V::kLanes ? p.channels - c : V::kLanes;
      const auto mask = static_cast<typename V::Mask>((1U << static_cast<unsigned>(left)) - 1U);
      body(o * p.width * p.channels + c, o * p.channels + c, mask);
    }
  }
}

template <class V>
[[gnu::always_inline]] static inline void max_pool_by(const float* x, const PoolWindows& p,
                                                      float* y) {
  for_each_window<V>(
      p, [&](Index input, Index output, typename V::Mask mask) __attribute__((always_inline)) {
        V::store(y + output, mask, largest_of<V>(x + input, p, mask));
      });
}

template <class V>
[[gnu::always_inline]] static inline void max_pool_gradient_by(const float* x, const float* g,
                                                               const PoolWindows& p, float* dx) {
  for_each_window<V>(
      p, [&](Index input, Index output, typename V::Mask mask) __attribute__((always_inline)) {
        const typename V::Vector largest = largest_of<V>(x + input, p, mask);
        const typename V::Mask numbers = V::numbers(mask, largest);
        // A gradient of -0 becomes 0, as a sum with 0 does.
        const typename V::Vector gradient = V::plus_zero(V::load(mask, g + output));
        // Where no pixel has taken it yet.
        typename V::Mask left = mask;
        for (Index ky = 0; ky < p.height; ++ky) {
          Index at = input + ky * p.line;
          for (Index kx = 0; kx < p.width; ++kx, at += p.channels) {
            const typename V::Vector value = V::load(mask, x + at);
            // Where the largest value is a number, no value of the window is a NaN.
            unsigned takes = V::equal(left, value, largest);
            if (__builtin_expect(numbers != mask, 0)) {
              takes |= left & ~unsigned{numbers} & ~unsigned{V::numbers(mask, value)};
            }
            V::store(dx + at, mask, V::only(static_cast<typename V::Mask>(takes), gradient));
            left = static_cast<typename V::Mask>(left & ~takes);
          }
        }
      });
}

static void max_pool(const float* x, const PoolWindows& windows, float* y) {
  if (windows.channels <= NarrowPool::kLanes) return max_pool_by<NarrowPool>(x, windows, y);
  max_pool_by<WidePool>(x, windows, y);
}

static void max_pool_gradient(const float* x, const float* g, const PoolWindows& windows,
                              float* dx) {
  if (windows.channels <= NarrowPool::kLanes) {
    return max_pool_gradient_by<NarrowPool>(x, g, windows, dx);
  }
  max_pool_gradient_by<WidePool>(x, g, windows, dx);
}

}  // namespace octet::avx512
