#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/deploy/c/kernels.h>

#include <algorithm>
#include <optional>

// Functions that layers of sums share: sums of products of rows of values with the weights of every
// unit, and what makes such rows of the windows of a convolution.

namespace octet::detail {
namespace {

constexpr std::string_view kPaths =
    R"(#if defined(__GNUC__) && defined(__ARM_FEATURE_DSP) && !defined(__ARM_BIG_ENDIAN)
#include <arm_acle.h>
#define @NAME@_DSP
#endif
#if defined(@NAME@_DSP) && defined(__ARM_FEATURE_MVE)
#include <arm_mve.h>
#define @NAME@_MVE
#define @NAME@_HIGHER 0 /* values of a plane than those of the image */
typedef int8_t @name@_value;
typedef uint8_t @name@_row;
#elif defined(@NAME@_DSP)
#define @NAME@_HIGHER 128
typedef int16_t @name@_value;
typedef int32_t @name@_row; /* two values */
#else
#define @NAME@_HIGHER 128
typedef uint8_t @name@_value;
typedef uint8_t @name@_row;
#endif
#if defined(__thumb__) && !defined(__thumb2__)
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

constexpr std::string_view kClamp =
    R"(static int32_t @name@_clamp(int32_t x, int32_t lowest, int32_t highest)
{
    const int32_t least = x < lowest ? lowest : x;
    return least > highest ? highest : least;
}

)";

// ---- Rows

constexpr std::string_view kWord = R"(#ifdef @NAME@_DSP
static inline int32_t @name@_word(const void *at)
{
    int32_t word;
    __builtin_memcpy(&word, at, sizeof word);
    return word;
}
#endif

)";

constexpr std::string_view kSetRow =
    R"(/* Writes one of several rows of `depth` values, 128 higher, and zeros up to a multiple of 4; returns their sum. Rows
 * alternate, with two values at a time where the processor multiplies pairs, else with one; those of vectors do not. */
#if defined(@NAME@_MVE)
static int32_t @name@_set_row(const int8_t *from, int32_t depth, @name@_row *block, int32_t row, int32_t rows)
{
    @name@_row *to = block + row * ((depth + 15) & ~15);
    uint32_t total = 0;
    (void)rows;
    for (; depth > 0; depth -= 16) {
        const mve_pred16_t rest = vctp8q((uint32_t)depth);
        const uint8x16_t values = veorq_u8(vldrbq_z_u8((const uint8_t *)from, rest), vdupq_n_u8(128));
        total = vaddvaq_p_u8(total, values, rest);
        vstrbq_p_u8(to, values, rest);
        from += 16;
        to += 16;
    }
    return (int32_t)total;
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
            for (int32_t i = 0; i < depth; ++i) {
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
    return (int32_t)total;
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
    return total;
}
#endif

)";

constexpr std::string_view kValueOf =
    R"(static inline int8_t @name@_value_of@twice@(const @name@_sums *s, int32_t unit, int32_t sum)
{
    const int32_t i = unit * s->per_unit;
    const int32_t steps = @name@_@rescale@(sum, s->multiplier[i], s->shift[i]);
    return (int8_t)(@name@_clamp(steps, s->lowest, s->highest) + s->zero_point);
}

)";

constexpr std::string_view kBegin =
    R"(/* What the sum of a unit starts from in a row of values with this sum, as weights are 128 higher. */
static inline int32_t @name@_begin(const @name@_sums *s, int32_t unit, int32_t total)
{
    return s->start[unit] - total * 128;
}

)";

constexpr std::string_view kSumsOfRow =
    R"(#ifdef @NAME@_DSP
/* Two values of a row times those of four weights. In assembly, for GCC 12 keeps sums on the stack. */
#define @NAME@_ROW_STEP                        \
    "ldr %[a], [%[x]], #4\n\t"                 \
    "ldr %[b], [%[w]], #4\n\t"                 \
    "uxtb16 %[c], %[b]\n\t"                    \
    "uxtb16 %[b], %[b], ror #8\n\t"            \
    "smlad %[sum0], %[a], %[c], %[sum0]\n\t"   \
    "smlad %[sum1], %[a], %[b], %[sum1]\n\t"   \
    "ldr %[b], [%[v]], #4\n\t"                 \
    "uxtb16 %[c], %[b]\n\t"                    \
    "uxtb16 %[b], %[b], ror #8\n\t"            \
    "smlad %[sum2], %[a], %[c], %[sum2]\n\t"   \
    "smlad %[sum3], %[a], %[b], %[sum3]\n\t"
#endif

