// How Lowering appends the operators of layers with weights.

#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/ops/shape_ops.h>
#include <octet/core/tensor_internal.h>
#include <octet/layers/activation_function.h>
#include <octet/layers/program/linear_operator.h>
#include <octet/layers/program/lowering.h>
#include <octet/layers/quantize/quantize_config.h>
#include <octet/layers/quantize/quantize_tensor.h>
#include <octet/layers/quantize/weight_codes.h>
#include <octet/runtime/operators/int16_sums.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

namespace octet {
namespace {

/// Returns the attributes of CONV_2D, DEPTHWISE_CONV_2D or TRANSPOSE_CONV, which has no dilation.
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

/// `rank` is that of what the operator reads, the batch included.
OperatorAttributes attributes_of(const LayerWeights& weights, FusedActivation activation,
                                 std::size_t rank) {
  if (!weights.convolution) {
    return FullyConnectedAttributes{.activation = activation, .keep_num_dims = rank > 2};
  }
  const Conv2DOptions& options = *weights.convolution;
  if (weights.transposed) return window_attributes<TransposeConvAttributes>(options, activation);
  if (!weights.depthwise) return window_attributes<Conv2DAttributes>(options, activation);
  auto attributes = window_attributes<DepthwiseConv2DAttributes>(options, activation);
  attributes.depth_multiplier = static_cast<std::int32_t>(weights.kernel.dim(-1) / options.groups);
  return attributes;
}

std::string kernel_name(const Step& step) {
  return step.weights_name.empty() ? "kernel" : step.weights_name;
}

std::string bias_name(const Step& step) {
  return step.weights_name.empty() ? "bias" : step.weights_name + "_bias";
}

std::vector<std::int32_t> extents_of(const Tensor& tensor) {
  std::vector<std::int32_t> extents;
  for (Index axis = 0; axis < tensor.rank(); ++axis) {
    extents.push_back(static_cast<std::int32_t>(tensor.dim(axis)));
  }
  return extents;
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

std::int32_t Lowering::linear(const Current& now, std::int32_t input) {
  const Layer& layer = *now.step.layer;
  LayerWeights weights = now.step.weights ? now.step.weights() : require_weights(layer, now.owner);
  if (now.step.weights) {
    require_operator_weights(weights, tensor(input).example_shape(), now.result.shape, now.owner);
  }
  const bool separate = now.on_integers && has_separate_clamp(weights, now.step.clamp,
                                                              now.step.scheme->options->rounding);
  std::int32_t read = now.on_integers ? input : reals_of(input);
  if (weights.convolution && weights.convolution->padding == Padding::causal) {
    read = with_zeros(now, read, zeros_in_front(weights));
    weights.convolution->padding = Padding::valid;
  }
  const std::int32_t output = result(now, {&read, 1}, separate ? "/linear" : "");
  std::vector<std::int32_t> operands = {read};
  const auto constants =
      now.on_integers ? integer_weights(now, weights, read) : real_weights(now, weights);
  operands.insert(operands.end(), constants.begin(), constants.end());
  if (weights.transposed) {
    const std::vector<std::int32_t> shape = builder_.tensor(output).shape;
    operands.resize(3, -1);
    operands.push_back(builder_.constant(layer.name() + "/shape", DType::int32,
                                         {static_cast<std::int32_t>(shape.size())},
                                         std::span<const std::int32_t>(shape)));
  }
  const FusedActivation clamp = separate ? FusedActivation::none : now.step.clamp;
  builder_.op(now.step.code, std::move(operands), output).attributes =
      attributes_of(weights, clamp, builder_.tensor(read).shape.size());
  if (is_wide(output)) widen_int16_result(weights.depthwise ? 3 : 0);
  if (!separate) return output;
  const std::int32_t clamped = result(now, {&read, 1}, "");
  builder_.op(operator_of(layer.activation()), {output}, clamped);
  return clamped;
}

/// Images with rows and columns of zeros in front, by a PAD; the images themselves for none.
std::int32_t Lowering::with_zeros(const Current& now, std::int32_t images, const Padding2D& zeros) {
  if (zeros == Padding2D{}) return images;
  const Shape shape = tensor(images).example_shape();
  const std::string name = now.result.name() + "/padded";
  const std::int32_t padded = builder_.activation(
      name, tensor(images).dtype, {zeros.top + shape[0], zeros.left + shape[1], shape[2]},
      tensor(images).quantization);
  const std::array numbers = {
      0, 0, static_cast<std::int32_t>(zeros.top), 0, static_cast<std::int32_t>(zeros.left), 0,
      0, 0};
  builder_.op(OpCode::pad,
              {images, builder_.constant(name + "/paddings", DType::int32, {4, 2},
                                         std::span<const std::int32_t>(numbers))},
              padded);
  return padded;
}

/// A constant named after the layer and `name`: one for all steps of the layer that read the same
/// values.
template <class T>
std::int32_t Lowering::shared_constant(const Current& now, const std::string& name, DType dtype,
                                       std::vector<std::int32_t> shape, std::span<const T> values,
                                       QuantParams params) {
  std::vector<std::int32_t>& made = constants_[{now.step.layer, name}];
  const auto bytes = std::as_bytes(values);
  for (const std::int32_t index : made) {
    const ModelTensor& constant = tensor(index);
    if (constant.dtype == dtype && constant.quantization == params &&
        std::ranges::equal(std::as_bytes(std::span(constant.data)), bytes)) {
      return index;
    }
  }
  std::string full = now.step.layer->name() + "/" + name;
  if (!made.empty()) full += fmt::format("/{}", made.size());
  made.push_back(
      builder_.constant(std::move(full), dtype, std::move(shape), values, std::move(params)));
  return made.back();
}

std::int32_t Lowering::quantized_constant(std::string name, const Tensor& parameter) {
  const QuantParams& params = *parameter.quantization();
  const detail::StoredIntegers integers = integers_of(parameter, params);
  const auto size = static_cast<std::size_t>(parameter.size());
  if (const auto* values = integers.as<std::int16_t>()) {
    return builder_.constant(std::move(name), DType::int16, extents_of(parameter),
                             std::span(values, size), params);
  }
  return builder_.constant(std::move(name), DType::int8, extents_of(parameter),
                           std::span(integers.as<std::int8_t>(), size), params);
}

/// Returns the constant of a step of kind parameter: one for all uses of its layer.
std::int32_t Lowering::parameter(const Current& now) {
  const auto [at, is_new] = parameters_.try_emplace({now.step.layer, now.step.weights_name});
  if (!is_new) return at->second;
  const StepScheme* scheme = now.step.scheme.get();
  const Tensor values = parameter_of(now.step).detach();
  const bool is_quantized = scheme != nullptr && scheme->result != nullptr;
  at->second =
      is_quantized
          ? quantized_constant(now.result.name(), scheme->result->quantize_dequantize(values))
          : builder_.constant(now.result.name(), DType::float32, extents_of(values), values.span());
  return at->second;
}

std::vector<std::int32_t> Lowering::real_weights(const Current& now, const LayerWeights& weights) {
  const StepScheme* scheme = now.step.scheme.get();
  const bool simulates = scheme != nullptr && scheme->kernel != nullptr;
  const Tensor kernel = simulates ? scheme->kernel->fake_quant(weights.kernel.detach()).detach()
                                  : weights.kernel.detach();
  const auto units = static_cast<std::int32_t>(kernel.dim(-1));
  const Tensor matrix = kernel.reshape({kernel.size() / units, units});
  const Tensor lying = weights.depthwise ? matrix : transpose(matrix);
  std::vector<std::int32_t> constants = {shared_constant(now, kernel_name(now.step), DType::float32,
                                                         operator_shape(weights), lying.span())};
  if (weights.bias.defined()) {
    constants.push_back(
        shared_constant(now, bias_name(now.step), DType::float32, {units}, weights.bias.span()));
  }
  return constants;
}

std::vector<std::int32_t> Lowering::integer_weights(const Current& now, const LayerWeights& weights,
                                                    std::int32_t input) {
  const QuantParams read = builder_.tensor(input).quantization;
  WeightCodes codes =
      make_weight_codes(weights, now.step.scheme->kernel->params(), read.scale(), now.owner);
  bound_ = std::max(bound_, octet::accumulator_bound(codes, read, now.owner));
  const bool wide = is_wide(input);
  const auto units = static_cast<std::int32_t>(weights.kernel.dim(-1));
  std::vector<std::int8_t> kernel = codes.weights.unpack();
  QuantParams params = codes.weight_params;
  if (weights.depthwise) {
    kernel = taps_first(kernel, units);
    params.quantized_dimension = 3;
  }
  std::vector<std::int32_t> constants = {
      shared_constant(now, kernel_name(now.step), DType::int8, operator_shape(weights),
                      std::span<const std::int8_t>(kernel), std::move(params))};
  // XNNPACK takes no convolution without a bias; of int16 codes, the type of the bias says by
  // which contract runtimes rescale.
  if ((weights.convolution || wide) && codes.bias.empty()) {
    codes.bias.resize(static_cast<std::size_t>(units));
  }
  if (!codes.bias.empty()) {
    QuantParams bias = codes.weight_params;
    for (float& scale : bias.scales) scale *= read.scale();
    constants.push_back(
        integer_bias(now, bias_name(now.step), std::move(codes.bias), std::move(bias), wide));
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
std::int32_t Lowering::integer_bias(const Current& now, const std::string& name,
                                    std::vector<std::int32_t> codes, QuantParams grid, bool wide) {
  const DType type = wide ? DType::int64 : DType::int32;
  std::tie(grid.qmin, grid.qmax) = integer_limits(type);
  const auto units = static_cast<std::int32_t>(codes.size());
  if (!wide) {
    return shared_constant(now, name, type, {units}, std::span<const std::int32_t>(codes), grid);
  }
  const std::vector<std::int64_t> numbers(codes.begin(), codes.end());
  return shared_constant(now, name, type, {units}, std::span<const std::int64_t>(numbers), grid);
}

}  // namespace octet
