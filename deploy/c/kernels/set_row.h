#pragma once

#include <string_view>

// Making rows of values that are multiplied with the weights of every unit.

namespace octet::detail::kernel_text {

inline constexpr std::string_view kSetRow =
    R"(/* Writes one of several rows of `depth` values, 128 higher, and zeros up to a multiple of 4 (of 16 in vectors of Helium); returns what weights that
 * are 128 higher make too much of it: 128 times the sum of its values. Rows alternate, with two values at a time where
 * the processor multiplies pairs, else with one; those of vectors do not. */
#if defined(@NAME@_MVE)
@NAME@_APART static int32_t @name@_set_row(const int8_t *from, int32_t depth, @name@_row *block, int32_t row, int32_t rows)
{
    @name@_row *to = block + row * ((depth + 15) & ~15);
    uint32_t total = 0;
    (void)rows;
    for (int32_t i = depth / 16; i > 0; --i) {
        const uint8x16_t values = veorq_u8(vldrbq_u8((const uint8_t *)from), vdupq_n_u8(128));
        total = vaddvaq_u8(total, values);
        vstrbq_u8(to, values);
        from += 16;
        to += 16;
    }
    if (depth % 16 != 0) {
        const mve_pred16_t rest = vctp8q((uint32_t)(depth % 16));
        const uint8x16_t codes = vldrbq_z_u8((const uint8_t *)from, rest);
        const uint8x16_t values = veorq_m_u8(codes, codes, vdupq_n_u8(128), rest);
        total = vaddvaq_u8(total, values);
        vstrbq_u8(to, values);
    }
    return (int32_t)total * 128;
}
#elif defined(@NAME@_DSP)
static inline int32_t @name@_even(int32_t word)
{
    return word & 0xff00ff;
}

/* Bytes 1 and 3. */
static inline int32_t @name@_odd(int32_t word)
{
    return (word >> 8) & 0xff00ff;
}

static int32_t @name@_set_row(const int8_t *from, int32_t depth, @name@_row *block, int32_t row, int32_t rows)
{
    @name@_row *to = block + row;
    uint32_t total = 0;
    for (; depth > 0; depth -= 4) {
        uint32_t word = 0x80808080u;
        int32_t low;
        int32_t high;
        if (depth >= 4) {
            word = (uint32_t)@name@_word(from);
        } else {
            for (int32_t i = 0; i < (depth & 3); ++i) { /* which GCC then knows to be at most 3 */
                word ^= (uint32_t)(uint8_t)(from[i] ^ -128) << (8 * i);
            }
        }
        word ^= 0x80808080u;
        total = __usada8(word, 0, total);
        /* Four bytes to two pairs; GCC 12 makes more instructions of intrinsics. */
        __asm__("uxtb16 %[high], %[word]\n\t"
                "uxtb16 %[word], %[word], ror #8\n\t"
                "pkhbt %[low], %[high], %[word], lsl #16\n\t"
                "pkhtb %[high], %[word], %[high], asr #16"
                : [word] "+r"(word), [low] "=&r"(low), [high] "=&r"(high));
        to[0] = low;
        to[rows] = high;
        to += 2 * rows;
        from += 4;
    }
    return (int32_t)total * 128;
}
#elif defined(@NAME@_X86)
static int32_t @name@_set_row(const int8_t *from, int32_t depth, @name@_row *block, int32_t row, int32_t rows)
{
    const __m128i zero = _mm_setzero_si128();
    @name@_row *to = block + row * ((depth + 3) & ~3);
    __m128i total = zero;
    (void)rows;
    for (; depth > 0; depth -= 8) {
        int8_t last[8] = {-128, -128, -128, -128, -128, -128, -128, -128};
        __m128i values;
        for (int32_t i = 0; depth < 8 && i < depth; ++i) {
            last[i] = from[i];
        }
        values = _mm_loadl_epi64((const __m128i *)(depth < 8 ? last : from));
        values = _mm_xor_si128(values, _mm_set1_epi8(-128));
        total = _mm_add_epi32(total, _mm_sad_epu8(values, zero));
        values = _mm_unpacklo_epi8(values, zero);
        if (depth > 4) {
            _mm_storeu_si128((__m128i *)to, values);
        } else {
            _mm_storel_epi64((__m128i *)to, values);
        }
        from += 8;
        to += 8;
    }
    return _mm_cvtsi128_si32(total) * 128;
}
#else
static int32_t @name@_set_row(const int8_t *from, int32_t depth, @name@_row *block, int32_t row, int32_t rows)
{
    @name@_row *to = block + row;
    int32_t total = 0;
    for (; depth >= 4; depth -= 4) {
        for (int32_t i = 0; i < 4; ++i) {
            const uint8_t value = (uint8_t)(*from++ + 128);
            total += value;
            *to = value;
            to += rows;
        }
    }
    for (int32_t i = 0; depth > 0 && i < 4; ++i) {
        const uint8_t value = i < depth ? (uint8_t)(from[i] + 128) : 0;
        total += value;
        *to = value;
        to += rows;
    }
    return total * 128;
}
#endif

)";

}  // namespace octet::detail::kernel_text
