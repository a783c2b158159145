#pragma once

#include <octet/core/kernels/avx512_intrinsics.h>
#include <octet/core/kernels/code_loops.h>

// passes::pack_kernel for groups of 4 codes in panels of 32 columns, with AVX-512 VNNI, which is
// faster than the auto-vectorised loop. See docs/performance.md, "Packing int8 weights".

namespace octet::vnni {

constexpr int kColumns = 32;
constexpr int kRows = 4;
constexpr int kLanes = 16;

/// Adds the products of unsigned bytes x and signed bytes w to `sum`, four per lane. Assembly,
/// because GCC 12 adds register copies to the intrinsic: see docs/performance.md, "Int8 products".
template <class Vector>
[[gnu::always_inline]] static inline void multiply_add(Vector& sum, Vector x, Vector w) {
  asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(x), "v"(w));
}

/// Packs four rows as clamped bytes, the four codes of a column side by side.
[[gnu::always_inline]] static inline __m512i packed_by_columns(const __m512i (&rows)[kRows],
                                                               __m512i lo, __m512i hi) {
  const __m512i by_rows = _mm512_packs_epi16(_mm512_packs_epi32(rows[0], rows[1]),
                                             _mm512_packs_epi32(rows[2], rows[3]));
  // Within 16 bytes: four of the first row, four of the second, ...
  const __m512i by_columns = _mm512_shuffle_epi8(
      by_rows,
      _mm512_broadcast_i32x4(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15)));
  return _mm512_min_epi8(_mm512_max_epi8(by_columns, lo), hi);
}

/// Packs rows [k0, k0 + 4), which exist, of the columns of a panel that do. Returns false, with
/// nothing written, if a quotient is close to a tie or does not fit 32 bits.
[[gnu::always_inline]] static inline bool pack_whole_rows(passes::KernelPacking<kColumns>& packing,
                                                          Index k0, __m512i lo, __m512i hi) {
  const float* x = packing.data + k0 * packing.stride;
  const auto columns = static_cast<__mmask32>((std::uint64_t{1} << packing.valid) - 1U);
  __mmask16 clear = 0xFFFF;
  __m512i numbers[2][kRows];
  const int halves = packing.valid > kLanes ? 2 : 1;
#pragma GCC unroll 2
  for (int h = 0; h < halves; ++h) {
    const __m512 reciprocals = _mm512_loadu_ps(packing.reciprocals + h * kLanes);
    const auto existing = static_cast<__mmask16>(columns >> (h * kLanes));
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const __m512 number = _mm512_mul_ps(
          _mm512_maskz_loadu_ps(existing, x + r * packing.stride + h * kLanes), reciprocals);
      numbers[h][r] = _mm512_cvtps_epi32(number);
      const __m512 fraction = _mm512_sub_ps(number, _mm512_cvtepi32_ps(numbers[h][r]));
      clear = _mm512_mask_cmp_ps_mask(clear, _mm512_abs_ps(fraction),
                                      _mm512_set1_ps(passes::kClearOfTies), _CMP_LE_OQ);
    }
  }
  if (__builtin_expect(clear != 0xFFFF, 0)) return false;
  const __m512i ones = _mm512_set1_epi8(1);
  if (halves == 1) _mm512_storeu_si512(packing.codes + (k0 + 2) * kColumns, _mm512_setzero_si512());
#pragma GCC unroll 2
  for (int h = 0; h < halves; ++h) {
    const __m512i codes = packed_by_columns(numbers[h], lo, hi);
    _mm512_storeu_si512(packing.codes + k0 * kColumns + h * kLanes * kRows, codes);
    __m512i sums = _mm512_loadu_si512(packing.sums + h * kLanes);
    __m512i magnitudes = _mm512_loadu_si512(packing.magnitudes + h * kLanes);
    multiply_add(sums, ones, codes);
    multiply_add(magnitudes, _mm512_abs_epi8(codes), ones);
    _mm512_storeu_si512(packing.sums + h * kLanes, sums);
    _mm512_storeu_si512(packing.magnitudes + h * kLanes, magnitudes);
  }
  return true;
}

static void pack_kernel(const KernelColumns& from, const KernelPanels& to) {
  const __m512i lo = _mm512_set1_epi8(static_cast<char>(from.qmin));
  const __m512i hi = _mm512_set1_epi8(static_cast<char>(from.qmax));
  passes::pack_panels<kColumns, std::int8_t>(
      from, to, kRows, from.k,
      [&](passes::KernelPacking<kColumns> & packing, Index k0) __attribute__((always_inline)) {
        if (k0 + kRows <= packing.k && pack_whole_rows(packing, k0, lo, hi)) return;
        passes::pack_rows_of_kernel<kRows, kColumns, kRows, std::int8_t>(packing, k0);
      });
}

}  // namespace octet::vnni