/* The output of one row whose values have this sum. */
static void @name@_sums_of_row@twice@(const @name@_sums *s, const @name@_row *row, int32_t total, int8_t *output)
{
    const int32_t units = s->units;
    const int32_t depth = (s->depth + 3) & ~3;
    const uint8_t *w = (const uint8_t *)s->weights;
    int32_t unit = 0;
#ifndef @NAME@_FEW_REGISTERS
    for (; unit < (units & ~3); unit += 4) {
        const uint8_t *v = w + 2 * depth;
        const @name@_row *x = row;
        int32_t sum0 = @name@_begin(s, unit, total);
        int32_t sum1 = @name@_begin(s, unit + 1, total);
        int32_t sum2 = @name@_begin(s, unit + 2, total);
        int32_t sum3 = @name@_begin(s, unit + 3, total);
        for (const uint8_t *end = v; w != end;) {
#ifdef @NAME@_DSP
            int32_t a;
            int32_t b;
            int32_t c;
            __asm__(@NAME@_ROW_STEP @NAME@_ROW_STEP
                    : [sum0] "+r"(sum0), [sum1] "+r"(sum1), [sum2] "+r"(sum2), [sum3] "+r"(sum3),
                      [x] "+r"(x), [w] "+r"(w), [v] "+r"(v), [a] "=&r"(a), [b] "=&r"(b), [c] "=&r"(c)
                    :
                    : "memory");
#else
            for (int32_t i = 0; i < 4; ++i) {
                const int32_t a = *x++;
                sum0 += a * *w++;
                sum1 += a * *w++;
                sum2 += a * *v++;
                sum3 += a * *v++;
            }
#endif
        }
        w = v;
        output[unit] = @name@_value_of@twice@(s, unit, sum0);
        output[unit + 1] = @name@_value_of@twice@(s, unit + 1, sum1);
        output[unit + 2] = @name@_value_of@twice@(s, unit + 2, sum2);
        output[unit + 3] = @name@_value_of@twice@(s, unit + 3, sum3);
    }
#endif
    for (; unit < units; unit += 2) {
        const @name@_row *x = row;
        int32_t sum0 = @name@_begin(s, unit, total);
        int32_t sum1 = @name@_begin(s, unit + 1, total);
        for (int32_t rest = depth; rest > 0; rest -= 4) {
#ifdef @NAME@_DSP
            for (int32_t i = 0; i < 2; ++i) {
                const int32_t p = @name@_word(w);
                sum0 = __smlad(*x, @name@_even(p), sum0);
                sum1 = __smlad(*x, @name@_odd(p), sum1);
                w += 4;
                ++x;
            }
#else
            for (int32_t i = 0; i < 4; ++i) {
                const int32_t a = *x++;
                sum0 += a * *w++;
                sum1 += a * *w++;
            }
#endif
        }
        output[unit] = @name@_value_of@twice@(s, unit, sum0);
        if (unit + 1 < units) {
            output[unit + 1] = @name@_value_of@twice@(s, unit + 1, sum1);
        }
    }
}

)";

// The quantized values of four units at a time.
constexpr std::string_view kOutputsMve =
    R"(/* The outputs of rows whose values have these sums. */
static void @name@_outputs@twice@(const @name@_sums *s, const @name@_row *block, int32_t rows, const int32_t *totals,
        int8_t *output)
{
    const uint8x16_t even = vshlq_n_u8(vidupq_n_u8(0, 1), 1);
    const uint8x16_t odd = vaddq_n_u8(even, 1);
    const int32_t depth = s->depth;
    const int32_t pair = 2 * ((depth + 3) & ~3);
    const int32_t width = s->width;
    const int32_t zero_point = s->zero_point;
    const int32x4_t lowest = vdupq_n_s32(s->lowest);
    const int32x4_t highest = vdupq_n_s32(s->highest);
    const uint8_t *weights = (const uint8_t *)s->weights;
    for (int32_t rest = s->units; rest > 0; rest -= 4) {
        const int32_t unit = s->units - rest;
        const int32_t next = rest > 2 ? pair : 0;
        const uint8_t *x = block;
        int8_t *to = output;
        const int32x4_t start = vldrwq_s32(s->start + unit);
        const int32x4_t multiplier = vldrwq_s32(s->multiplier + unit * s->per_unit);
        const int32x4_t shift = vldrbq_s32(s->shift + unit * s->per_unit);
        for (int32_t row = 0; row < rows; ++row) {
            const uint8_t *w = weights;
            const uint8_t *v = weights + next;
            uint32_t sum0 = 0;
            uint32_t sum1 = 0;
            uint32_t sum2 = 0;
            uint32_t sum3 = 0;
            for (int32_t i = depth / 16; i > 0; --i) {
                const uint8x16_t values = vldrbq_u8(x);
                const uint8x16x2_t p = vld2q_u8(w);
                const uint8x16x2_t q = vld2q_u8(v);
                sum0 = vmladavaq_u8(sum0, values, p.val[0]);
                sum1 = vmladavaq_u8(sum1, values, p.val[1]);
                sum2 = vmladavaq_u8(sum2, values, q.val[0]);
                sum3 = vmladavaq_u8(sum3, values, q.val[1]);
                x += 16;
                w += 32;
                v += 32;
            }
            if (depth % 16 != 0) {
                const mve_pred16_t last = vctp8q((uint32_t)(depth % 16));
                const uint8x16_t values = vldrbq_z_u8(x, last);
                sum0 = vmladavaq_u8(sum0, values, vldrbq_gather_offset_z_u8(w, even, last));
                sum1 = vmladavaq_u8(sum1, values, vldrbq_gather_offset_z_u8(w, odd, last));
                sum2 = vmladavaq_u8(sum2, values, vldrbq_gather_offset_z_u8(v, even, last));
                sum3 = vmladavaq_u8(sum3, values, vldrbq_gather_offset_z_u8(v, odd, last));
                x += 16;
            }
            int32x4_t sum = {(int32_t)sum0, (int32_t)sum1, (int32_t)sum2, (int32_t)sum3};
            sum = vaddq_s32(sum, vsubq_n_s32(start, 128 * totals[row]));
            sum = @name@_@rescale@_four(sum, multiplier, shift);
            sum = vaddq_n_s32(vminq_s32(vmaxq_s32(sum, lowest), highest), zero_point);
            if (rest >= 4) {
                vstrbq_s32(to, sum);
            } else {
                vstrbq_p_s32(to, sum, vctp32q((uint32_t)rest));
            }
            to += width;
        }
        weights += 2 * pair;
        output += 4;
    }
}

)";

