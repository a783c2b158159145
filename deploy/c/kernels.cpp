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
#define @NAME@_OFFSET 0
typedef int8_t @name@_byte;
typedef int16_t @name@_value;
typedef int32_t @name@_row; /* two values */
#else
#define @NAME@_OFFSET 128 /* values are read as 0 to 255 */
typedef uint8_t @name@_byte;
typedef uint8_t @name@_value;
typedef uint8_t @name@_row;
#endif
/* What a unit with this sum of weights starts from. */
#define @NAME@_START(sum, weights) ((sum) - (int32_t)@NAME@_OFFSET * (weights))

/* Weights, and how sums of products with them become quantized values. */
typedef struct {
    const int8_t *weights; /* of each unit `depth`, and zeros up to a multiple of 4; of DEPTHWISE_CONV_2D by tap */
    const int32_t *start;  /* what the sum of each unit starts from */
    const int32_t *multiplier;
    const int8_t *shift;
    int32_t units;
    int32_t width; /* values from one row of the output to the next */
    int32_t depth;
    int32_t per_unit;   /* 1: a multiplier and a shift for each unit; 0: the first for all */
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
static int32_t @name@_word(const void *at)
{
    int32_t word;
    __builtin_memcpy(&word, at, sizeof word);
    return word;
}
#endif

)";

constexpr std::string_view kSetRow = R"(#ifdef @NAME@_DSP
/* Bytes 1 and 3, for which GCC 12 makes two instructions of __sxtb16(__ror(word, 8)). */
static inline int32_t @name@_odd(int32_t word)
{
    int32_t odd;
    __asm__("sxtb16 %0, %1, ror #8" : "=r"(odd) : "r"(word));
    return odd;
}

/* Widens values to 16 bits, in pairs as SXTB16 takes four weights apart: first and third, second and fourth. Rows that
 * are worked on together alternate, pair by pair; zeros fill up the last four. */
static void @name@_set_row(const int8_t *from, int32_t depth, @name@_row *to, int32_t rows)
{
    for (; depth >= 4; depth -= 4) {
        const int32_t word = @name@_word(from);
        to[0] = __sxtb16(word);
        to[rows] = @name@_odd(word);
        to += 2 * rows;
        from += 4;
    }
    if (depth > 0) {
        int32_t word = 0;
        for (int32_t i = 0; i < depth; ++i) {
            word |= (int32_t)((uint32_t)(uint8_t)from[i] << (8 * i));
        }
        to[0] = __sxtb16(word);
        to[rows] = @name@_odd(word);
    }
}
#else
/* Rows that are worked on together alternate, value by value. */
static void @name@_set_row(const int8_t *from, int32_t depth, @name@_row *to, int32_t rows)
{
    for (int32_t i = 0; i < depth; ++i) {
        *to = (uint8_t)(from[i] + 128);
        to += rows;
    }
}
#endif

)";

constexpr std::string_view kValueOf =
    R"(static int8_t @name@_value_of@twice@(const @name@_sums *s, int32_t unit, int32_t sum)
{
    const int32_t i = unit * s->per_unit;
    const int32_t steps = @name@_@rescale@(sum, s->multiplier[i], s->shift[i]);
    return (int8_t)(@name@_clamp(steps, s->lowest, s->highest) + s->zero_point);
}

)";

constexpr std::string_view kSumsOfRow =
    R"(/* The output of one row, four units at a time. */
