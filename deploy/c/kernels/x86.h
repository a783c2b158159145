#pragma once

#include <string_view>

// Computes sums by the vectors of x86: SSE2, or AVX2 with twice as many values.

namespace octet::detail::kernel_text {

inline constexpr std::string_view kPairOfSumsX86 =
    R"(#ifdef @NAME@_X86
/* Sums of products of a row with two units, whose weights alternate: one, the other, one, the other. */
static __m128i @name@_pair_of_sums(const uint8_t *w, const @name@_row *x, int32_t depth)
{
    const __m128i low = _mm_set1_epi16(255);
    @name@_vector even = @NAME@_ZERO;
    @name@_vector odd = @NAME@_ZERO;
    __m128i sum0;
    __m128i sum1;
    for (; depth >= @NAME@_LANES; depth -= @NAME@_LANES) {
        const @name@_vector p = @NAME@_LOAD(w);
        const @name@_vector values = @NAME@_LOAD(x);
        even = @NAME@_OF(add_epi32)(even, @NAME@_OF(madd_epi16)(values, @NAME@_AND(p, @NAME@_OF(set1_epi16)(255))));
        odd = @NAME@_OF(add_epi32)(odd, @NAME@_OF(madd_epi16)(values, @NAME@_OF(srli_epi16)(p, 8)));
        w += 2 * @NAME@_LANES;
        x += @NAME@_LANES;
    }
    sum0 = @NAME@_FOLD(even);
    sum1 = @NAME@_FOLD(odd);
    for (; depth > 0; depth -= 4) {
        const __m128i p = _mm_loadl_epi64((const __m128i *)w);
        const __m128i values = _mm_loadl_epi64((const __m128i *)x);
        sum0 = _mm_add_epi32(sum0, _mm_madd_epi16(values, _mm_and_si128(p, low)));
        sum1 = _mm_add_epi32(sum1, _mm_madd_epi16(values, _mm_srli_epi16(p, 8)));
        w += 8;
        x += 4;
    }
    sum0 = _mm_add_epi32(_mm_unpacklo_epi32(sum0, sum1), _mm_unpackhi_epi32(sum0, sum1));
    return _mm_add_epi32(sum0, _mm_shuffle_epi32(sum0, 0x4e));
}
#endif

)";

inline constexpr std::string_view kProductsX86 =
    R"(#ifdef @NAME@_X86
/* (a * b + half) / 2^bits, rounded down, of four numbers; b >= 0. */
static inline __m128i @name@_product(__m128i a, __m128i b, int32_t half, int32_t bits)
{
    const __m128i a1 = _mm_srli_epi64(a, 32);
    const __m128i b1 = _mm_srli_epi64(b, 32);
#ifdef __SSE4_1__
    __m128i even = _mm_mul_epi32(a, b);
    __m128i odd = _mm_mul_epi32(a1, b1);
#else
    /* Without a sign a negative number is 2^32 higher. */
    const __m128i higher = _mm_and_si128(_mm_srai_epi32(a, 31), b);
    __m128i even = _mm_sub_epi64(_mm_mul_epu32(a, b), _mm_slli_epi64(higher, 32));
    __m128i odd = _mm_sub_epi64(_mm_mul_epu32(a1, b1), _mm_slli_epi64(_mm_srli_epi64(higher, 32), 32));
#endif
    even = _mm_srli_epi64(_mm_add_epi64(even, _mm_set1_epi64x(half)), bits);
    odd = _mm_srli_epi64(_mm_add_epi64(odd, _mm_set1_epi64x(half)), bits);
    return _mm_unpacklo_epi32(_mm_shuffle_epi32(even, 0x08), _mm_shuffle_epi32(odd, 0x08));
}

/* 2^n, 0 <= n <= 30; without shifts of each by its own number by its bits as a float, which is exact. */
#ifdef __AVX2__
#define @NAME@_POWER(n) _mm_sllv_epi32(_mm_set1_epi32(1), n)
#else
#define @NAME@_POWER(n) _mm_cvtps_epi32(_mm_castsi128_ps(_mm_slli_epi32(_mm_add_epi32(n, _mm_set1_epi32(127)), 23)))
#endif

/* x / 2^n, rounded down, 0 <= n <= 30. */
static inline __m128i @name@_over_power(__m128i x, __m128i n)
{
#ifdef __AVX2__
    return _mm_srav_epi32(x, n);
#else
    return @name@_product(x, @NAME@_POWER(_mm_sub_epi32(_mm_set1_epi32(30), n)), 0, 30);
#endif
}
#endif

)";