constexpr std::string_view kRescaleFourDouble =
    R"(/* @rescale@() of four sums. */
static int32x4_t @name@_@rescale@_four(int32x4_t sum, int32x4_t multiplier, int32x4_t shift)
{
    const int32x4_t zero = vdupq_n_s32(0);
    const int32x4_t right = vminq_s32(shift, zero);
    const int32x4_t high = vqrdmulhq_s32(vqshlq_s32(sum, vmaxq_s32(shift, zero)), multiplier);
    return vrshlq_s32(vqaddq_s32(high, vshrq_n_s32(vandq_s32(high, right), 31)), right);
}

)";

constexpr std::string_view kRescaleFourSingle =
    R"(/* @rescale@() of four sums. */
static int32x4_t @name@_@rescale@_four(int32x4_t sum, int32x4_t multiplier, int32x4_t shift)
{
    const int32x4_t zero = vdupq_n_s32(0);
    const int32x4_t shifted = vqshlq_s32(sum, vmaxq_s32(shift, zero));
    const int32x4_t high = vpselq_s32(vqdmulhq_s32(shifted, multiplier), vqrdmulhq_s32(shifted, multiplier),
                                      vcmpltq_n_s32(shift, 0));
    return vrshlq_s32(high, vminq_s32(shift, zero));
}

)";

constexpr std::string_view kRescaleFourFloat =
    R"(/* @rescale@() of four sums, which makes sums by themselves where a tie is close or shifts go too far. */
static int32x4_t @name@_@rescale@_four(int32x4_t sum, int32x4_t multiplier, int32x4_t shift)
{
    const int32x4_t zero = vdupq_n_s32(0);
    const int32x4_t left = vmaxq_s32(shift, zero);
    const int32x4_t shifted = vshlq_s32(sum, left);
    const int32x4_t product = vshlq_s32(vmulhq_s32(shifted, multiplier), vminq_s32(shift, zero));
    const int32x4_t steps = vaddq_n_s32(product, 32768);
    const int32x4_t from_tie = vandq_s32(vaddq_n_s32(steps, 4), vdupq_n_s32(0xfff8));
    mve_pred16_t fits = vcmpeqq_s32(vshlq_s32(shifted, vnegq_s32(left)), sum);
    fits = vcmpneq_m_n_s32(from_tie, 0, fits);
    fits = vcmpleq_m_n_s32(shift, 24, fits);
    if (fits != 0xffffu) {
        int32_t x[4];
        int32_t multipliers[4];
        int32_t shifts[4];
        vstrwq_s32(x, sum);
        vstrwq_s32(multipliers, multiplier);
        vstrwq_s32(shifts, shift);
        for (int32_t i = 0; i < 4; ++i) {
            x[i] = @name@_rescale(x[i], multipliers[i], shifts[i]);
        }
        return vldrwq_s32(x);
    }
    return vshrq_n_s32(steps, 16);
}

)";

constexpr std::string_view kSumsOfRows =
    R"(/* Writes what the sums of a unit in four rows come to. */
static void @name@_store@twice@(const @name@_sums *s, int32_t unit, int32_t sum0, int32_t sum1, int32_t sum2,
        int32_t sum3, int8_t *output)
{
    const int32_t width = s->width;
    const int32_t multiplier = s->multiplier[unit * s->per_unit];
    const int32_t shift = s->shift[unit * s->per_unit];
    const int32_t zero_point = s->zero_point;
    const int32_t lowest = s->lowest;
    const int32_t highest = s->highest;
    const int32_t y0 = @name@_clamp(@name@_@rescale@(sum0, multiplier, shift), lowest, highest);
    const int32_t y1 = @name@_clamp(@name@_@rescale@(sum1, multiplier, shift), lowest, highest);
    const int32_t y2 = @name@_clamp(@name@_@rescale@(sum2, multiplier, shift), lowest, highest);
    const int32_t y3 = @name@_clamp(@name@_@rescale@(sum3, multiplier, shift), lowest, highest);
    output[unit] = (int8_t)(y0 + zero_point);
    output[width + unit] = (int8_t)(y1 + zero_point);
    output[2 * width + unit] = (int8_t)(y2 + zero_point);
    output[3 * width + unit] = (int8_t)(y3 + zero_point);
}

