#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/ops/depthwise_conv2d_internal.h>
#include <octet/core/ops/ops.h>
#include <octet/layers/activation_function.h>
#include <octet/layers/program/float_linear.h>
#include <octet/layers/program/linear_operator.h>

#include <algorithm>

namespace octet {

bool has_operator_layout(const LayerWeights& weights) {
  const Index rank = weights.kernel.rank();
  return weights.convolution ? rank == 4 && weights.unit_axis == 3
                             : rank == 2 && weights.unit_axis == 1;
}

namespace {

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

}  // namespace

Tensor float_linear(const LayerWeights& weights, const Tensor& x, FusedActivation clamp) {
  if (!has_operator_layout(weights)) {
    throw InvalidArgument(fmt::format(
        "linear: expected a kernel whose units are last, found {} with unit_axis {}; a layer with "
        "weights of another layout sets LayerWeights::own_layout",
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
  if (fits_operator(weights, x)) return float_linear(weights, x, clamp);
  return apply_activation(clamp, layer.linear(x, weights.kernel, weights.bias));
}

}  // namespace octet
