#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/core/ops/shape_ops.h>
#include <octet/deploy/lower.h>
#include <octet/layers/dense.h>
#include <octet/layers/dropout.h>
#include <octet/layers/quantize/annotated_layer.h>
#include <octet/layers/quantize/dense_codes.h>
#include <octet/layers/reshape.h>
#include <octet/runtime/model_builder.h>

namespace octet {
namespace {

std::int32_t add_dense(ModelBuilder& builder, const Dense& dense, std::int32_t input) {
  const auto units = static_cast<std::int32_t>(dense.units());
  const auto inputs = static_cast<std::int32_t>(dense.input_shape()[0]);
  const Tensor kernel = transpose(dense.kernel().detach());
  const std::int32_t weights = builder.constant(dense.name() + "/kernel", DType::float32,
                                                {units, inputs}, std::as_const(kernel).span());
  std::vector<std::int32_t> operands = {input, weights};
  if (dense.bias().defined()) {
    operands.push_back(
        builder.constant(dense.name() + "/bias", DType::float32, {units}, dense.bias().span()));
  }
  const bool separate = quantizes_before(dense.activation());
  const std::int32_t output = builder.activation(separate ? dense.name() + "/linear" : dense.name(),
                                                 DType::float32, dense.output_shape());
  builder.op(OpCode::fully_connected, operands, output,
             FullyConnectedAttributes{.activation = fused_activation(dense.activation())});
  return output;
}

std::int32_t add_activation(ModelBuilder& builder, Activation activation, const Layer& layer,
                            std::int32_t input) {
  const auto code = [activation] {
    switch (activation) {
      case Activation::relu:
        return OpCode::relu;
      case Activation::relu6:
        return OpCode::relu6;
      case Activation::sigmoid:
        return OpCode::logistic;
      case Activation::tanh:
        return OpCode::tanh;
      case Activation::softmax:
      case Activation::none:
        break;
    }
    return OpCode::softmax;
  }();
  const std::int32_t output =
      builder.activation(layer.name(), DType::float32, layer.output_shape());
  builder.op(code, {input}, output);
  return output;
}

/// The tensor that holds the layer's result, given the one it reads.
std::int32_t add_layer(ModelBuilder& builder, const Layer& layer, std::int32_t input) {
  if (const auto* marked = dynamic_cast<const AnnotatedLayer*>(&layer)) {
    return add_layer(builder, marked->wrapped(), input);
  }
  if (const auto* dense = dynamic_cast<const Dense*>(&layer)) {
    const std::int32_t linear = add_dense(builder, *dense, input);
    return quantizes_before(dense->activation())
               ? add_activation(builder, dense->activation(), layer, linear)
               : linear;
  }
  if (const auto* activation = dynamic_cast<const ActivationLayer*>(&layer)) {
    return activation->activation() == Activation::none
               ? input
               : add_activation(builder, activation->activation(), layer, input);
  }
  if (dynamic_cast<const Reshape*>(&layer) != nullptr) {
    if (layer.input_shape() == layer.output_shape()) return input;
    const std::int32_t output =
        builder.activation(layer.name(), DType::float32, layer.output_shape());
    builder.reshape(layer.name(), input, output, layer.output_shape());
    return output;
  }
  if (dynamic_cast<const Dropout*>(&layer) != nullptr) return input;
  throw InvalidArgument(fmt::format(
      "lower_float: layer \"{}\" of type {} has no float operator; is the model quantized? Then "
      "use lower()",
      layer.name(), layer.type()));
}

}  // namespace

IntegerModel lower_float(const Sequential& model) {
  if (!model.built()) {
    throw InvalidArgument(fmt::format("lower_float: model \"{}\" is not built", model.name()));
  }
  ModelBuilder builder(model.name());
  std::int32_t current =
      builder.activation(model.layers().front()->name(), DType::float32, model.input_shape());
  builder.model().inputs = {current};
  for (std::size_t i = 1; i < model.layers().size(); ++i) {
    current = add_layer(builder, *model.layers()[i], current);
  }
  builder.model().outputs = {current};
  builder.model().description = "octet float model";
  builder.model().validate();
  return std::move(builder.model());
}

}  // namespace octet
