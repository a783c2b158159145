#include <octet/core/parallel.h>
#include <octet/core/quant/bias.h>
#include <octet/core/quant/quantize.h>
#include <octet/layers/quantize/dense_codes.h>

#include <cstddef>

namespace octet {
namespace {

constexpr std::size_t kRowsPerChunk = 64;

/// Codes of the kernel [inputs, units] in the order [units, inputs].
std::vector<std::int8_t> transposed_codes(const Tensor& kernel, const QuantParams& params) {
  const auto inputs = static_cast<std::size_t>(kernel.dim(0));
  const auto units = static_cast<std::size_t>(kernel.dim(1));
  QuantParams by_unit = params;
  by_unit.quantized_dimension = 1;
  std::vector<std::int8_t> result(inputs * units);
  parallel_for(inputs, kRowsPerChunk, [&](std::size_t begin, std::size_t end) {
    std::vector<std::int8_t> codes((end - begin) * units);
    const Shape block{static_cast<Index>(end - begin), kernel.dim(1)};
    quantize(kernel.span().subspan(begin * units, codes.size()), block.dims(), by_unit, codes);
    for (std::size_t j = 0; j < units; ++j) {
      for (std::size_t i = begin; i < end; ++i) {
        result[j * inputs + i] = codes[(i - begin) * units + j];
      }
    }
  });
  return result;
}

}  // namespace

DenseCodes make_dense_codes(const Dense& dense, const QuantParams& kernel_params,
                            float input_scale) {
  DenseCodes codes;
  codes.weight_params = kernel_params;
  codes.weight_params.quantized_dimension = 0;
  if (dense.bias().defined()) {
    const auto bias = dense.bias().span();
    fit_weight_scales_to_bias(bias, input_scale, codes.weight_params.scales, dense.name());
    codes.bias.resize(bias.size());
    quantize_bias(bias, bias_scales(input_scale, codes.weight_params.scales), codes.bias,
                  dense.name());
  }
  codes.weights = transposed_codes(dense.kernel(), codes.weight_params);
  return codes;
}

FusedActivation fused_activation(Activation activation) {
  if (activation == Activation::relu) return FusedActivation::relu;
  if (activation == Activation::relu6) return FusedActivation::relu6;
  return FusedActivation::none;
}

}  // namespace octet
