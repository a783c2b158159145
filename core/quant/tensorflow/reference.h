#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace octet {

// Functions of TensorFlow Lite that no layer of Octet needs, for tests against upstream's numbers
// and for ports.

/// Computes what TensorFlow Lite's reference FULLY_CONNECTED does: round_half_away(acc * factor) in
/// double, saturated, with factor = input_scale * weight_scale / output_scale in double.
[[nodiscard]] std::int32_t requantize_reference(std::int32_t acc, float input_scale,
                                                float weight_scale, float output_scale) noexcept;

/// Checks |float32(input_scale * weight_scale) - bias_scale| / output_scale <= 0.02, as TensorFlow
/// Lite does for layers quantized per tensor. Throws InvalidArgument, naming `name`.
void check_bias_scale(float input_scale, float weight_scale, float bias_scale, float output_scale,
                      std::string_view name);

/// TensorFlow Lite's FAKE_QUANT operator: nudges the range (see nudge), then computes
/// y = round_half_away(s * (1 / scale)) * scale + nudged min with s = clamp(x) - nudged min.
/// Differs from fake_quant_args and fake_quant_vars at ties only. Errors as for fake_quant_vars.
void tflite_fake_quant(std::span<const float> in, float min, float max, int num_bits,
                       bool narrow_range, std::span<float> out,
                       std::string_view name = "tflite_fake_quant");

}  // namespace octet
