#include <octet/tests/core/quant/tensorflow/symmetric.h>

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include <octet/core/error.h>
#include <octet/core/quant/axis.h>
#include <octet/core/quant/round.h>

namespace octet {
namespace {

constexpr float kLimit = 127.0F;
constexpr double kZeroChannelScale = 1e-6 / 254.0;

std::vector<float> largest_magnitudes(std::span<const float> weights,
                                      std::span<const std::int64_t> shape, int axis,
                                      std::string_view operation) {
  const AxisSplit split = split_axis(shape, axis, weights.size(), operation);
  std::vector<float> largest(split.channels, 0.0F);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const std::size_t channel = i / split.inner % split.channels;
    if (!std::isfinite(weights[i])) {
      throw NumericError(fmt::format("{}: weight {} is {}, not finite", operation, i, weights[i]));
    }
    largest[channel] = std::max(largest[channel], std::fabs(weights[i]));
  }
  return largest;
}

}  // namespace

std::vector<float> symmetric_per_channel_scales(std::span<const float> weights,
                                                std::span<const std::int64_t> shape, int axis) {
  std::vector<float> scales =
      largest_magnitudes(weights, shape, axis, "symmetric_per_channel_scales");
  for (float& scale : scales) {
    // A magnitude so small that its scale is no normal float counts as zero.
    const float wanted = scale / kLimit;
    scale = std::isnormal(wanted) ? wanted : static_cast<float>(kZeroChannelScale);
  }
  return scales;
}

std::vector<float> symmetric_per_channel_inverse_scales(std::span<const float> weights,
                                                        std::span<const std::int64_t> shape,
                                                        int axis) {
  std::vector<float> inverses =
      largest_magnitudes(weights, shape, axis, "symmetric_per_channel_inverse_scales");
  for (float& inverse : inverses) {
    inverse = std::isnormal(inverse / kLimit) ? kLimit / inverse : 0.0F;
  }
  return inverses;
}

void symmetric_per_channel_quantize(std::span<const float> weights,
                                    std::span<const std::int64_t> shape, int axis,
                                    std::span<const float> inverse_scales,
                                    std::span<std::int8_t> out) {
  constexpr std::string_view kName = "symmetric_per_channel_quantize";
  const AxisSplit split = split_axis(shape, axis, weights.size(), kName);
  if (inverse_scales.size() != split.channels || out.size() != weights.size()) {
    throw InvalidArgument(
        fmt::format("{}: expected {} inverse scales and room for {} codes, found {} and {}", kName,
                    split.channels, weights.size(), inverse_scales.size(), out.size()));
  }
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const float scaled = weights[i] * inverse_scales[i / split.inner % split.channels];
    out[i] = clamp_to<std::int8_t>(round_half_away(scaled), -127, 127);
  }
}

}  // namespace octet