#ifdef @NAME@_DSP
/* Two values of each of four rows times those of two units, likewise. */
#define @NAME@_ROWS_STEP                        \
    "ldr %[b], [%[w]], #4\n\t"                  \
    "uxtb16 %[a], %[b]\n\t"                     \
    "uxtb16 %[b], %[b], ror #8\n\t"             \
    "ldr %[c], [%[x]], #4\n\t"                  \
    "smlad %[sum00], %[c], %[a], %[sum00]\n\t"  \
    "smlad %[sum01], %[c], %[b], %[sum01]\n\t"  \
    "ldr %[c], [%[x]], #4\n\t"                  \
    "smlad %[sum10], %[c], %[a], %[sum10]\n\t"  \
    "smlad %[sum11], %[c], %[b], %[sum11]\n\t"  \
    "ldr %[c], [%[x]], #4\n\t"                  \
    "smlad %[sum20], %[c], %[a], %[sum20]\n\t"  \
    "smlad %[sum21], %[c], %[b], %[sum21]\n\t"  \
    "ldr %[c], [%[x]], #4\n\t"                  \
    "smlad %[sum30], %[c], %[a], %[sum30]\n\t"  \
    "smlad %[sum31], %[c], %[b], %[sum31]\n\t"
#endif

/* The outputs of four rows whose values have these sums, two units at a time where registers suffice. */
static void @name@_sums_of_rows@twice@(const @name@_sums *s, const @name@_row *rows, const int32_t *totals,
        int8_t *output)
{
    const int32_t units = s->units;
    const int32_t depth = (s->depth + 3) & ~3;
    const uint8_t *w = (const uint8_t *)s->weights;
#ifndef @NAME@_FEW_REGISTERS
    for (int32_t unit = 0; unit < units; unit += 2) {
        const @name@_row *x = rows;
        int32_t sum00 = @name@_begin(s, unit, totals[0]);
        int32_t sum01 = @name@_begin(s, unit + 1, totals[0]);
        int32_t sum10 = @name@_begin(s, unit, totals[1]);
        int32_t sum11 = @name@_begin(s, unit + 1, totals[1]);
        int32_t sum20 = @name@_begin(s, unit, totals[2]);
        int32_t sum21 = @name@_begin(s, unit + 1, totals[2]);
        int32_t sum30 = @name@_begin(s, unit, totals[3]);
        int32_t sum31 = @name@_begin(s, unit + 1, totals[3]);
        const uint8_t *const end = w + 2 * depth;
#if defined(@NAME@_DSP) && !defined(__clang__)
        int32_t a;
        int32_t b;
        int32_t c;
        __asm__("1:\n\t" @NAME@_ROWS_STEP @NAME@_ROWS_STEP
                "ldr %[a], %[end]\n\t"
                "cmp %[a], %[w]\n\t"
                "bne 1b"
                : [sum00] "+r"(sum00), [sum01] "+r"(sum01), [sum10] "+r"(sum10), [sum11] "+r"(sum11),
                  [sum20] "+r"(sum20), [sum21] "+r"(sum21), [sum30] "+r"(sum30), [sum31] "+r"(sum31),
                  [x] "+r"(x), [w] "+r"(w), [a] "=&r"(a), [b] "=&r"(b), [c] "=&r"(c)
                : [end] "m"(end)
                : "memory", "cc");
#elif defined(@NAME@_DSP)
        for (; w != end; w += 4) {
            const int32_t even = @name@_even(@name@_word(w));
            const int32_t odd = @name@_odd(@name@_word(w));
            sum00 = __smlad(x[0], even, sum00);
            sum01 = __smlad(x[0], odd, sum01);
            sum10 = __smlad(x[1], even, sum10);
            sum11 = __smlad(x[1], odd, sum11);
            sum20 = __smlad(x[2], even, sum20);
            sum21 = __smlad(x[2], odd, sum21);
            sum30 = __smlad(x[3], even, sum30);
            sum31 = __smlad(x[3], odd, sum31);
            x += 4;
        }
#else
        while (w != end) {
            for (int32_t i = 0; i < 2; ++i) {
                const int32_t a = *w++;
                const int32_t b = *w++;
                sum00 += x[0] * a;
                sum01 += x[0] * b;
                sum10 += x[1] * a;
                sum11 += x[1] * b;
                sum20 += x[2] * a;
                sum21 += x[2] * b;
                sum30 += x[3] * a;
                sum31 += x[3] * b;
                x += 4;
            }
        }
#endif
        @name@_store@twice@(s, unit, sum00, sum10, sum20, sum30, output);
        if (unit + 1 < units) {
            @name@_store@twice@(s, unit + 1, sum01, sum11, sum21, sum31,
                    output);
        }
    }
#else
    for (int32_t unit = 0; unit < units; ++unit) {
        const @name@_row *x = rows;
        int32_t sum0 = @name@_begin(s, unit, totals[0]);
        int32_t sum1 = @name@_begin(s, unit, totals[1]);
        int32_t sum2 = @name@_begin(s, unit, totals[2]);
        int32_t sum3 = @name@_begin(s, unit, totals[3]);
        const uint8_t *v = w + unit / 2 * 2 * depth + unit % 2;
        for (const uint8_t *end = v + 2 * depth; v != end; v += 8) {
            for (int32_t i = 0; i < 8; i += 2) {
                const int32_t a = v[i];
                sum0 += x[0] * a;
                sum1 += x[1] * a;
                sum2 += x[2] * a;
                sum3 += x[3] * a;
                x += 4;
            }
        }
        @name@_store@twice@(s, unit, sum0, sum1, sum2, sum3, output);
    }
#endif
}
)";

