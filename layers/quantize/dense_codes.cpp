#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/core/quant/bias.h>
#include <octet/layers/quantize/dense_codes.h>
#include <octet/runtime/operators/fully_connected.h>

#include <algorithm>

namespace octet {
namespace {

void check_kernel(const QuantParams& params, const std::string& owner) {
  const auto not_zero = [](std::int32_t zero_point) { return zero_point != 0; };
  if (params.qmin < -128 || params.qmax > 127 ||
      std::ranges::any_of(params.zero_points, not_zero)) {
    throw InvalidArgument(fmt::format(
        "{}: expected a kernel of int8 codes with zero point 0, found codes {} to {} and zero "
        "point {}; give its QuantSpec at most 8 bits, is_signed and symmetric",
        owner, params.qmin, params.qmax, params.zero_point()));
  }
}

}  // namespace

DenseCodes make_dense_codes(const LayerWeights& layer, const QuantParams& kernel_params,
                            float input_scale, const std::string& owner) {
  check_kernel(kernel_params, owner);
  DenseCodes codes;
  codes.weight_params = kernel_params;
  codes.weight_params.quantized_dimension = 0;
  if (layer.bias.defined()) {
    const auto bias = layer.bias.span();
    fit_weight_scales_to_bias(bias, input_scale, codes.weight_params.scales, owner);
    codes.bias.resize(bias.size());
    quantize_bias(bias, bias_scales(input_scale, codes.weight_params.scales), codes.bias, owner);
  }
  const Tensor& kernel = layer.kernel;
  codes.weights =
      PackedS8::quantize(kernel.data(), kernel.dim(0), kernel.dim(1), codes.weight_params.scales,
                         kernel_params.qmin, kernel_params.qmax);
  return codes;
}

std::int64_t accumulator_bound(const DenseCodes& codes, const QuantParams& input,
                               const std::string& owner) {
  const auto rows = codes.weights.row_magnitudes();
  const std::vector<std::int64_t> magnitudes(rows.begin(), rows.end());
  return detail::accumulator_bound(magnitudes, codes.bias, detail::farthest_from_zero_point(input),
                                   owner);
}

}  // namespace octet