static void @name@_sums_of_row@twice@(const @name@_sums *s, const @name@_row *row, int8_t *output)
{
    const int32_t units = s->units;
    const int32_t stride = (s->depth + 3) & ~3;
    const int8_t *w0 = s->weights;
    int32_t unit = 0;
    for (; unit < (units & ~3); unit += 4) {
        const int8_t *w1 = w0 + stride;
        const int8_t *w2 = w1 + stride;
        const int8_t *w3 = w2 + stride;
        const @name@_row *x = row;
        int32_t sum0 = s->start[unit];
        int32_t sum1 = s->start[unit + 1];
        int32_t sum2 = s->start[unit + 2];
        int32_t sum3 = s->start[unit + 3];
        for (int32_t rest = stride; rest > 0; rest -= 4) {
#ifdef @NAME@_DSP
            const int32_t a = *x++;
            const int32_t b = *x++;
            const int32_t v0 = @name@_word(w0);
            const int32_t v1 = @name@_word(w1);
            const int32_t v2 = @name@_word(w2);
            const int32_t v3 = @name@_word(w3);
            sum0 = __smlad(a, __sxtb16(v0), sum0);
            sum1 = __smlad(a, __sxtb16(v1), sum1);
            sum2 = __smlad(a, __sxtb16(v2), sum2);
            sum3 = __smlad(a, __sxtb16(v3), sum3);
            sum0 = __smlad(b, @name@_odd(v0), sum0);
            sum1 = __smlad(b, @name@_odd(v1), sum1);
            sum2 = __smlad(b, @name@_odd(v2), sum2);
            sum3 = __smlad(b, @name@_odd(v3), sum3);
#else
            for (int32_t i = 0; i < 4; ++i) {
                const int32_t a = *x++;
                sum0 += a * w0[i];
                sum1 += a * w1[i];
                sum2 += a * w2[i];
                sum3 += a * w3[i];
            }
#endif
            w0 += 4;
            w1 += 4;
            w2 += 4;
            w3 += 4;
        }
        w0 = w3;
        output[unit] = @name@_value_of@twice@(s, unit, sum0);
        output[unit + 1] = @name@_value_of@twice@(s, unit + 1, sum1);
        output[unit + 2] = @name@_value_of@twice@(s, unit + 2, sum2);
        output[unit + 3] = @name@_value_of@twice@(s, unit + 3, sum3);
    }
    for (; unit < units; ++unit) {
        const @name@_row *x = row;
        int32_t sum = s->start[unit];
        for (int32_t rest = stride; rest > 0; rest -= 4) {
#ifdef @NAME@_DSP
            const int32_t v = @name@_word(w0);
            sum = __smlad(x[0], __sxtb16(v), sum);
            sum = __smlad(x[1], @name@_odd(v), sum);
            x += 2;
#else
            for (int32_t i = 0; i < 4; ++i) {
                sum += *x++ * w0[i];
            }
#endif
            w0 += 4;
        }
        output[unit] = @name@_value_of@twice@(s, unit, sum);
    }
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

/* The outputs of four rows, two units at a time where registers suffice. */
static void @name@_sums_of_rows@twice@(const @name@_sums *s, const @name@_row *rows, int8_t *output)
{
    const int32_t units = s->units;
    const int32_t stride = (s->depth + 3) & ~3;
    const int8_t *w0 = s->weights;
    int32_t unit = 0;
#if !defined(__thumb__) || defined(__thumb2__)
    for (; unit < (units & ~1); unit += 2) {
        const int8_t *w1 = w0 + stride;
        const @name@_row *x = rows;
        int32_t sum00 = s->start[unit];
        int32_t sum01 = s->start[unit + 1];
        int32_t sum10 = sum00;
        int32_t sum11 = sum01;
        int32_t sum20 = sum00;
        int32_t sum21 = sum01;
        int32_t sum30 = sum00;
        int32_t sum31 = sum01;
        for (int32_t rest = stride; rest > 0; rest -= 4) {
#ifdef @NAME@_DSP
            int32_t v0 = @name@_word(w0);
            int32_t v1 = @name@_word(w1);
            int32_t u0 = __sxtb16(v0);
            int32_t u1 = __sxtb16(v1);
            sum00 = __smlad(x[0], u0, sum00);
            sum01 = __smlad(x[0], u1, sum01);
            sum10 = __smlad(x[1], u0, sum10);
            sum11 = __smlad(x[1], u1, sum11);
            sum20 = __smlad(x[2], u0, sum20);
            sum21 = __smlad(x[2], u1, sum21);
            sum30 = __smlad(x[3], u0, sum30);
            sum31 = __smlad(x[3], u1, sum31);
            u0 = @name@_odd(v0);
            u1 = @name@_odd(v1);
            sum00 = __smlad(x[4], u0, sum00);
            sum01 = __smlad(x[4], u1, sum01);
            sum10 = __smlad(x[5], u0, sum10);
            sum11 = __smlad(x[5], u1, sum11);
            sum20 = __smlad(x[6], u0, sum20);
            sum21 = __smlad(x[6], u1, sum21);
            sum30 = __smlad(x[7], u0, sum30);
            sum31 = __smlad(x[7], u1, sum31);
            x += 8;
#else
            for (int32_t i = 0; i < 4; ++i) {
                const int32_t a = w0[i];
                const int32_t b = w1[i];
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
#endif
            w0 += 4;
            w1 += 4;
        }
        w0 = w1;
        @name@_store@twice@(s, unit, sum00, sum10, sum20, sum30, output);
        @name@_store@twice@(s, unit + 1, sum01, sum11, sum21, sum31, output);
    }
#endif
    for (; unit < units; ++unit) {
        const @name@_row *x = rows;
        int32_t sum0 = s->start[unit];
        int32_t sum1 = sum0;
        int32_t sum2 = sum0;
        int32_t sum3 = sum0;
        for (int32_t rest = stride; rest > 0; rest -= 4) {
#ifdef @NAME@_DSP
            const int32_t v = @name@_word(w0);
            const int32_t even = __sxtb16(v);
            const int32_t odd = @name@_odd(v);
            sum0 = __smlad(x[4], odd, __smlad(x[0], even, sum0));
            sum1 = __smlad(x[5], odd, __smlad(x[1], even, sum1));
            sum2 = __smlad(x[6], odd, __smlad(x[2], even, sum2));
            sum3 = __smlad(x[7], odd, __smlad(x[3], even, sum3));
            x += 8;
#else
            for (int32_t i = 0; i < 4; ++i) {
                const int32_t a = w0[i];
                sum0 += x[0] * a;
                sum1 += x[1] * a;
                sum2 += x[2] * a;
                sum3 += x[3] * a;
                x += 4;
            }
#endif
            w0 += 4;
        }
        @name@_store@twice@(s, unit, sum0, sum1, sum2, sum3, output);
    }
}

)";

constexpr std::string_view kManyRows =
    R"(static void @name@_fully_connected@twice@(const @name@_sums *s, int32_t rows, const int8_t *input,
        int8_t *output, @name@_row *block)
{
    while (rows > 0) {
        const int32_t count = rows >= 4 ? 4 : 1;
        for (int32_t i = 0; i < count; ++i) {
            @name@_set_row(input, s->depth, block + i, count);
            input += s->depth;
        }
        if (count == 4) {
            @name@_sums_of_rows@twice@(s, block, output);
        } else {
            @name@_sums_of_row@twice@(s, block, output);
        }
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
    R"(/* Values of a pixel, or of several beside each other, to places that are `step` apart. */
static void @name@_take(const int8_t *from, int32_t count, @name@_byte *to, int32_t step)
{
#ifdef @NAME@_DSP
    (void)step; /* 1 */
    for (; count >= 4; count -= 4) {
        __builtin_memcpy(to, from, 4);
        to += 4;
        from += 4;
    }
    for (; count > 0; --count) {
        *to++ = *from++;
    }
#else
    @name@_set_row(from, count, to, step);
#endif
}

static void @name@_fill(int32_t value, int32_t count, @name@_byte *to, int32_t step)
{
    for (; count > 0; --count) {
        *to = (@name@_byte)(value + @NAME@_OFFSET);
        to += step;
    }
}

/* What a window reads, tap by tap: of `read` channels. Lies beside the image what is outside of it. */
static void @name@_take_window(const @name@_window *w, const int8_t *image, int32_t top, int32_t left,
        @name@_byte *to, int32_t step)
{
    const int32_t read = w->channels / w->groups;
    /* Pixels that are taken at once. */
    const int32_t run = w->groups == 1 && w->dilation_x == 1 ? w->kernel_width : 1;
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
            @name@_fill(w->input_zero_point, before * read, to, step);
            to += before * read * step;
            if (inside > 0) {
                @name@_take(image + (y * w->width + x + before) * w->channels, inside * read, to, step);
                to += inside * read * step;
            }
            @name@_fill(w->input_zero_point, beyond * read, to, step);
            to += beyond * read * step;
        }
    }
}

)";

