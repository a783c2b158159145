#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace octet {

/// Returns one scale per channel of `axis`, as the post-training tools of TensorFlow Lite choose
/// it: max|w_c| / 127 in float32. A channel of zeros gets 1e-6 / 254, the scale that
/// choose_quant_params gives a range of zeros. Throws InvalidArgument if the shape does not fit,
/// NumericError if a weight is NaN or infinite.
[[nodiscard]] std::vector<float> symmetric_per_channel_scales(std::span<const float> weights,
                                                              std::span<const std::int64_t> shape,
                                                              int axis);

/// Returns 127 / max|w_c| in float32, a division of its own instead of 1 / scale; 0 for a channel
/// of zeros.
[[nodiscard]] std::vector<float> symmetric_per_channel_inverse_scales(
    std::span<const float> weights, std::span<const std::int64_t> shape, int axis);

/// Computes q = clamp(round_half_away(float32(w * inverse_scale_c)), -127, 127).
/// Throws InvalidArgument if sizes differ.
void symmetric_per_channel_quantize(std::span<const float> weights,
                                    std::span<const std::int64_t> shape, int axis,
                                    std::span<const float> inverse_scales,
                                    std::span<std::int8_t> out);

}  // namespace octet
