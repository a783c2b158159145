#pragma once

#include <string_view>

// CONV_2D: rows made of what windows read.

namespace octet::detail::kernel_text {

inline constexpr std::string_view kWindow =
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

inline constexpr std::string_view kTakeWindow =
    R"(static int8_t *@name@_copy(const int8_t *from, int32_t count, int8_t *to)
{
#if defined(@NAME@_MVE)
    for (; count >= 16; count -= 16) {
        vstrbq_s8(to, vldrbq_s8(from));
        to += 16;
        from += 16;
    }
#endif
#ifdef @NAME@_X86
    for (; count >= 16; count -= 16) {
        _mm_storeu_si128((__m128i *)to, _mm_loadu_si128((const __m128i *)from));
        to += 16;
        from += 16;
    }
#endif
#if defined(@NAME@_DSP) || defined(@NAME@_X86)
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

inline constexpr std::string_view kConvolve =
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
        for (int32_t rows = outputs; rows > 0; rows -= count) {
            count = @rows_at_once@;
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

}  // namespace octet::detail::kernel_text