constexpr std::string_view kOutputsOfRow =
    R"(static void @name@_outputs@twice@(const @name@_sums *s, const @name@_row *block, int32_t rows, const int32_t *totals,
        int8_t *output)
{
    (void)rows; /* 1 */
    @name@_sums_of_row@twice@(s, block, totals[0], output);
}
)";

constexpr std::string_view kOutputsOfRows =
    R"(static void @name@_outputs@twice@(const @name@_sums *s, const @name@_row *block, int32_t rows, const int32_t *totals,
        int8_t *output)
{
    if (rows == 4) {
        @name@_sums_of_rows@twice@(s, block, totals, output);
    } else {
        @name@_sums_of_row@twice@(s, block, totals[0], output);
    }
}
)";

constexpr std::string_view kManyRows =
    R"(static void @name@_fully_connected@twice@(const @name@_sums *s, int32_t rows, const int8_t *input,
        int8_t *output, @name@_row *block)
{
    int32_t totals[4];
    while (rows > 0) {
        const int32_t count = rows >= 4 ? 4 : 1;
        for (int32_t i = 0; i < count; ++i) {
            totals[i] = @name@_set_row(input, s->depth, block, i, count);
            input += s->depth;
        }
        @name@_outputs@twice@(s, block, count, totals, output);
        output += count * s->width;
        rows -= count;
    }
}

)";

// ---- Windows

constexpr std::string_view kWindow =
    R"(/* A window that slides over images; `sums` are those of a group. */
typedef struct {
    @name@_sums sums;
    int32_t images;
    int32_t height;
    int32_t width;
    int32_t channels;
    int32_t groups;
    int32_t output_height;
    int32_t output_width;
    int32_t kernel_height;
    int32_t kernel_width;
    int32_t stride_y;
    int32_t stride_x;
    int32_t dilation_y;
    int32_t dilation_x;
    int32_t top; /* padding in front */
    int32_t left;
    int32_t input_zero_point;
} @name@_window;

)";

constexpr std::string_view kTakeWindow =
    R"(static int8_t *@name@_copy(const int8_t *from, int32_t count, int8_t *to)
{
#if defined(@NAME@_MVE)
    for (; count >= 16; count -= 16) {
        vstrbq_s8(to, vldrbq_s8(from));
        to += 16;
        from += 16;
    }
#endif
#ifdef @NAME@_DSP
    for (; count >= 4; count -= 4) {
        __builtin_memcpy(to, from, 4);
        to += 4;
        from += 4;
    }
#endif
    for (; count > 0; --count) {
        *to++ = *from++;
    }
    return to;
}

static int8_t *@name@_fill(int32_t value, int32_t count, int8_t *to)
{
    for (; count > 0; --count) {
        *to++ = (int8_t)value;
    }
    return to;
}

/* What a window reads, tap by tap: of `read` channels. Lies beside the image what is outside of it. */
static void @name@_take_window(const @name@_window *w, const int8_t *image, int32_t top, int32_t left,
        int8_t *to)
{
    const int32_t read = w->channels / w->groups;
    /* Pixels that are taken at once. */
    const int32_t run = w->groups == 1 && w->dilation_x == 1 ? w->kernel_width : 1;
    if (top >= 0 && top + (w->kernel_height - 1) * w->dilation_y < w->height && left >= 0 &&
            left + run <= w->width && run == w->kernel_width) {
        const int8_t *from = image + (top * w->width + left) * w->channels;
        for (int32_t ky = 0; ky < w->kernel_height; ++ky) {
            to = @name@_copy(from, run * read, to);
            from += w->dilation_y * w->width * w->channels;
        }
        return;
    }
    for (int32_t ky = 0; ky < w->kernel_height; ++ky) {
        const int32_t y = top + ky * w->dilation_y;
        for (int32_t kx = 0; kx < w->kernel_width; kx += run) {
            const int32_t x = left + kx * w->dilation_x;
            const int32_t beyond = @name@_clamp(x + run - w->width, 0, run);
            int32_t before = @name@_clamp(-x, 0, run);
            int32_t inside = run - before - beyond;
            if (y < 0 || y >= w->height) {
                before = run - beyond;
                inside = 0;
            }
            to = @name@_fill(w->input_zero_point, before * read, to);
            if (inside > 0) {
                to = @name@_copy(image + (y * w->width + x + before) * w->channels, inside * read, to);
            }
            to = @name@_fill(w->input_zero_point, beyond * read, to);
        }
    }
}

)";