constexpr std::string_view kConvolve =
    R"(static void @name@_convolve@twice@(const @name@_window *w, const int8_t *input, int8_t *output,
        @name@_row *block)
{
    const int32_t outputs = w->output_height * w->output_width;
    const int32_t row_bytes = (w->sums.depth + 3) & ~3;
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
        s.weights += part * s.units * row_bytes;
        s.start += part * s.units;
        s.multiplier += part * s.units * s.per_unit;
        s.shift += part * s.units * s.per_unit;
        for (int32_t row = 0; row < outputs; row += count) {
            count = outputs - row >= 4 ? 4 : 1;
            for (int32_t i = 0; i < count; ++i) {
                const int32_t top = y * w->stride_y - w->top;
                const int32_t left = x * w->stride_x - w->left;
#ifdef @NAME@_DSP
                int8_t *values = (int8_t *)(block + 2 * row_bytes);
                @name@_take_window(w, from, top, left, values, 1);
                @name@_set_row(values, s.depth, block + i, count);
#else
                @name@_take_window(w, from, top, left, block + i, count);
#endif
                x = x + 1 < w->output_width ? x + 1 : 0;
                y = x == 0 ? y + 1 : y;
            }
            if (count == 4) {
                @name@_sums_of_rows@twice@(&s, block, to);
            } else {
                @name@_sums_of_row@twice@(&s, block, to);
            }
            to += count * s.width;
        }
    }
}

)";