// What shifts to the right alone: @half@ and @lower@ are of a contract.
inline constexpr std::string_view kRescaleX86 =
    R"(/* @rescale@() of four sums; `failed` is not 0 where they are to be rescaled one by one. */
static inline __m128i @name@_@rescale@_four(__m128i sum, __m128i multiplier, __m128i shift, int32_t *failed)
{
    const __m128i high = @name@_product(sum, multiplier, @half@, 31);
    const __m128i steps = @name@_over_power(@lower@, _mm_sub_epi32(_mm_set1_epi32(-1), shift));
    *failed = _mm_movemask_ps(_mm_castsi128_ps(shift)) ^ 15;
    return _mm_srai_epi32(_mm_add_epi32(steps, _mm_set1_epi32(1)), 1);
}
)";

inline constexpr std::string_view kRescaleX86Float =
    R"(/* @rescale@() of four sums; `failed` is not 0 where they are to be rescaled one by one. */
static inline __m128i @name@_@rescale@_four(__m128i sum, __m128i multiplier, __m128i shift, int32_t *failed)
{
    const __m128i zero = _mm_setzero_si128();
    const __m128i far = _mm_cmpgt_epi32(shift, _mm_set1_epi32(24));
    const __m128i left = _mm_andnot_si128(far, _mm_and_si128(shift, _mm_cmpgt_epi32(shift, zero)));
    const __m128i right = _mm_and_si128(_mm_sub_epi32(zero, shift), _mm_srai_epi32(shift, 31));
#ifdef __AVX2__
    const __m128i shifted = _mm_sllv_epi32(sum, left);
#else
    const __m128i shifted = @name@_product(sum, @NAME@_POWER(left), 0, 0);
#endif
    const __m128i product = @name@_over_power(@name@_product(shifted, multiplier, 0, 32), right);
    const __m128i steps = _mm_add_epi32(product, _mm_set1_epi32(32768));
    const __m128i from_tie = _mm_and_si128(_mm_add_epi32(steps, _mm_set1_epi32(4)), _mm_set1_epi32(0xfff8));
    const __m128i sign = _mm_srai_epi32(sum, 31);
    const __m128i size = _mm_sub_epi32(_mm_xor_si128(sum, sign), sign);
    const __m128i fits = _mm_cmpgt_epi32(@NAME@_POWER(_mm_sub_epi32(_mm_set1_epi32(30), left)), size);
    *failed = _mm_movemask_epi8(_mm_or_si128(far, _mm_cmpeq_epi32(from_tie, zero))) |
              (_mm_movemask_epi8(fits) ^ 0xffff);
    return _mm_srai_epi32(steps, 16);
}
)";

inline constexpr std::string_view kWriteX86 =
    R"(/* Writes what sums of up to four units come to, without what they start from. */
static void @name@_write@twice@(const @name@_sums *s, int32_t unit, __m128i sum, int32_t count, @code@ *output)
{
    int32_t sums[4];
    if (count == 4) {
        const int32_t at = unit * s->per_unit;
        const __m128i start = _mm_loadu_si128((const __m128i *)(s->start + unit));
        const __m128i multiplier = _mm_loadu_si128((const __m128i *)(s->multiplier + at));
        int32_t word;
        int32_t failed;
        __m128i shift;
        __m128i steps;
        __builtin_memcpy(&word, s->shift + at, sizeof word);
        shift = _mm_cvtsi32_si128(word);
        shift = _mm_unpacklo_epi8(shift, shift);
        shift = _mm_srai_epi32(_mm_unpacklo_epi16(shift, shift), 24);
        steps = @name@_@rescale@_four(_mm_add_epi32(sum, start), multiplier, shift, &failed);
        if (failed == 0) {
            steps = _mm_max_epi16(_mm_packs_epi32(steps, steps), _mm_set1_epi16((int16_t)s->lowest));
            steps = _mm_min_epi16(steps, _mm_set1_epi16((int16_t)s->highest));
            steps = _mm_add_epi16(steps, _mm_set1_epi16((int16_t)s->zero_point));
@store@            return;
        }
    }
    _mm_storeu_si128((__m128i *)sums, sum);
    for (int32_t i = 0; i < count; ++i) {
        output[unit + i] = @name@_value_of@twice@(s, unit + i, s->start[unit + i] + sums[i]);
    }
}
)";

// How four values are written that lie in `steps`.
inline constexpr std::string_view kStoreX86 =
    R"(            word = _mm_cvtsi128_si32(_mm_packs_epi16(steps, steps));
            __builtin_memcpy(output + unit, &word, sizeof word);
)";
inline constexpr std::string_view kStoreWideX86 =
    R"(            _mm_storel_epi64((__m128i *)(output + unit), steps);
)";