constexpr std::string_view kConvolve =
    R"(static void @name@_convolve@twice@(const @name@_window *w, const int8_t *input, int8_t *output,
        @name@_row *block)
{
    const int32_t outputs = w->output_height * w->output_width;
    const int32_t depth = (w->sums.depth + 3) & ~3;
    int8_t *values = (int8_t *)block;
    int32_t totals[4];
    block = (@name@_row *)(values + depth);
    for (int32_t group = 0; group < w->images * w->groups; ++group) {
        const int32_t image = group / w->groups;
        const int32_t part = group % w->groups;
        const int8_t *from = input + image * w->height * w->width * w->channels +
                             part * (w->channels / w->groups);
        int8_t *to = output + image * outputs * w->sums.width + part * w->sums.units;
        @name@_sums s = w->sums;
        int32_t y = 0;
        int32_t x = 0;
        int32_t count;
        s.weights = (const uint8_t *)s.weights + part * (s.units + s.units % 2) * depth;
        s.start += part * s.units;
        s.multiplier += part * s.units * s.per_unit;
        s.shift += part * s.units * s.per_unit;
        for (int32_t row = 0; row < outputs; row += count) {
            count = outputs - row >= 4 ? 4 : 1;
            for (int32_t i = 0; i < count; ++i) {
                const int32_t top = y * w->stride_y - w->top;
                const int32_t left = x * w->stride_x - w->left;
                @name@_take_window(w, from, top, left, values);
                totals[i] = @name@_set_row(values, s.depth, block, i, count);
                x = x + 1 < w->output_width ? x + 1 : 0;
                y = x == 0 ? y + 1 : y;
            }
            @name@_outputs@twice@(&s, block, count, totals, to);
            to += count * s.width;
        }
    }
}

)";

// ---- Channels by themselves

constexpr std::string_view kTakeChannel =
    R"(#if defined(@NAME@_DSP) && !defined(@NAME@_MVE)
static int32_t @name@_pair(int32_t low, int32_t high)
{
    return (int32_t)((uint32_t)(uint16_t)low | (uint32_t)high << 16);
}
#endif

/* One channel of an image into a plane whose lines have `line` values. */
static void @name@_take_channel(const @name@_window *w, const int8_t *image, @name@_value *plane, int32_t lines,
        int32_t line)
{
    const int32_t below = lines - w->top;
    const int32_t beyond = line - w->left;
    const int32_t height = below < w->height ? below : w->height;
    const int32_t width = beyond < w->width ? beyond : w->width;
    const int32_t channels = w->channels;
    for (int32_t y = 0; y < height; ++y) {
        const int8_t *from = image + y * w->width * channels;
        @name@_value *to = plane + (y + w->top) * line + w->left;
        int32_t rest = width;
#ifdef @NAME@_MVE
        for (const uint16x8_t places = vmulq_n_u16(vidupq_n_u16(0, 1), (uint16_t)channels); rest > 0; rest -= 8) {
            const mve_pred16_t some = vctp16q((uint32_t)rest);
            vstrbq_p_s16(to, vldrbq_gather_offset_z_s16(from, places, some), some);
            from += 8 * channels;
            to += 8;
        }
#else
        for (; rest > 0; --rest) {
            *to++ = (@name@_value)(*from + @NAME@_HIGHER);
            from += channels;
        }
#endif
    }
}

)";

constexpr std::string_view kDepthwise =
    R"(#ifdef @NAME@_MVE
