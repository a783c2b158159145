#include <octet/core/autograd.h>
#include <octet/core/quant/activation_range.h>
#include <octet/core/quant/quantize.h>
#include <octet/layers/quantize/scale_rule.h>

#include <cstdint>
#include <utility>

namespace octet {
namespace {

/// dequantize(quantize(x)), channels on the last axis.
Tensor quantized_and_back(const Tensor& x, QuantParams params) {
  params.quantized_dimension = static_cast<int>(x.rank()) - 1;
  std::vector<std::int32_t> quantized(static_cast<std::size_t>(x.size()));
  Tensor y(x.shape());
  if (!params.per_channel()) {
    quantize(x.span(), params, quantized);
    dequantize(quantized, params, y.mutable_span());
  } else {
    quantize(x.span(), x.shape().dims(), params, quantized);
    dequantize(quantized, x.shape().dims(), params, y.mutable_span());
  }
  return y;
}

}  // namespace

void ScaleRule::build(const QuantSpec& spec, std::string owner, std::string prefix,
                      const Shape& shape) {
  spec_ = spec;
  owner_ = std::move(owner);
  prefix_ = std::move(prefix);
  do_build(shape);
}

Tensor ScaleRule::fake_quant(const Tensor& x) const {
  const QuantParams quant = params();
  const LearnedRange learned = learned_range();
  LearnedSteps steps = learned.steps;
  for (std::size_t c = steps.passes.size(); c < quant.channels(); ++c) {
    steps.passes.push_back(real_limits(
        QuantParams::per_tensor(quant.scale(c), quant.zero_point(c), quant.qmin, quant.qmax)));
  }
  std::vector<Tensor> inputs = {x};
  learned.append_to(inputs);
  return record("learned_quantization", quantized_and_back(x, quant), inputs,
                [from = x.detach(), learned, steps](const Tensor& g) {
                  std::vector<Tensor> gradients = {passed_gradient(from, g, steps)};
                  learned.append_gradients(gradients, from, g);
                  return gradients;
                });
}

}  // namespace octet
