#pragma once

#include <string_view>

// Which path the preprocessor takes through the kernels, and what all of them need.

namespace octet::detail::kernel_text {

inline constexpr std::string_view kPaths =
    R"(#if defined(__GNUC__) && defined(__ARM_FEATURE_DSP) && !defined(__ARM_BIG_ENDIAN)
#include <arm_acle.h>
#define @NAME@_DSP
#endif
#if defined(@NAME@_DSP) && defined(__ARM_FEATURE_MVE)
#include <arm_mve.h>
#define @NAME@_MVE
/* GCC 12 takes a store of some lanes for one of all, and a gather for a read of the first bytes: functions with such
 * are not mixed with others, and what is in memory is taken for read. */
#define @NAME@_APART __attribute__((noinline))
#define @NAME@_FENCE __asm__ volatile("" ::: "memory")
#define @NAME@_HIGHER 0 /* values of a plane than those of the image */
typedef int8_t @name@_value;
typedef uint8_t @name@_row;
#elif defined(@NAME@_DSP)
#define @NAME@_HIGHER 128
typedef int16_t @name@_value;
typedef int32_t @name@_row; /* two values */
#elif defined(__SSE2__) && __STDC_HOSTED__ /* elsewhere the compiler's headers want the library's */
#define @NAME@_X86
#define @NAME@_HIGHER 128
typedef uint8_t @name@_value;
typedef int16_t @name@_row;
#ifdef __AVX2__
#include <immintrin.h>
#define @NAME@_LANES 16
#define @NAME@_OF(function) _mm256_##function
#define @NAME@_ZERO _mm256_setzero_si256()
#define @NAME@_LOAD(from) _mm256_loadu_si256((const __m256i *)(from))
#define @NAME@_AND _mm256_and_si256
#define @NAME@_FOLD(v) _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1))
typedef __m256i @name@_vector;
#else
#ifdef __SSE4_1__
#include <smmintrin.h>
#else
#include <emmintrin.h>
#endif
#define @NAME@_LANES 8
#define @NAME@_OF(function) _mm_##function
#define @NAME@_ZERO _mm_setzero_si128()
#define @NAME@_LOAD(from) _mm_loadu_si128((const __m128i *)(from))
#define @NAME@_AND _mm_and_si128
#define @NAME@_FOLD(v) (v)
typedef __m128i @name@_vector;
#endif
#else
#define @NAME@_HIGHER 128
typedef uint8_t @name@_value;
typedef uint8_t @name@_row;
#endif
#ifndef @NAME@_APART
#define @NAME@_APART
#endif
#ifdef __GNUC__
#define @NAME@_ALONE __attribute__((noinline)) /* inside another function its sums have fewer registers */
#else
#define @NAME@_ALONE
#endif
#if defined(__riscv) && defined(__GNUC__)
/* GCC 12 would load the values of many products first, and keep sums on the stack. */
#define @NAME@_IN_ORDER __asm__ volatile("" ::: "memory")
#else
#define @NAME@_IN_ORDER (void)0
#endif
#if @few_registers@
#define @NAME@_FEW_REGISTERS
#endif

/* Weights, and how sums of products with them become quantized values. */
typedef struct {
    const void *weights;
    const int32_t *start;  /* what the sum of each unit starts from */
    const int32_t *multiplier;
    const int8_t *shift;
    int32_t units;
    int32_t width; /* values from one row of the output to the next */
    int32_t depth;
    int32_t per_unit;   /* 1: a multiplier and a shift for each unit; 0: four alike for all */
    int32_t zero_point; /* of the output */
    int32_t lowest;     /* of the output, less its zero point */
    int32_t highest;
} @name@_sums;

)";

inline constexpr std::string_view kClamp =
    R"(static int32_t @name@_clamp(int32_t x, int32_t lowest, int32_t highest)
{
    const int32_t least = x < lowest ? lowest : x;
    return least > highest ? highest : least;
}

)";

inline constexpr std::string_view kWord = R"(#ifdef @NAME@_DSP
static inline int32_t @name@_word(const void *at)
{
    int32_t word;
    __builtin_memcpy(&word, at, sizeof word);
    return word;
}
#endif

)";

}  // namespace octet::detail::kernel_text