// ---- Channels by themselves

constexpr std::string_view kTakeChannel =
    R"(#ifdef @NAME@_DSP
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
        for (int32_t x = 0; x < width; ++x) {
            *to++ = (@name@_value)(*from + @NAME@_OFFSET);
            from += channels;
        }
    }
}

)";

constexpr std::string_view kDepthwise =
    R"(/* The outputs of a unit in windows of 3 x 3. */
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
    const int8_t *k = w->sums.weights + unit;
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

/* The outputs of a unit in any window. */
static void @name@_slide@twice@(const @name@_window *w, const @name@_value *plane, int32_t line, int32_t unit,
        int8_t *output)
{
    const int32_t units = w->sums.units;
    for (int32_t y = 0; y < w->output_height; ++y) {
        for (int32_t x = 0; x < w->output_width; ++x) {
            const @name@_value *values = plane + y * w->stride_y * line + x * w->stride_x;
            const int8_t *weight = w->sums.weights + unit;
            int32_t sum = w->sums.start[unit];
            for (int32_t ky = 0; ky < w->kernel_height; ++ky) {
                const @name@_value *value = values;
                for (int32_t kx = 0; kx < w->kernel_width; ++kx) {
                    sum += *value * *weight;
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
        plane[i] = (@name@_value)(w->input_zero_point + @NAME@_OFFSET);
    }
    for (int32_t image = 0; image < w->images; ++image) {
        for (int32_t unit = 0; unit < units; ++unit) {
            if (unit % of_channel == 0) {
                @name@_take_channel(w, input + unit / of_channel, plane, lines, line);
            }
            if (w->kernel_height == 3 && w->kernel_width == 3 && span_y == 3 && span_x == 3) {
                @name@_slide_3x3@twice@(w, plane, line, unit, output + unit);
            } else {
                @name@_slide@twice@(w, plane, line, unit, output + unit);
            }
        }
        input += w->height * w->width * w->channels;
        output += w->output_height * w->output_width * units;
    }
}

)";

}  // namespace

std::int64_t c_scratch_bytes(CKernel kernel, std::int64_t depth, const Window& window) {
  const std::int64_t row = (depth + 3) / 4 * 4;
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
  add(needed(CKernel::convolve, CKernel::depthwise), kWindow);
  add(needed(CKernel::convolve, CKernel::convolve), kTakeWindow);
  add(needed(CKernel::depthwise, CKernel::depthwise), kTakeChannel);
  for (const bool twice : {false, true}) {
    f["twice"] = twice ? "_twice" : "";
    f["rescale"] = twice ? c_rescale_twice(plan) : "rescale";
    add(needed(CKernel::row, CKernel::depthwise, twice), kValueOf);
    add(needed(CKernel::row, CKernel::convolve, twice), kSumsOfRow);
    add(needed(CKernel::rows, CKernel::convolve, twice), kSumsOfRows);
    add(needed(CKernel::rows, CKernel::rows, twice), kManyRows);
    add(needed(CKernel::convolve, CKernel::convolve, twice), kConvolve);
    add(needed(CKernel::depthwise, CKernel::depthwise, twice), kDepthwise);
  }
  return text;
}

}  // namespace octet::detail
