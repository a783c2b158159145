#pragma once

#include <octet/core/kernels/avx512_intrinsics.h>

#include <cstdint>

// Vectors of int32 sums, for the AVX-512 paths to derive what window_tiles.h asks for.

namespace octet::avx512 {

struct WideSums {
  using Vector = __m512i;
  static constexpr int kLanes = 16;
  [[gnu::always_inline]] static Vector zero() { return _mm512_setzero_si512(); }
  [[gnu::always_inline]] static Vector load(const std::int32_t* p) { return _mm512_loadu_si512(p); }
  [[gnu::always_inline]] static Vector repeat(std::int32_t codes) {
    return _mm512_set1_epi32(codes);
  }
  [[gnu::always_inline]] static Vector add(Vector a, Vector b) { return _mm512_add_epi32(a, b); }
  [[gnu::always_inline]] static void store(std::int32_t* to, int count, Vector sums) {
    _mm512_mask_storeu_epi32(to, static_cast<__mmask16>((1U << static_cast<unsigned>(count)) - 1U),
                             sums);
  }
};

/// For few filters: half the width, where two instructions take the time of one of the full width.
struct NarrowSums {
  using Vector = __m256i;
  static constexpr int kLanes = 8;
  [[gnu::always_inline]] static Vector zero() { return _mm256_setzero_si256(); }
  [[gnu::always_inline]] static Vector load(const std::int32_t* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  [[gnu::always_inline]] static Vector repeat(std::int32_t codes) {
    return _mm256_set1_epi32(codes);
  }
  [[gnu::always_inline]] static Vector add(Vector a, Vector b) { return _mm256_add_epi32(a, b); }
  [[gnu::always_inline]] static void store(std::int32_t* to, int count, Vector sums) {
    _mm256_mask_storeu_epi32(to, static_cast<__mmask8>((1U << static_cast<unsigned>(count)) - 1U),
                             sums);
  }
};

}  // namespace octet::avx512
