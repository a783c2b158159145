#include <octet/core/quant/tensorflow/reference.h>

#include <cmath>

#include <fmt/format.h>

#include <octet/core/error.h>
#include <octet/core/quant/fake_quant.h>
#include <octet/core/quant/round.h>

namespace octet {
namespace {

// Keeps NaN.
float clip(float x, float min, float max) noexcept {
  const float below = max < x ? max : x;
  return below < min ? min : below;
}

}  // namespace

std::int32_t requantize_reference(std::int32_t acc, float input_scale, float weight_scale,
                                  float output_scale) noexcept {
  const double factor = static_cast<double>(input_scale) * static_cast<double>(weight_scale) /
                        static_cast<double>(output_scale);
  return clamp_to<std::int32_t>(round_half_away(static_cast<double>(acc) * factor));
}

void check_bias_scale(float input_scale, float weight_scale, float bias_scale, float output_scale,
                      std::string_view name) {
  const auto product = static_cast<double>(input_scale * weight_scale);
  const double difference = std::fabs(product - static_cast<double>(bias_scale));
  if (!(difference / static_cast<double>(output_scale) <= 0.02)) {
    throw InvalidArgument(fmt::format(
        "{}: bias scale {} differs from input scale * weight scale {}", name, bias_scale, product));
  }
}

void tflite_fake_quant(std::span<const float> in, float min, float max, int num_bits,
                       bool narrow_range, std::span<float> out, std::string_view name) {
  if (in.size() != out.size()) {
    throw InvalidArgument(fmt::format("{}: {} elements in, {} out", name, in.size(), out.size()));
  }
  const NudgedRange r = nudge(min, max, num_bits, narrow_range, name);
  const float inv_scale = r.is_zero ? 0.0F : 1.0F / r.scale;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const float position = (clip(in[i], r.min, r.max) - r.min) * inv_scale;
    out[i] = small::round_half_away(position) * r.scale + r.min;
  }
}

}  // namespace octet