/* The outputs of a unit in windows of up to 16 taps that lie within 256 values. */
static void @name@_slide_near@twice@(const @name@_window *w, const int8_t *plane, int32_t line, int32_t unit,
        int8_t *output)
{
    const @name@_sums *const s = &w->sums;
    const int32_t width = w->output_width;
    const int32_t step = w->stride_x;
    const int32_t next_line = w->stride_y * line - width * step;
    const int32_t zero_point = s->zero_point;
    const int32_t units = s->units;
    const uint32x4_t places = vmulq_n_u32(vidupq_n_u32(0, 1), (uint32_t)units);
    const int32x4_t multiplier = vdupq_n_s32(s->multiplier[unit * s->per_unit]);
    const int32x4_t shift = vdupq_n_s32(s->shift[unit * s->per_unit]);
    const int32x4_t lowest = vdupq_n_s32(s->lowest);
    const int32x4_t highest = vdupq_n_s32(s->highest);
    const int8_t *weight = (const int8_t *)s->weights + unit;
    int8_t weights[16] = {0};
    uint8_t taps[16] = {0};
    int32_t x = width;
    int32_t tap = 0;
    for (int32_t ky = 0; ky < w->kernel_height; ++ky) {
        for (int32_t kx = 0; kx < w->kernel_width; ++kx) {
            taps[tap] = (uint8_t)(ky * w->dilation_y * line + kx * w->dilation_x);
            weights[tap] = *weight;
            weight += units;
            ++tap;
        }
    }
    const uint8x16_t offsets = vldrbq_u8(taps);
    const int8x16_t k = vldrbq_s8(weights);
    const int32_t start = s->start[unit] + 128 * vaddvq_s8(k);
    for (int32_t rest = w->output_height * width; rest > 0; rest -= 4) {
        int32_t sums[4];
        for (int32_t i = 0; i < 4; ++i) {
            sums[i] = vmladavaq_s8(start, vldrbq_gather_offset_s8(plane, offsets), k);
            plane += step;
            if (--x == 0) {
                x = width;
                plane += next_line;
            }
        }
        const int32x4_t sum = @name@_@rescale@_four(vldrwq_s32(sums), multiplier, shift);
        const int32x4_t y = vaddq_n_s32(vminq_s32(vmaxq_s32(sum, lowest), highest), zero_point);
        vstrbq_scatter_offset_p_s32(output, places, y, vctp32q((uint32_t)rest));
        output += 4 * units;
    }
}
#else
/* The outputs of a unit in windows of 3 x 3. */
static void @name@_slide_3x3@twice@(const @name@_window *w, const @name@_value *plane, int32_t line,
        int32_t unit, int8_t *output)
{
    const int32_t units = w->sums.units;
    const int32_t start = w->sums.start[unit];
    const int32_t multiplier = w->sums.multiplier[unit * w->sums.per_unit];
    const int32_t shift = w->sums.shift[unit * w->sums.per_unit];
    const int32_t zero_point = w->sums.zero_point;
    const int32_t lowest = w->sums.lowest;
    const int32_t highest = w->sums.highest;
    const int32_t stride = w->stride_x;
    const int8_t *k = (const int8_t *)w->sums.weights + unit;
#ifdef @NAME@_DSP
    const int32_t a0 = @name@_pair(k[0], k[units]);
    const int32_t b0 = @name@_pair(k[units], k[2 * units]);
    const int32_t a1 = @name@_pair(k[3 * units], k[4 * units]);
    const int32_t b1 = @name@_pair(k[4 * units], k[5 * units]);
    const int32_t a2 = @name@_pair(k[6 * units], k[7 * units]);
    const int32_t b2 = @name@_pair(k[7 * units], k[8 * units]);
#else
    const int32_t k0 = k[0];
    const int32_t k1 = k[units];
    const int32_t k2 = k[2 * units];
    const int32_t k3 = k[3 * units];
    const int32_t k4 = k[4 * units];
    const int32_t k5 = k[5 * units];
    const int32_t k6 = k[6 * units];
    const int32_t k7 = k[7 * units];
    const int32_t k8 = k[8 * units];
#endif
    for (int32_t y = 0; y < w->output_height; ++y) {
        const @name@_value *p0 = plane + y * w->stride_y * line;
        const @name@_value *p1 = p0 + line;
        const @name@_value *p2 = p1 + line;
        int32_t rest = w->output_width;
#ifdef @NAME@_DSP
        /* Two outputs of four values of each line. */
        for (; stride == 1 && rest >= 2; rest -= 2) {
            int32_t p = @name@_word(p0);
            int32_t q = @name@_word(p0 + 2);
            int32_t sum = __smlabt(q, b0, __smlad(p, a0, start));
            int32_t next = __smlad(q, b0, __smlatb(p, a0, start));
            p = @name@_word(p1);
            q = @name@_word(p1 + 2);
            sum = __smlabt(q, b1, __smlad(p, a1, sum));
            next = __smlad(q, b1, __smlatb(p, a1, next));
            p = @name@_word(p2);
            q = @name@_word(p2 + 2);
            sum = __smlabt(q, b2, __smlad(p, a2, sum));
            next = __smlad(q, b2, __smlatb(p, a2, next));
            sum = @name@_clamp(@name@_@rescale@(sum, multiplier, shift), lowest, highest);
            next = @name@_clamp(@name@_@rescale@(next, multiplier, shift), lowest, highest);
            output[0] = (int8_t)(sum + zero_point);
            output[units] = (int8_t)(next + zero_point);
            output += 2 * units;
            p0 += 2;
            p1 += 2;
            p2 += 2;
        }
#endif
        for (; rest > 0; --rest) {
#ifdef @NAME@_DSP
            int32_t sum = __smlabt(p0[2], b0, __smlad(@name@_word(p0), a0, start));
            sum = __smlabt(p1[2], b1, __smlad(@name@_word(p1), a1, sum));
            sum = __smlabt(p2[2], b2, __smlad(@name@_word(p2), a2, sum));
#else
            int32_t sum = start + p0[0] * k0 + p0[1] * k1 + p0[2] * k2;
            sum += p1[0] * k3 + p1[1] * k4 + p1[2] * k5;
            sum += p2[0] * k6 + p2[1] * k7 + p2[2] * k8;
#endif
            sum = @name@_clamp(@name@_@rescale@(sum, multiplier, shift), lowest, highest);
            *output = (int8_t)(sum + zero_point);
            output += units;
            p0 += stride;
            p1 += stride;
            p2 += stride;
        }
    }
}

#endif

/* The outputs of a unit in any window. */
static void @name@_slide@twice@(const @name@_window *w, const @name@_value *plane, int32_t line, int32_t unit,
        int8_t *output)
{
    const int32_t units = w->sums.units;
    for (int32_t y = 0; y < w->output_height; ++y) {
        for (int32_t x = 0; x < w->output_width; ++x) {
            const @name@_value *values = plane + y * w->stride_y * line + x * w->stride_x;
            const int8_t *weight = (const int8_t *)w->sums.weights + unit;
            int32_t sum = w->sums.start[unit];
            for (int32_t ky = 0; ky < w->kernel_height; ++ky) {
                const @name@_value *value = values;
                for (int32_t kx = 0; kx < w->kernel_width; ++kx) {
                    sum += (*value + 128 - @NAME@_HIGHER) * *weight;
                    value += w->dilation_x;
                    weight += units;
                }
                values += w->dilation_y * line;
            }
            *output = @name@_value_of@twice@(&w->sums, unit, sum);
            output += units;
        }
    }
}

