#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/ops/conv2d_internal.h>
#include <octet/core/ops/transposed_conv2d_internal.h>
#include <octet/layers/program/linear_operator.h>

#include <array>
#include <optional>

namespace octet {
namespace {

/// The results [.., units] of a layer with a kernel [inputs, units] for examples [.., inputs].
Shape require_matrix(const Shape& examples, const LayerWeights& weights, const std::string& owner) {
  if (weights.unit_axis != 1) {
    throw InvalidArgument(
        fmt::format("{}: expected a kernel [inputs, units], whose LayerWeights have unit_axis 1, "
                    "found unit_axis {}",
                    owner, weights.unit_axis));
  }
  const Shape& kernel = weights.kernel.shape();
  if (kernel.rank() != 2 || examples.rank() == 0 || examples.dim(-1) != kernel[0]) {
    throw InvalidArgument(fmt::format(
        "{}: expected a kernel [inputs, units] for examples [.., inputs], found a kernel {} for "
        "examples {}; put a Flatten layer in front of a layer that reads all axes at once",
        owner, kernel.to_string(), examples.to_string()));
  }
  return examples.with_dim(-1, kernel[1]);
}

/// The results of a convolution: [height, width, units], of sequences [steps, units], and of
/// examples [channels] [units].
Shape require_convolution(const Shape& examples, const LayerWeights& weights,
                          const std::string& owner) {
  constexpr int kUnitAxis = 3;
  if (weights.unit_axis != kUnitAxis) {
    throw InvalidArgument(
        fmt::format("{}: expected the kernel of a convolution, whose LayerWeights have unit_axis "
                    "{}, found unit_axis {}",
                    owner, kUnitAxis, weights.unit_axis));
  }
  try {
    const Tensor no_images(images_of(examples).with_batch(0));
    if (weights.transposed) {
      return transposed_geometry(no_images, weights).input_shape().without_batch();
    }
    const Conv2DGeometry geometry =
        conv2d_geometry(no_images, weights.kernel, *weights.convolution);
    if (weights.depthwise && geometry.groups != geometry.channels) {
      throw InvalidArgument(
          fmt::format("expected a depthwise convolution with a group for each of {} channels, "
                      "found {} groups",
                      geometry.channels, geometry.groups));
    }
    Shape results = geometry.output_shape().without_batch();
    while (results.rank() > examples.rank()) results = results.without_dim(0);
    return results;
  } catch (const InvalidArgument& error) {
    throw InvalidArgument(fmt::format("{}: {}", owner, error.what()));
  }
}

}  // namespace

OpCode operator_of(const LayerWeights& weights) {
  if (!weights.convolution) return OpCode::fully_connected;
  if (weights.transposed) return OpCode::transpose_conv;
  return weights.depthwise ? OpCode::depthwise_conv_2d : OpCode::conv_2d;
}

Conv2DGeometry transposed_geometry(const Tensor& x, const LayerWeights& weights) {
  const Conv2DOptions& options = *weights.convolution;
  if (weights.depthwise || options.groups != 1 || options.dilation != std::array<Index, 2>{1, 1}) {
    throw InvalidArgument(fmt::format(
        "expected a transposed convolution of one group without dilation, found {}{} groups and a "
        "dilation of {}, {}",
        weights.depthwise ? "a depthwise one, " : "", options.groups, options.dilation[0],
        options.dilation[1]));
  }
  const Shape& kernel = weights.kernel.shape();
  return transposed_conv2d_geometry(x, {kernel[0], kernel[1], kernel[3], kernel[2]},
                                    {.stride = options.stride, .padding = options.padding});
}

bool has_separate_clamp(const LayerWeights& weights, FusedActivation clamp, Rounding rounding) {
  return weights.transposed && rounding == Rounding::double_rounding &&
         clamp != FusedActivation::none;
}

Padding2D zeros_in_front(const LayerWeights& weights) {
  if (!weights.convolution || weights.convolution->padding != Padding::causal) return {};
  const std::array<Index, 2>& dilation = weights.convolution->dilation;
  return {.top = (weights.kernel.dim(0) - 1) * dilation[0],
          .left = (weights.kernel.dim(1) - 1) * dilation[1]};
}

Shape images_of(const Shape& examples) {
  if (examples.rank() == 1) return {1, 1, examples[0]};
  return examples.rank() == 2 ? Shape{1, examples[0], examples[1]} : examples;
}

void require_operator_weights(const LayerWeights& weights, const Shape& examples,
                              const Shape& results, const std::string& owner) {
  const Shape expected = weights.convolution ? require_convolution(examples, weights, owner)
                                             : require_matrix(examples, weights, owner);
  const Shape& kernel = weights.kernel.shape();
  if (results != expected) {
    throw InvalidArgument(fmt::format("{}: expected results {} of a kernel {}, found {}", owner,
                                      expected.to_string(), kernel.to_string(),
                                      results.to_string()));
  }
  if (weights.bias.defined() && weights.bias.shape() != Shape{kernel.dim(-1)}) {
    throw InvalidArgument(fmt::format("{}: expected a bias of {} values for a kernel {}, found {}",
                                      owner, kernel.dim(-1), kernel.to_string(),
                                      weights.bias.shape().to_string()));
  }
}

LayerWeights require_weights(const Layer& layer, const std::string& owner) {
  const std::optional<LayerWeights> weights = layer.weights();
  if (!weights) {
    throw InvalidArgument(
        fmt::format("{}: expected a layer with a kernel, found {} without", owner, layer.type()));
  }
  require_operator_weights(*weights, layer.input_shape(), layer.output_shape(), owner);
  return *weights;
}

}  // namespace octet
