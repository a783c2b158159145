#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace octet {

/// A range nudged so that 0 is one of its codes (as TensorFlow does, all steps in float32):
///   scale = (max - min) / (qmax - qmin), zero_point = clamp(round_half_away(qmin - min / scale)),
///   nudged min = (qmin - zero_point) * scale, nudged max = (qmax - zero_point) * scale,
/// on the unsigned codes qmin = narrow ? 1 : 0, qmax = 2^bits - 1.
struct NudgedRange {
  float min = 0.0F;
  float max = 0.0F;
  float scale = 0.0F;
  float inv_scale = 0.0F;   ///< (qmax - qmin) / (max - min): its own division, not 1 / scale
  float quant_zero = 0.0F;  ///< floor(-nudged min * inv_scale + 0.5)
  std::int32_t zero_point = 0;
  /// The range contains 0 only: min = max = 0, or the scale of its width is below the smallest
  /// normal float32. Outputs are 0 and gradients pass.
  bool is_zero = false;
  bool operator==(const NudgedRange&) const = default;
};

/// Nudges a range. Throws InvalidArgument for num_bits outside 2..16, min > max and min = max != 0,
/// NumericError for NaN or infinite bounds and for a width that float32 cannot hold. Messages start
/// with `name`, the tensor that the range belongs to.
[[nodiscard]] NudgedRange nudge(float min, float max, int num_bits, bool narrow_range,
                                std::string_view name);

/// The nudged ranges of all channels, as one array per member so that loops over channels
/// vectorise.
struct NudgedRanges {
  std::vector<float> min;
  std::vector<float> max;
  std::vector<float> scale;
  std::vector<float> inv_scale;
  std::vector<float> quant_zero;
  std::vector<float> pass_min;  ///< gradient limits: min, or -infinity for a zero range
  std::vector<float> pass_max;  ///< max, or +infinity for a zero range
};

/// Nudges the range of each channel. Throws InvalidArgument if the sizes differ ("has incorrect
/// size").
[[nodiscard]] NudgedRanges nudge_per_channel(std::span<const float> min, std::span<const float> max,
                                             int num_bits, bool narrow_range,
                                             std::string_view name);

// Forward loops over a nudged range. Elementwise, so a caller may divide the spans; `out` may be
// `in` itself. NaN stays NaN; infinite values are clamped. c = max(min(x, nudged max), nudged min),
// s = c - nudged min.

/// Computes y = floor(s * inv_scale - quant_zero + 0.5) * scale: the Args form.
void fake_quant_multiply(std::span<const float> in, const NudgedRange& range, std::span<float> out);
/// Computes y = floor(s / scale - quant_zero + 0.5) * scale: the Vars form. It differs from the
/// multiplying form in the last bit of the quotient, and therefore at ties.
void fake_quant_divide(std::span<const float> in, const NudgedRange& range, std::span<float> out);
/// Computes the multiplying form with one range per index of the last dimension; in.size() must be
/// a multiple of the number of channels.
void fake_quant_multiply(std::span<const float> in, const NudgedRanges& ranges,
                         std::span<float> out);

/// Computes d_input = g where nudged min <= x <= nudged max, else 0; every g for a zero range.
void fake_quant_mask(std::span<const float> gradient, std::span<const float> in,
                     const NudgedRange& range, std::span<float> d_input);
/// Computes d_input = g where nudged min <= x <= nudged max, else 0, with the range of each
/// element's index on the last dimension.
void fake_quant_mask(std::span<const float> gradient, std::span<const float> in,
                     const NudgedRanges& ranges, std::span<float> d_input);

/// Gradients of the range: d_min = sum of g where x < nudged min, d_max where x > nudged max.
struct RangeGradient {
  float d_min = 0.0F;
  float d_max = 0.0F;
};
/// Computes the gradients of TensorFlow's FakeQuantWithMinMaxVars, y = fake_quant_divide(x):
/// d_input as fake_quant_mask(), and those of the range, whose sums are added in the same order
/// every time.
RangeGradient fake_quant_vars_grad(std::span<const float> gradient, std::span<const float> in,
                                   float min, float max, int num_bits, bool narrow_range,
                                   std::span<float> d_input,
                                   std::string_view name = "fake_quant_with_min_max_vars_gradient");

/// Computes the gradients of TensorFlow's FakeQuantWithMinMaxVarsPerChannel, with a range per index
/// of the last dimension; overwrites d_min and d_max, one element per channel.
void fake_quant_per_channel_grad(
    std::span<const float> gradient, std::span<const float> in, std::span<const float> min,
    std::span<const float> max, int num_bits, bool narrow_range, std::span<float> d_input,
    std::span<float> d_min, std::span<float> d_max,
    std::string_view name = "fake_quant_with_min_max_vars_per_channel_gradient");

/// Throws InvalidArgument "min has to be smaller than max, was: A >= B", which only Args demands.
void check_fake_quant_args_range(float min, float max, std::string_view name);
/// Throws InvalidArgument "`min` must be rank 0 but is rank N" unless both are scalars.
void check_fake_quant_vars_shapes(std::span<const std::int64_t> min_shape,
                                  std::span<const std::int64_t> max_shape, std::string_view name);
/// Throws InvalidArgument unless min and max are vectors ("must be rank 1") as long as the last
/// dimension of the input ("min has incorrect size, expected D was N").
void check_fake_quant_per_channel_shapes(std::span<const std::int64_t> in_shape,
                                         std::span<const std::int64_t> min_shape,
                                         std::span<const std::int64_t> max_shape,
                                         std::string_view name);

}  // namespace octet
