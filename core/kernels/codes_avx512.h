#pragma once

#include <octet/core/kernels/avx512_intrinsics.h>
#include <octet/core/kernels/softmax_loops.h>

// The loops of Passes that compute codes, for the AVX-512 paths to include: the same numbers as
// code_loops.h, with half the instructions of the compiler's loops. Computes 64 codes at a time and
// lets the packing instructions do most of the clamping.

namespace octet::avx512 {

inline constexpr std::size_t kBlock = 64;
inline constexpr std::size_t kVector = 16;

/// Packs integers into codes: adds the zero point and clamps.
struct Packing {
  [[gnu::always_inline]] explicit Packing(const CodeGrid& grid)
      : zero_point(_mm512_set1_epi16(static_cast<std::int16_t>(grid.zero_point))),
        least(_mm512_set1_epi8(static_cast<std::int8_t>(grid.qmin))),
        most(_mm512_set1_epi8(static_cast<std::int8_t>(grid.qmax))),
        most_from_zero(_mm512_set1_epi8(static_cast<char>(grid.qmax - grid.qmin))),
        from_zero(grid.zero_point == grid.qmin) {}

  [[gnu::always_inline]] __m512i codes(const __m512i* numbers) const {
    // Packing works within blocks of 16 bytes; this order restores that of the elements.
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m512i low = _mm512_packs_epi32(numbers[0], numbers[1]);
    const __m512i high = _mm512_packs_epi32(numbers[2], numbers[3]);
    return _mm512_permutexvar_epi32(order, clamped(low, high));
  }

  /// Packs 16-bit numbers into codes, in the order of the packing instructions.
  [[gnu::always_inline]] __m512i clamped(__m512i low, __m512i high) const {
    if (from_zero) {
      // Packing to unsigned bytes clamps at 0.
      return _mm512_add_epi8(_mm512_min_epu8(_mm512_packus_epi16(low, high), most_from_zero),
                             least);
    }
    const __m512i packed =
        _mm512_packs_epi16(_mm512_adds_epi16(low, zero_point), _mm512_adds_epi16(high, zero_point));
    return _mm512_min_epi8(_mm512_max_epi8(packed, least), most);
  }

  __m512i zero_point;
  __m512i least;
  __m512i most;
  __m512i most_from_zero;
  bool from_zero;
};

/// Calls run(i) for blocks [i, i + 64) that cover [0, size); the last block overlaps the one
/// before.
template <class Run>
[[gnu::always_inline]] static inline void in_blocks(std::size_t size, Run run) {
  for (std::size_t i = 0; i + kBlock <= size; i += kBlock) run(i);
  if (size % kBlock != 0) run(size - kBlock);
}

/// passes::requantize and requantize_each. `below_one`: every factor is below 1, so that no scaled
/// sum exceeds int32.
template <bool each, bool below_one>
[[gnu::always_inline]] static inline void requantize_by(const std::int32_t* in, std::size_t size,
                                                        const float* factors, const CodeGrid& grid,
                                                        std::int8_t* out) {
  const Packing packing(grid);
  const __m512 factor = _mm512_set1_ps(factors[0]);
  const __m512 above = _mm512_set1_ps(static_cast<float>(grid.qmax - grid.zero_point));
  const auto rounded = [&](__m512i sums, __m512 by) __attribute__((always_inline)) {
    __m512 scaled = _mm512_mul_ps(_mm512_cvtepi32_ps(sums), by);
    if constexpr (!below_one) scaled = _mm512_min_ps(scaled, above);
    return _mm512_cvtps_epi32(scaled);
  };
  __m512i numbers[4];
  if (size >= kBlock) {
    in_blocks(
        size, [&](std::size_t i) __attribute__((always_inline)) {
#pragma GCC unroll 4
          for (std::size_t v = 0; v < 4; ++v) {
            const std::size_t at = i + v * kVector;
            numbers[v] =
                rounded(_mm512_loadu_si512(in + at), each ? _mm512_loadu_ps(factors + at) : factor);
          }
          _mm512_storeu_si512(out + i, packing.codes(numbers));
        });
    return;
  }
  const std::uint64_t existing = (std::uint64_t{1} << size) - 1U;
#pragma GCC unroll 4
  for (std::size_t v = 0; v < 4; ++v) {
    const auto mask = static_cast<__mmask16>(existing >> (v * kVector));
    numbers[v] = rounded(_mm512_maskz_loadu_epi32(mask, in + v * kVector),
                         each ? _mm512_maskz_loadu_ps(mask, factors + v * kVector) : factor);
  }
  _mm512_mask_storeu_epi8(out, existing, packing.codes(numbers));
}

static void requantize(const std::int32_t* in, std::size_t size, float factor, const CodeGrid& grid,
                       std::int8_t* out) {
  if (factor < 1.0F) {
    requantize_by<false, true>(in, size, &factor, grid, out);
  } else {
    requantize_by<false, false>(in, size, &factor, grid, out);
  }
}

static void requantize_each(const std::int32_t* in, std::size_t size, const float* factors,
                            const CodeGrid& grid, std::int8_t* out) {
  requantize_by<true, false>(in, size, factors, grid, out);
}

/// passes::add_codes.
static void add_codes(const std::int8_t* first, const std::int8_t* second, std::size_t size,
                      const CodeSum& sum, const CodeGrid& grid, std::int8_t* out) {
  if (size < kBlock) return passes::add_codes(first, second, size, sum, grid, out);
  const Packing packing(grid);
  const __m512i first_factor = _mm512_set1_epi32(sum.first_factor);
  const __m512i second_factor = _mm512_set1_epi32(sum.second_factor);
  const __m512i start = _mm512_set1_epi32(sum.start);
  const __m128i shift = _mm_cvtsi32_si128(sum.shift);
  in_blocks(
      size, [&](std::size_t i) __attribute__((always_inline)) {
        __m512i numbers[4];
#pragma GCC unroll 4
        for (std::size_t v = 0; v < 4; ++v) {
          const std::size_t at = i + v * kVector;
          const __m512i a = _mm512_mullo_epi32(
              _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(first + at))),
              first_factor);
          const __m512i b = _mm512_mullo_epi32(
              _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(second + at))),
              second_factor);
          numbers[v] = _mm512_sra_epi32(_mm512_add_epi32(_mm512_add_epi32(a, b), start), shift);
        }
        _mm512_storeu_si512(out + i, packing.codes(numbers));
      });
}

