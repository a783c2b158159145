// How Lowering appends the operators of layers with weights.

#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/ops/shape_ops.h>
#include <octet/layers/activation.h>
#include <octet/layers/lowering.h>
#include <octet/layers/quantize/weight_codes.h>
#include <octet/runtime/operators/int16_sums.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace octet {
namespace {

/// Of CONV_2D, DEPTHWISE_CONV_2D or TRANSPOSE_CONV, which knows no dilation.
template <class Attributes>
Attributes window_attributes(const Conv2DOptions& options, FusedActivation activation) {
  const auto number = [](Index value) { return static_cast<std::int32_t>(value); };
  Attributes attributes;
  attributes.padding = options.padding;
  attributes.stride_h = number(options.stride[0]);
  attributes.stride_w = number(options.stride[1]);
  if constexpr (requires { attributes.dilation_h; }) {
    attributes.dilation_h = number(options.dilation[0]);
    attributes.dilation_w = number(options.dilation[1]);
  }
  attributes.activation = activation;
  return attributes;
}

OperatorAttributes attributes_of(const LayerWeights& weights, FusedActivation activation) {
  if (!weights.convolution) return FullyConnectedAttributes{.activation = activation};
  const Conv2DOptions& options = *weights.convolution;
  if (weights.transposed) return window_attributes<TransposeConvAttributes>(options, activation);
  if (!weights.depthwise) return window_attributes<Conv2DAttributes>(options, activation);
  auto attributes = window_attributes<DepthwiseConv2DAttributes>(options, activation);
  attributes.depth_multiplier = static_cast<std::int32_t>(weights.kernel.dim(-1) / options.groups);
  return attributes;
}

/// The shape of a kernel as its operator has it: units first, or last behind an extent of 1 where
/// it is depthwise.
std::vector<std::int32_t> operator_shape(const LayerWeights& weights) {
  const Shape& kernel = weights.kernel.shape();
  const auto units = static_cast<std::int32_t>(kernel.dim(-1));
  std::vector<std::int32_t> shape{weights.depthwise ? 1 : units};
  for (Index axis = 0; axis + 1 < kernel.rank(); ++axis) {
    shape.push_back(static_cast<std::int32_t>(kernel[axis]));
  }
  if (weights.depthwise) shape.back() = units;
  return shape;
}

}  // namespace

std::int32_t Lowering::linear(const Layer& layer, std::int32_t input, FusedActivation activation,
                              std::string_view suffix) {
  const LayerWeights weights = require_weights(layer, owner_text(layer.name()));
  const OpCode code = operator_of(weights);
  const bool reshaped = needs_images(layer);
  std::int32_t read = operand_of(code, input);
  if (reshaped) read = reshape_to(layer, read, images_of(layer.input_shape()), "/images");
  const std::string name = std::string(suffix) + (reshaped ? "/convolution" : "");
  const Shape results = reshaped ? images_of(layer.output_shape()) : layer.output_shape();
  const std::int32_t output = result(layer, code, {read}, results, name);
  std::vector<std::int32_t> operands = {read};
  const auto constants =
      computes_in_codes() ? integer_weights(layer, weights, read) : real_weights(layer, weights);
  operands.insert(operands.end(), constants.begin(), constants.end());
  if (weights.transposed) {
    const std::vector<std::int32_t> shape = builder_.tensor(output).shape;
    operands.resize(3, -1);
    operands.push_back(builder_.constant(layer.name() + "/shape", DType::int32,
                                         {static_cast<std::int32_t>(shape.size())},
                                         std::span<const std::int32_t>(shape)));
  }
  builder_.op(code, std::move(operands), output).attributes = attributes_of(weights, activation);
  if (is_wide(output)) widen_int16_result(weights.depthwise ? 3 : 0);
  return reshaped ? reshape_to(layer, output, layer.output_shape(), suffix) : output;
}

std::int32_t Lowering::linear_and_activation(const Layer& layer, std::int32_t input) {
  const Activation function = layer.activation();
  const bool separate =
      computes_in_codes() && has_separate_clamp(require_weights(layer, owner_text(layer.name())),
                                                function, scheme_->rounding);
  if (!quantizes_before(function) && !separate) {
    return linear(layer, input, fused_activation(function));
  }
  return op(layer, operator_of(function), {linear(layer, input, FusedActivation::none, "/linear")});
}

