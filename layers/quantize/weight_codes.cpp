#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/ops/gradients_internal.h>
#include <octet/core/profile.h>
#include <octet/core/quant/bias.h>
#include <octet/layers/quantize/weight_codes.h>
#include <octet/runtime/operators/fully_connected.h>
#include <octet/runtime/operators/int16_sums.h>

#include <algorithm>
#include <utility>

namespace octet {
namespace {

void check_kernel(const QuantParams& params, Index units, const std::string& owner) {
  const auto not_zero = [](std::int32_t zero_point) { return zero_point != 0; };
  if (params.qmin < -128 || params.qmax > 127 ||
      std::ranges::any_of(params.zero_points, not_zero)) {
    throw InvalidArgument(fmt::format(
        "{}: expected a kernel of int8 values with zero point 0, found {} to {} and zero "
        "point {}; give its QuantSpec at most 8 bits, is_signed and symmetric",
        owner, params.qmin, params.qmax, params.zero_point()));
  }
  if (params.scales.size() != 1 && std::cmp_not_equal(params.scales.size(), units)) {
    throw InvalidArgument(
        fmt::format("{}: expected one scale for the kernel, or one for each of its {} units, found "
                    "{} scales; give its QuantSpec the axis of the units",
                    owner, units, params.scales.size()));
  }
}

/// Quantizes and packs a kernel; one that is computed on demand is not written to memory for it.
PackedS8 quantized_columns(const Tensor& kernel, Index units, std::span<const float> scales,
                           const QuantParams& grid) {
  const Index inputs = kernel.size() / units;
  const TensorRows rows(kernel, units);
  if (!rows.computes()) {
    return PackedS8::quantize(kernel.data(), inputs, units, scales, grid.qmin, grid.qmax);
  }
  return PackedS8::quantize(
      [&](Index begin, Index end, float* memory) { return rows.read(begin, end, memory); }, inputs,
      units, scales, grid.qmin, grid.qmax);
}

}  // namespace

std::vector<std::int8_t> taps_first(std::span<const std::int8_t> weights, Index units) {
  const auto columns = static_cast<std::size_t>(units);
  const std::size_t taps = weights.size() / columns;
  std::vector<std::int8_t> result(weights.size());
  for (std::size_t unit = 0; unit < columns; ++unit) {
    for (std::size_t tap = 0; tap < taps; ++tap) {
      result[tap * columns + unit] = weights[unit * taps + tap];
    }
  }
  return result;
}

WeightCodes make_weight_codes(const LayerWeights& layer, const QuantParams& kernel_params,
                              float input_scale, const std::string& owner) {
  const ProfilePart profiled("weights");
  const Tensor& kernel = layer.kernel;
  const Index units = kernel.dim(-1);
  check_kernel(kernel_params, units, owner);
  WeightCodes codes;
  codes.weight_params = kernel_params;
  codes.weight_params.quantized_dimension = 0;
  if (layer.bias.defined()) {
    const auto bias = layer.bias.span();
    fit_weight_scales_to_bias(bias, input_scale, codes.weight_params.scales, owner);
    codes.bias.resize(bias.size());
    quantize_bias(bias, bias_scales(input_scale, codes.weight_params.scales), codes.bias, owner);
  }
  codes.weights = quantized_columns(kernel, units, codes.weight_params.scales, kernel_params);
  return codes;
}

std::int64_t accumulator_bound(const WeightCodes& codes, const QuantParams& input,
                               const std::string& owner) {
  const auto rows = codes.weights.row_magnitudes();
  const std::vector<std::int64_t> magnitudes(rows.begin(), rows.end());
  // What may not be more depends on the scale of the result: the operator's kernel sees to it.
  if (integer_type_of(input) == DType::int16) {
    const std::vector<std::int64_t> bias(codes.bias.begin(), codes.bias.end());
    return detail::int16_bound(magnitudes, bias);
  }
  return detail::accumulator_bound(magnitudes, codes.bias, detail::farthest_from_zero_point(input),
                                   owner);
}

}  // namespace octet