/// passes::quantize: multiplies by 1 / scale, and divides blocks with an element close to a tie,
/// beyond int32, infinite or NaN.
template <RoundMode mode>
static void quantize(const float* in, std::size_t size, const CodeGrid& grid, std::int8_t* out) {
  if (size < kBlock) return passes::quantize<mode>(in, size, grid, out);
  const Packing packing(grid);
  const __m512 reciprocal = _mm512_set1_ps(passes::reciprocal(grid.scale));
  const __m512 clear = _mm512_set1_ps(passes::kClearOfTies);
  in_blocks(
      size, [&](std::size_t i) __attribute__((always_inline)) {
        __m512i numbers[4];
        unsigned unclear = 0;
#pragma GCC unroll 4
        for (std::size_t v = 0; v < 4; ++v) {
          const __m512 quotient = _mm512_mul_ps(_mm512_loadu_ps(in + i + v * kVector), reciprocal);
          numbers[v] = _mm512_cvtps_epi32(quotient);
          const __m512 fraction = _mm512_sub_ps(quotient, _mm512_cvtepi32_ps(numbers[v]));
          unclear |= _mm512_cmp_ps_mask(_mm512_abs_ps(fraction), clear, _CMP_NLE_UQ);
        }
        if (__builtin_expect(unclear != 0, 0)) {
          passes::quantize<mode>(in + i, kBlock, grid, out + i);
        } else {
          _mm512_storeu_si512(out + i, packing.codes(numbers));
        }
      });
}

/// passes::softmax_codes, with rows of up to 16 codes in one vector each.
static void softmax_codes(const std::int8_t* in, std::size_t rows, std::size_t row,
                          const float* exps, std::int8_t* out) {
  if (row > kVector) return passes::softmax_codes(in, rows, row, exps, out);
  const auto existing = static_cast<__mmask16>((1U << row) - 1U);
  const __m128i largest = _mm_set1_epi8(127);
  const __m512 half = _mm512_set1_ps(0.5F);
  const __m512i lowest = _mm512_set1_epi32(-128);
  const __m512i most = _mm512_set1_epi32(127);
  for (; rows > 0; --rows, in += row, out += row) {
    // The distance of each code below 127; 255 beyond the row.
    const __m128i below =
        _mm_sub_epi8(largest, _mm_mask_loadu_epi8(_mm_set1_epi8(-128), existing, in));
    const __m128i least = _mm_minpos_epu16(_mm_min_epu8(below, _mm_srli_epi16(below, 8)));
    const __m128i distances = _mm_sub_epi8(below, _mm_broadcastb_epi8(least));
    const __m512 values = _mm512_mask_i32gather_ps(_mm512_setzero_ps(), existing,
                                                   _mm512_cvtepu8_epi32(distances), exps, 4);
    alignas(64) float kept[kVector];
    _mm512_store_ps(kept, values);
    float sum = 0.0F;
    for (std::size_t j = 0; j < row; ++j) sum += kept[j];
    const __m512 scaled = _mm512_mul_ps(values, _mm512_set1_ps(1.0F / (sum * (1.0F / 256.0F))));
    // Rounds to even, then adds 1 where half was rounded down: away from zero.
    const __m512 even = _mm512_roundscale_ps(scaled, _MM_FROUND_TO_NEAREST_INT);
    const __mmask16 ties = _mm512_cmp_ps_mask(_mm512_sub_ps(scaled, even), half, _CMP_EQ_OQ);
    const __m512 away = _mm512_mask_add_ps(even, ties, even, _mm512_set1_ps(1.0F));
    const __m512i codes = _mm512_add_epi32(_mm512_cvtps_epi32(away), lowest);
    _mm512_mask_cvtepi32_storeu_epi8(out, existing, _mm512_min_epi32(codes, most));
  }
}

}  // namespace octet::avx512
