#pragma once

#include <string_view>

// Sums of products of rows of values with the weights of every unit.

namespace octet::detail::kernel_text {

inline constexpr std::string_view kBegin =
    R"(#if !defined(@NAME@_MVE) && !defined(@NAME@_X86)
/* What the sum of a unit starts from in a row of which set_row() returned `total`. */
static inline int32_t @name@_begin(const @name@_sums *s, int32_t unit, int32_t total)
{
    return s->start[unit] - total;
}
#endif

)";

inline constexpr std::string_view kValueOf =
    R"(static inline @code@ @name@_value_of@twice@(const @name@_sums *s, int32_t unit, int32_t sum)
{
    const int32_t i = unit * s->per_unit;
    const int32_t steps = @name@_@rescale@(sum, s->multiplier[i], s->shift[i]);
    return (@code@)(@name@_clamp(steps, s->lowest, s->highest) + s->zero_point);
}

)";

inline constexpr std::string_view kSumsOfRow =
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

/* The output of a row of which set_row() returned `total`. */
static void @name@_sums_of_row@twice@(const @name@_sums *s, const @name@_row *row, int32_t total, @code@ *output)
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

inline constexpr std::string_view kSumsOfRows =
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

/* The outputs of four rows, two units at a time where registers suffice. */
@NAME@_ALONE static void @name@_sums_of_rows@twice@(const @name@_sums *s, const @name@_row *rows, const int32_t *totals,
        int8_t *output)
{
    const int32_t units = s->units;
    const int32_t depth = (s->depth + 3) & ~3;
    const uint8_t *w = (const uint8_t *)s->weights;
    const int32_t total0 = totals[0];
    const int32_t total1 = totals[1];
    const int32_t total2 = totals[2];
    const int32_t total3 = totals[3];
#ifndef @NAME@_FEW_REGISTERS
    for (int32_t unit = 0; unit < units; unit += 2) {
        const @name@_row *x = rows;
        int32_t sum00 = @name@_begin(s, unit, total0);
        int32_t sum01 = @name@_begin(s, unit + 1, total0);
        int32_t sum10 = @name@_begin(s, unit, total1);
        int32_t sum11 = @name@_begin(s, unit + 1, total1);
        int32_t sum20 = @name@_begin(s, unit, total2);
        int32_t sum21 = @name@_begin(s, unit + 1, total2);
        int32_t sum30 = @name@_begin(s, unit, total3);
        int32_t sum31 = @name@_begin(s, unit + 1, total3);
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
                @NAME@_IN_ORDER;
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
        int32_t sum0 = @name@_begin(s, unit, total0);
        int32_t sum1 = @name@_begin(s, unit, total1);
        int32_t sum2 = @name@_begin(s, unit, total2);
        int32_t sum3 = @name@_begin(s, unit, total3);
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

inline constexpr std::string_view kOutputsOfRow =
    R"(static void @name@_outputs@twice@(const @name@_sums *s, const @name@_row *block, int32_t rows, const int32_t *totals,
        @code@ *output)
{
    (void)rows; /* 1 */
    @name@_sums_of_row@twice@(s, block, totals[0], output);
}
)";

inline constexpr std::string_view kOutputsOfRows =
    R"(static void @name@_outputs@twice@(const @name@_sums *s, const @name@_row *block, int32_t rows, const int32_t *totals,
        @code@ *output)
{
    if (rows == 4) {
        @name@_sums_of_rows@twice@(s, block, totals, output);
    } else {
        @name@_sums_of_row@twice@(s, block, totals[0], output);
    }
}
)";

inline constexpr std::string_view kManyRows =
    R"(static void @name@_fully_connected@twice@(const @name@_sums *s, int32_t rows, const int8_t *input,
        int8_t *output, @name@_row *block)
{
    int32_t totals[4];
    while (rows > 0) {
        const int32_t count = @rows_at_once@;
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

}  // namespace octet::detail::kernel_text