std::vector<std::int32_t> Lowering::real_weights(const Layer& layer, const LayerWeights& weights) {
  const bool replaced = scheme_ && scheme_->real_kernel.defined();
  const Tensor kernel = (replaced ? scheme_->real_kernel : weights.kernel).detach();
  const auto units = static_cast<std::int32_t>(kernel.dim(-1));
  const Tensor matrix = kernel.reshape({kernel.size() / units, units});
  const Tensor lying = weights.depthwise ? matrix : transpose(matrix);
  std::vector<std::int32_t> constants = {builder_.constant(layer.name() + "/kernel", DType::float32,
                                                           operator_shape(weights), lying.span())};
  if (weights.bias.defined()) {
    constants.push_back(builder_.constant(layer.name() + "/bias", DType::float32, {units},
                                          std::as_const(weights.bias).span()));
  }
  return constants;
}

std::vector<std::int32_t> Lowering::integer_weights(const Layer& layer, const LayerWeights& weights,
                                                    std::int32_t input) {
  const Scheme& scheme = *scheme_;
  if (!scheme.kernel) {
    throw InvalidArgument(
        fmt::format("{} leaves its kernel unquantized", owner_text(scheme.owner)));
  }
  const QuantParams grid = builder_.tensor(input).quantization;
  const std::string owner = owner_text(scheme.owner);
  WeightCodes codes = make_weight_codes(weights, *scheme.kernel, grid.scale(), owner);
  bound_ = std::max(bound_, octet::accumulator_bound(codes, grid, owner));
  const bool wide = is_wide(input);
  const auto units = static_cast<std::int32_t>(weights.kernel.dim(-1));
  std::vector<std::int8_t> kernel = codes.weights.unpack();
  QuantParams params = codes.weight_params;
  if (weights.depthwise) {
    kernel = taps_first(kernel, units);
    params.quantized_dimension = 3;
  }
  std::vector<std::int32_t> constants = {
      builder_.constant(layer.name() + "/kernel", DType::int8, operator_shape(weights),
                        std::span<const std::int8_t>(kernel), std::move(params))};
  // XNNPACK takes no convolution without a bias; of int16 codes, the type of the bias says by
  // which contract runtimes rescale.
  if ((weights.convolution || wide) && codes.bias.empty()) {
    codes.bias.resize(static_cast<std::size_t>(units));
  }
  if (!codes.bias.empty()) {
    QuantParams bias = codes.weight_params;
    for (float& scale : bias.scales) scale *= grid.scale();
    constants.push_back(integer_bias(layer, std::move(codes.bias), std::move(bias), wide));
  }
  return constants;
}

/// Gives the result of the last operator a scale that runtimes take for its sums: that of a layer
/// whose results are all 0 is too small.
void Lowering::widen_int16_result(std::size_t unit_axis) {
  const detail::Operands last(builder_.model(), builder_.model().operators.back());
  const float least = detail::least_int16_scale(last, unit_axis);
  const auto output = static_cast<std::size_t>(last.op.outputs[0]);
  float& scale = builder_.model().tensors[output].quantization.scales[0];
  scale = std::max(scale, least);
}

/// A bias of int32, or of int64 for sums of int16 codes.
std::int32_t Lowering::integer_bias(const Layer& layer, std::vector<std::int32_t> codes,
                                    QuantParams grid, bool wide) {
  const DType type = wide ? DType::int64 : DType::int32;
  std::tie(grid.qmin, grid.qmax) = code_limits(type);
  const std::string name = layer.name() + "/bias";
  const auto units = static_cast<std::int32_t>(codes.size());
  if (!wide) {
    return builder_.constant(name, type, {units}, std::span<const std::int32_t>(codes), grid);
  }
  const std::vector<std::int64_t> numbers(codes.begin(), codes.end());
  return builder_.constant(name, type, {units}, std::span<const std::int64_t>(numbers), grid);
}

}  // namespace octet
