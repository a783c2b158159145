#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <string_view>

#include <fmt/core.h>

#include <octet/core/error.h>
#include <octet/core/quant/fake_quant.h>
#include <octet/core/quant/round.h>

// Functions of TensorFlow Lite that no layer of Octet needs, held against upstream's numbers: what
// Octet's own are compared with.

namespace octet {

/// Computes what TensorFlow Lite's reference FULLY_CONNECTED does: round_half_away(acc * factor) in
/// double, saturated, with factor = input_scale * weight_scale / output_scale in double.
[[nodiscard]] inline std::int32_t requantize_reference(std::int32_t acc, float input_scale,
                                                       float weight_scale,
                                                       float output_scale) noexcept {
  const double factor = static_cast<double>(input_scale) * static_cast<double>(weight_scale) /
                        static_cast<double>(output_scale);
  return clamp_to<std::int32_t>(round_half_away(static_cast<double>(acc) * factor));
}

/// Checks |float32(input_scale * weight_scale) - bias_scale| / output_scale <= 0.02, as TensorFlow
/// Lite does for layers quantized per tensor. Throws InvalidArgument, naming `name`.
inline void check_bias_scale(float input_scale, float weight_scale, float bias_scale,
                             float output_scale, std::string_view name) {
  const auto product = static_cast<double>(input_scale * weight_scale);
  const double difference = std::fabs(product - static_cast<double>(bias_scale));
  if (!(difference / static_cast<double>(output_scale) <= 0.02)) {
    throw InvalidArgument(fmt::format(
        "{}: bias scale {} differs from input scale * weight scale {}", name, bias_scale, product));
  }
}

/// TensorFlow Lite's FAKE_QUANT operator: nudges the range (see nudge), then computes
/// y = round_half_away(s * (1 / scale)) * scale + nudged min with s = clamp(x) - nudged min.
/// Differs from fake_quant_multiply and fake_quant_divide at ties only. Errors as for nudge.
inline void tflite_fake_quant(std::span<const float> in, float min, float max, int num_bits,
                              bool narrow_range, std::span<float> out,
                              std::string_view name = "tflite_fake_quant") {
  if (in.size() != out.size()) {
    throw InvalidArgument(fmt::format("{}: {} elements in, {} out", name, in.size(), out.size()));
  }
  const NudgedRange r = nudge(min, max, num_bits, narrow_range, name);
  const float inv_scale = r.is_zero ? 0.0F : 1.0F / r.scale;
  for (std::size_t i = 0; i < in.size(); ++i) {
    // Comparisons that keep NaN.
    const float below = r.max < in[i] ? r.max : in[i];
    const float clipped = below < r.min ? r.min : below;
    out[i] = small::round_half_away((clipped - r.min) * inv_scale) * r.scale + r.min;
  }
}

}  // namespace octet