inline constexpr std::string_view kOutputsX86 =
    R"(/* The outputs of rows, four units at a time; `totals` is what set_row() returned of each. */
static void @name@_outputs@twice@(const @name@_sums *s, const @name@_row *block, int32_t rows, const int32_t *totals,
        @code@ *output)
{
    const int32_t depth = (s->depth + 3) & ~3;
    const uint8_t *w = (const uint8_t *)s->weights;
    for (int32_t unit = 0; unit < s->units; unit += 4) {
        const int32_t count = s->units - unit < 4 ? s->units - unit : 4;
        const @name@_row *x = block;
        for (int32_t row = 0; row < rows; ++row) {
            const __m128i pair = @name@_pair_of_sums(w, x, depth);
            const __m128i next = count > 2 ? @name@_pair_of_sums(w + 2 * depth, x, depth) : pair;
            const __m128i sum = _mm_sub_epi32(_mm_unpacklo_epi64(pair, next), _mm_set1_epi32(totals[row]));
            @name@_write@twice@(s, unit, sum, count, output + row * s->width);
            x += depth;
        }
        w += 4 * depth;
    }
}
)";

inline constexpr std::string_view kDepthwiseX86 =
    R"(#ifdef @NAME@_X86
#define @NAME@_MOST_TAPS 64
/* The outputs of an image whose channels give a unit each, of which there are eight or more: eight at a time, some of
 * them twice where their number is no multiple of eight. */
static void @name@_slide_channels@twice@(const @name@_window *w, const int8_t *image, int8_t *output)
{
    const __m128i zero = _mm_setzero_si128();
    const int32_t units = w->sums.units;
    const int32_t taps = w->kernel_height * w->kernel_width;
    const int8_t *from[@NAME@_MOST_TAPS];
    int32_t inside[@NAME@_MOST_TAPS]; /* -1, or 0: all units read the same */
    int8_t outside[8];
    for (int32_t i = 0; i < 8; ++i) {
        outside[i] = (int8_t)w->input_zero_point;
    }
    for (int32_t row = 0; row < w->output_height * w->output_width; ++row) {
        const int32_t top = row / w->output_width * w->stride_y - w->top;
        const int32_t left = row % w->output_width * w->stride_x - w->left;
        int32_t unit = 0;
        for (int32_t tap = 0; tap < taps; ++tap) {
            const int32_t y = top + tap / w->kernel_width * w->dilation_y;
            const int32_t x = left + tap % w->kernel_width * w->dilation_x;
            inside[tap] = -(y >= 0 && y < w->height && x >= 0 && x < w->width);
            from[tap] = inside[tap] != 0 ? image + (y * w->width + x) * units : outside;
        }
        while (unit < units) {
            const int8_t *weight = (const int8_t *)w->sums.weights + unit;
            __m128i low = zero;
            __m128i high = zero;
            for (int32_t tap = 0; tap < taps; tap += 2) {
                /* Two taps, which alternate; the second one's weights are 0 where there is none. */
                const int32_t next = tap + 1 < taps ? tap + 1 : tap;
                const __m128i a = _mm_loadl_epi64((const __m128i *)(from[tap] + (unit & inside[tap])));
                const __m128i b = _mm_loadl_epi64((const __m128i *)(from[next] + (unit & inside[next])));
                const __m128i v = _mm_loadl_epi64((const __m128i *)weight);
                const __m128i n = next > tap ? _mm_loadl_epi64((const __m128i *)(weight + units)) : zero;
                const __m128i x = _mm_xor_si128(_mm_unpacklo_epi8(a, b), _mm_set1_epi8(-128));
                const __m128i k = _mm_unpacklo_epi8(v, n);
                const __m128i k0 = _mm_srai_epi16(_mm_unpacklo_epi8(k, k), 8);
                const __m128i k1 = _mm_srai_epi16(_mm_unpackhi_epi8(k, k), 8);
                low = _mm_add_epi32(low, _mm_madd_epi16(_mm_unpacklo_epi8(x, zero), k0));
                high = _mm_add_epi32(high, _mm_madd_epi16(_mm_unpackhi_epi8(x, zero), k1));
                weight += 2 * units;
            }
            @name@_write@twice@(&w->sums, unit, low, 4, output);
            @name@_write@twice@(&w->sums, unit + 4, high, 4, output);
            unit = unit < units - 8 && unit + 16 > units ? units - 8 : unit + 8;
        }
        output += units;
    }
}
#endif

)";

}  // namespace octet::detail::kernel_text
