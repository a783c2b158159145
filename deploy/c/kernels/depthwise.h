#pragma once

#include <string_view>

// DEPTHWISE_CONV_2D: every channel by itself, with its padding around it.

namespace octet::detail::kernel_text {

inline constexpr std::string_view kTwoValues =
    R"(#if defined(@NAME@_DSP) && !defined(@NAME@_MVE)
static int32_t @name@_pair(int32_t low, int32_t high)
{
    return (int32_t)((uint32_t)(uint16_t)low | (uint32_t)high << 16);
}
#endif

)";

inline constexpr std::string_view kTakeChannel =
    R"(/* One channel of an image into a plane whose lines have `line` values. */
@NAME@_APART static void @name@_take_channel(const @name@_window *w, const int8_t *image, @name@_value *plane, int32_t lines,
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
            @NAME@_FENCE;
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

inline constexpr std::string_view kSlideNear =
    R"(#ifdef @NAME@_MVE
/* The outputs of a unit in windows of up to 16 taps that lie within 256 values. */
@NAME@_APART static void @name@_slide_near@twice@(const @name@_window *w, const int8_t *plane, int32_t line, int32_t unit,
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
    @NAME@_FENCE;
    for (int32_t rest = w->output_height * width; rest > 0; rest -= 4) {
        int32_t sums[4];
        if (x > 4) {
            for (int32_t i = 0; i < 4; ++i) {
                sums[i] = vmladavaq_s8(start, vldrbq_gather_offset_s8(plane, offsets), k);
                plane += step;
            }
            x -= 4;
        } else {
            for (int32_t i = 0; i < 4; ++i) {
                sums[i] = vmladavaq_s8(start, vldrbq_gather_offset_s8(plane, offsets), k);
                plane += step;
                if (--x == 0) {
                    x = width;
                    plane += next_line;
                }
            }
        }
        const int32x4_t sum = @name@_@rescale@_four(vldrwq_s32(sums), multiplier, shift);
        const int32x4_t y = vaddq_n_s32(vminq_s32(vmaxq_s32(sum, lowest), highest), zero_point);
        if (rest >= 4) {
            vstrbq_scatter_offset_s32(output, places, y);
        } else {
            vstrbq_scatter_offset_p_s32(output, places, y, vctp32q((uint32_t)rest));
        }
        output += 4 * units;
    }
    @NAME@_FENCE;
}
#endif

)";

inline constexpr std::string_view kSlide3x3 =
    R"(#ifndef @NAME@_MVE
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
            @NAME@_IN_ORDER;
            sum += p1[0] * k3 + p1[1] * k4 + p1[2] * k5;
            @NAME@_IN_ORDER;
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

)";

inline constexpr std::string_view kBy3x3 = R"(#else
            if (w->kernel_height == 3 && w->kernel_width == 3 && span_y == 3 && span_x == 3) {
                @name@_slide_3x3@twice@(w, plane, line, unit, output + unit);
            } else
)";

inline constexpr std::string_view kDepthwise =
    R"(/* The outputs of a unit in any window. */
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
#ifdef @NAME@_X86
    if (of_channel == 1 && units >= 8 && w->kernel_height * w->kernel_width <= @NAME@_MOST_TAPS) {
        for (int32_t image = 0; image < w->images; ++image) {
            @name@_slide_channels@twice@(w, input, output);
            input += w->height * w->width * units;
            output += w->output_height * w->output_width * units;
        }
        return;
    }
#endif
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
            } else
@by_3x3@#endif
            {
                @name@_slide@twice@(w, plane, line, unit, output + unit);
            }
        }
        input += w->height * w->width * w->channels;
        output += w->output_height * w->output_width * units;
    }
}

)";

}  // namespace octet::detail::kernel_text
