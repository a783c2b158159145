#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace octet {

/// Returns the scales of an int32 bias: double(input_scale) * double(weight_scale_c).
/// Throws InvalidArgument unless every scale is finite and above 0.
[[nodiscard]] std::vector<double> bias_scales(float input_scale,
                                              std::span<const float> weight_scales);

/// Computes q = round_half_away(b / scale) in double, with one scale for all or one per element,
/// clamped to int32. Throws InvalidArgument if sizes differ, NumericError, naming `name`, if a bias
/// is NaN or infinite.
void quantize_bias(std::span<const float> bias, std::span<const double> scales,
                   std::span<std::int32_t> out, std::string_view name);

/// Enlarges weight scales, in place, until |b| / (input_scale * weight_scale) stays below
/// INT32_MAX / 2, as the TensorFlow Lite converter does, so that bias and accumulator cannot
/// overflow. Returns the number of enlarged scales; weights must be quantized with the new scales.
std::size_t fit_weight_scales_to_bias(std::span<const float> bias, float input_scale,
                                      std::span<float> weight_scales, std::string_view name);

}  // namespace octet
