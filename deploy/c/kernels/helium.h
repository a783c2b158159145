#pragma once

#include <string_view>

// What Helium, the vector extension of Cortex-M, does otherwise.

namespace octet::detail::kernel_text {

inline constexpr std::string_view kRescaleFourDouble =
    R"(/* @rescale@() of four sums. */
static int32x4_t @name@_@rescale@_four(int32x4_t sum, int32x4_t multiplier, int32x4_t shift)
{
    const int32x4_t high = vqrdmulhq_s32(@shifted@, multiplier);
    return vrshlq_s32(vqaddq_s32(high, vshrq_n_s32(vandq_s32(high, @right@), 31)), @right@);
}

)";

inline constexpr std::string_view kRescaleFourSingle =
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

inline constexpr std::string_view kRescaleFourFloat =
    R"(/* @rescale@() of four sums, in integers by themselves where a tie is close or shifts go too far. */
static int32x4_t @name@_@rescale@_four(int32x4_t sum, int32x4_t multiplier, int32x4_t shift)
{
#if (__ARM_FEATURE_MVE & 2) != 0
    /* Vectors of floats are rounded to the nearest whatever the processor is set to; 2^(shift - 41) by its bits. */
    const float32x4_t power = vreinterpretq_f32_s32(vshlq_n_s32(vaddq_n_s32(shift, 127 - 41), 23));
    const float32x4_t factor = vmulq_f32(vcvtq_f32_s32(vshrq_n_s32(multiplier, 7)), power);
    return vcvtnq_s32_f32(vmulq_f32(vcvtq_f32_s32(sum), factor));
#else
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
#endif
}

)";

// The quantized values of four units at a time.
inline constexpr std::string_view kOutputsMve =
    R"(/* The outputs of rows, four units at a time; `totals` is what set_row() returned of each. */
@NAME@_APART static void @name@_outputs@twice@(const @name@_sums *s, const @name@_row *block, int32_t rows, const int32_t *totals,
        @code@ *output)
{
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
        @code@ *to = output;
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
            for (int32_t i = (depth + 15) / 16; i > 0; --i) {
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
            int32x4_t sum = {(int32_t)sum0, (int32_t)sum1, (int32_t)sum2, (int32_t)sum3};
            sum = vaddq_s32(sum, vsubq_n_s32(start, totals[row]));
            sum = @name@_@rescale@_four(sum, multiplier, shift);
            sum = vaddq_n_s32(vminq_s32(vmaxq_s32(sum, lowest), highest), zero_point);
            if (rest >= 4) {
                vstr@width@q_s32(to, sum);
            } else {
                @NAME@_FENCE;
                vstr@width@q_p_s32(to, sum, vctp32q((uint32_t)rest));
            }
            to += width;
        }
        weights += 2 * pair;
        output += 4;
    }
}

)";

}  // namespace octet::detail::kernel_text
