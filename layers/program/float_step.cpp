#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/ops/depthwise_conv2d_internal.h>
#include <octet/core/ops/ops.h>
#include <octet/layers/activation_function.h>
#include <octet/layers/folded_batch_norm.h>
#include <octet/layers/program/float_operators.h>
#include <octet/layers/program/float_step.h>
#include <octet/layers/quantize/weight_codes.h>

#include <algorithm>

namespace octet {
namespace {

/// Whether the operator of a layer with weights takes them as they lie: inputs first, units last.
bool has_operator_layout(const LayerWeights& weights) {
  const Index rank = weights.kernel.rank();
  return weights.convolution ? rank == 4 && weights.unit_axis == 3
                             : rank == 2 && weights.unit_axis == 1;
}

/// Whether the operator takes the weights together with examples x; a layer may mean something
/// else.
bool fits_operator(const LayerWeights& weights, const Tensor& x) {
  if (!has_operator_layout(weights)) return false;
  const Index units = weights.kernel.dim(-1);
  if (weights.bias.defined() && weights.bias.shape() != Shape{units}) return false;
  return weights.convolution.has_value() || (x.rank() >= 2 && x.dim(-1) == weights.kernel.dim(0));
}

Tensor convolution(const LayerWeights& weights, const Tensor& images, FusedActivation clamp) {
  const Conv2DOptions& options = *weights.convolution;
  if (weights.transposed) {
    const Tensor y = transposed_conv2d(images, permute(weights.kernel, {0, 1, 3, 2}),
                                       {.stride = options.stride, .padding = options.padding});
    return apply_activation(clamp, weights.bias.defined() ? y + weights.bias : y);
  }
  if (!weights.depthwise) return conv2d(images, weights.kernel, weights.bias, clamp, options);
  const Shape& shape = weights.kernel.shape();
  const Tensor kernel = weights.kernel.reshape(
      {shape[0], shape[1], options.groups, shape[3] / std::max<Index>(1, options.groups)});
  return apply_activation(clamp, depthwise_conv2d(images, kernel, weights.bias,
                                                  {.stride = options.stride,
                                                   .dilation = options.dilation,
                                                   .padding = options.padding}));
}

Tensor linear_step(const Step& step, const Tensor& x, const ForwardContext& context) {
  if (step.folded != nullptr && step.folded->uses_batch(context)) {
    return apply_activation(step.clamp, step.folded->normalized(x, context));
  }
  return linear_in_floats(*step.layer, weights_of(step), x, step.clamp);
}

}  // namespace

Tensor linear_operator(const LayerWeights& weights, const Tensor& x, FusedActivation clamp) {
  if (!has_operator_layout(weights)) {
    throw InvalidArgument(fmt::format(
        "linear: expected a kernel whose units are last, found {} with unit_axis {}; a layer with "
        "weights of another layout overrides Layer::linear()",
        weights.kernel.shape().to_string(), weights.unit_axis));
  }
  if (!weights.convolution) return linear(x, weights.kernel, weights.bias, clamp);
  const Shape example = x.shape().without_batch();
  const Shape images = images_of(example);
  if (images == example) return convolution(weights, x, clamp);
  const Tensor y = convolution(weights, x.reshape(images.with_batch(x.dim(0))), clamp);
  Shape result = y.shape().without_batch();
  while (result.rank() > example.rank()) result = result.without_dim(0);
  return y.reshape(result.with_batch(x.dim(0)));
}

Tensor linear_in_floats(const Layer& layer, const LayerWeights& weights, const Tensor& x,
                        FusedActivation clamp) {
  if (fits_operator(weights, x)) return linear_operator(weights, x, clamp);
  return apply_activation(clamp, layer.linear(x, weights.kernel, weights.bias));
}

Tensor run_in_floats(const Step& step, const Shape& result, std::span<const Tensor> x,
                     const ForwardContext& context) {
  switch (step.kind) {
    case Step::Kind::op:
      if (context.logits && step.code == OpCode::softmax) return x[0];
      return float_operator(step, result, x);
    case Step::Kind::linear:
      return linear_step(step, x[0], context);
    case Step::Kind::function:
      return step.function.run(x, context, step.clamp);
    case Step::Kind::parameter:
      return step.parameter;
    case Step::Kind::quantize:
      break;
  }
  throw InvalidArgument(
      fmt::format("layer \"{}\": expected a step that computes in floats", step.layer->name()));
}

}  // namespace octet