static void @name@_depthwise@twice@(const @name@_window *w, const int8_t *input, int8_t *output,
        @name@_value *plane)
{
    const int32_t units = w->sums.units;
    const int32_t of_channel = units / w->channels;
    const int32_t span_y = (w->kernel_height - 1) * w->dilation_y + 1;
    const int32_t span_x = (w->kernel_width - 1) * w->dilation_x + 1;
    const int32_t lines = (w->output_height - 1) * w->stride_y + span_y;
    const int32_t line = (((w->output_width - 1) * w->stride_x + span_x) + 1) & ~1;
    /* Padding stays as it is from one channel to the next. */
    for (int32_t i = 0; i < lines * line; ++i) {
        plane[i] = (@name@_value)(w->input_zero_point + @NAME@_HIGHER);
    }
    for (int32_t image = 0; image < w->images; ++image) {
        for (int32_t unit = 0; unit < units; ++unit) {
            if (unit % of_channel == 0) {
                @name@_take_channel(w, input + unit / of_channel, plane, lines, line);
            }
#ifdef @NAME@_MVE
            if (w->kernel_height * w->kernel_width <= 16 && (span_y - 1) * line + span_x <= 256) {
                @name@_slide_near@twice@(w, plane, line, unit, output + unit);
#else
            if (w->kernel_height == 3 && w->kernel_width == 3 && span_y == 3 && span_x == 3) {
                @name@_slide_3x3@twice@(w, plane, line, unit, output + unit);
#endif
            } else {
                @name@_slide@twice@(w, plane, line, unit, output + unit);
            }
        }
        input += w->height * w->width * w->channels;
        output += w->output_height * w->output_width * units;
    }
}

)";

std::string_view rescale_four(const CPlan& plan, bool twice) {
  if (twice || plan.rounding == Rounding::double_rounding) return kRescaleFourDouble;
  return plan.rounding == Rounding::fp32 ? kRescaleFourFloat : kRescaleFourSingle;
}

}  // namespace

std::int64_t c_scratch_bytes(CKernel kernel, std::int64_t depth, const Window& window) {
  // Vectors read 16 values.
  const std::int64_t row = std::max<std::int64_t>((depth + 3) / 4 * 4, 8);
  switch (kernel) {
    case CKernel::row:
      return 2 * row;
    case CKernel::rows:
      return 8 * row;
    case CKernel::convolve:
      return 9 * row;
    case CKernel::depthwise: {
      const auto extent = [](const WindowAxis& axis) {
        return (axis.output - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1;
      };
      return 2 * extent(window.y) * ((extent(window.x) + 1) / 2 * 2);
    }
  }
  throw InvalidArgument("c source: a CKernel outside the enumeration");
}

std::string c_paths(const CPlan& plan, const std::vector<CLayer>& layers) {
  const bool any =
      std::ranges::any_of(layers, [](const CLayer& l) { return l.kernel.has_value(); });
  return any ? fill(kPaths, plan.fillings()) : "";
}

std::string c_kernels(const CPlan& plan, const std::vector<CLayer>& layers) {
  Fillings f = plan.fillings();
  const auto needed = [&](CKernel from, CKernel to, std::optional<bool> twice = {}) {
    return std::ranges::any_of(layers, [&](const CLayer& layer) {
      return layer.kernel && *layer.kernel >= from && *layer.kernel <= to &&
             (!twice || *twice == layer.rescales_twice);
    });
  };
  std::string text;
  const auto add = [&](bool is_needed, std::string_view function) {
    if (is_needed) text += fill(function, f);
  };
  add(needed(CKernel::row, CKernel::depthwise), kClamp);
  add(needed(CKernel::row, CKernel::depthwise), kWord);
  add(needed(CKernel::row, CKernel::convolve), kSetRow);
  add(needed(CKernel::row, CKernel::convolve), kBegin);
  add(needed(CKernel::convolve, CKernel::depthwise), kWindow);
  add(needed(CKernel::convolve, CKernel::convolve), kTakeWindow);
  add(needed(CKernel::depthwise, CKernel::depthwise), kTakeChannel);
  for (const bool twice : {false, true}) {
    f["twice"] = twice ? "_twice" : "";
    f["rescale"] = twice ? c_rescale_twice(plan) : "rescale";
    add(needed(CKernel::row, CKernel::depthwise, twice), kValueOf);
    if (needed(CKernel::row, CKernel::depthwise, twice)) {
      text += fmt::format("#ifdef {}_MVE\n{}#endif\n\n", plan.macro,
                          fill(rescale_four(plan, twice), f));
    }
    if (needed(CKernel::row, CKernel::convolve, twice)) {
      const bool rows = needed(CKernel::rows, CKernel::convolve, twice);
      text +=
          fmt::format("#ifdef {}_MVE\n{}#else\n{}{}{}#endif\n\n", plan.macro, fill(kOutputsMve, f),
                      fill(kSumsOfRow, f), rows ? fill(kSumsOfRows, f) : "",
                      fill(rows ? kOutputsOfRows : kOutputsOfRow, f));
    }
    add(needed(CKernel::rows, CKernel::rows, twice), kManyRows);
    add(needed(CKernel::convolve, CKernel::convolve, twice), kConvolve);
    add(needed(CKernel::depthwise, CKernel::depthwise, twice), kDepthwise);
  }
  return text;
}

}  // namespace octet::detail
