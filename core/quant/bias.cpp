#include <octet/core/quant/bias.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/core.h>

#include <octet/core/error.h>
#include <octet/core/kernels/min_max.h>
#include <octet/core/quant/round.h>

namespace octet {
namespace {

constexpr std::int32_t kLargestBiasCode = std::numeric_limits<std::int32_t>::max() / 2;
constexpr double kLargestBias = kLargestBiasCode;

/// Returns the range of the biases.
MinMax check_bias(std::span<const float> bias, std::size_t scales, std::string_view name) {
  if (scales != 1 && scales != bias.size()) {
    throw InvalidArgument(fmt::format("{}: expected one scale or one per element, found {} for {}",
                                      name, scales, bias.size()));
  }
  const MinMax limits = min_max(bias);
  for (std::size_t i = 0; !limits.finite && i < bias.size(); ++i) {
    if (!std::isfinite(bias[i])) {
      throw NumericError(fmt::format("{}: bias {} is {}, not finite", name, i, bias[i]));
    }
  }
  return limits;
}

}  // namespace

std::vector<double> bias_scales(float input_scale, std::span<const float> weight_scales) {
  std::vector<double> scales;
  scales.reserve(weight_scales.size());
  for (const float weight_scale : weight_scales) {
    for (const float scale : {input_scale, weight_scale}) {
      if (!std::isfinite(scale) || !(scale > 0.0F)) {
        throw InvalidArgument(
            fmt::format("bias_scales: scale {} is not finite and above 0", scale));
      }
    }
    scales.push_back(static_cast<double>(input_scale) * static_cast<double>(weight_scale));
  }
  return scales;
}

void quantize_bias(std::span<const float> bias, std::span<const double> scales,
                   std::span<std::int32_t> out, std::string_view name) {
  check_bias(bias, scales.size(), name);
  if (out.size() != bias.size()) {
    throw InvalidArgument(
        fmt::format("{}: {} biases do not fit {} places", name, bias.size(), out.size()));
  }
  for (std::size_t i = 0; i < bias.size(); ++i) {
    const double scale = scales[scales.size() == 1 ? 0 : i];
    if (!std::isfinite(scale) || !(scale > 0.0)) {
      throw InvalidArgument(fmt::format("{}: scale {} is not finite and above 0", name, scale));
    }
    out[i] = clamp_to<std::int32_t>(round_half_away(static_cast<double>(bias[i]) / scale));
  }
}

std::size_t fit_weight_scales_to_bias(std::span<const float> bias, float input_scale,
                                      std::span<float> weight_scales, std::string_view name) {
  const MinMax limits = check_bias(bias, weight_scales.size(), name);
  const std::vector<double> scales = bias_scales(input_scale, weight_scales);
  if (bias.empty()) return 0;
  // Usually all fit: then the largest bias fits on the smallest scale.
  const auto largest = static_cast<double>(std::max(-limits.min, limits.max));
  if (largest / std::ranges::min(scales) < kLargestBias) return 0;
  std::vector<float> fitted(weight_scales.begin(), weight_scales.end());
  for (std::size_t i = 0; i < bias.size(); ++i) {
    const std::size_t c = weight_scales.size() == 1 ? 0 : i;
    const double magnitude = std::fabs(static_cast<double>(bias[i]));
    if (magnitude / scales[c] < kLargestBias) {
      continue;
    }
    auto scale = static_cast<float>(magnitude / kLargestBias / static_cast<double>(input_scale));
    while (magnitude / (static_cast<double>(input_scale) * static_cast<double>(scale)) >=
           kLargestBias) {
      scale = std::nextafter(scale, std::numeric_limits<float>::infinity());
    }
    if (!std::isfinite(scale)) {
      throw NumericError(fmt::format("{}: bias {} is too large for the input scale {}", name,
                                     bias[i], input_scale));
    }
    fitted[c] = std::max(fitted[c], scale);
  }
  std::size_t grown = 0;
  for (std::size_t c = 0; c < fitted.size(); ++c) {
    grown += fitted[c] > weight_scales[c] ? 1U : 0U;
    weight_scales[c] = fitted[c];
  }
  return grown;
}

}  // namespace octet
