#include <fmt/format.h>
#include <octet/import/onnx/channels.h>
#include <octet/layers/activation.h>
#include <octet/layers/hard_swish.h>
#include <octet/layers/leaky_relu.h>
#include <octet/layers/prelu.h>
#include <octet/layers/smooth_activations.h>

namespace octet::detail::onnx_import {
namespace {

/// A function of each element of the node's input.
Imported add_elementwise(Builder& builder, const Node& node, std::unique_ptr<Layer> layer,
                         bool not_negative) {
  return elementwise(builder, node, std::move(layer), builder.value(node, 0), not_negative);
}

Imported import_relu(Builder& builder, const Node& node) {
  return add_elementwise(builder, node, std::make_unique<ReLU>(), true);
}

Imported import_leaky_relu(Builder& builder, const Node& node) {
  return add_elementwise(builder, node, std::make_unique<LeakyReLU>(node.real("alpha", 0.01F)),
                         false);
}

/// A Cast to float, of values that are floats in the model.
Imported import_cast(Builder& builder, const Node& node) {
  constexpr std::int64_t kFloat = 1;
  const std::int64_t to = node.integer("to", 0);
  if (to != kFloat) refuse("expected a Cast to float (1), found one to type {}", to);
  return builder.value(node, 0);
}

/// One slope for all, or one for each channel.
Imported import_prelu(Builder& builder, const Node& node) {
  const Constant& slope = builder.required_constant(node, 1);
  const Imported x = with_channels(builder, node, builder.value(node, 0), slope);
  return elementwise(builder, node, std::make_unique<PReLU>(), x, false,
                     {{"alpha", channels_of(slope, x)}});
}

Imported import_sigmoid(Builder& builder, const Node& node) {
  return add_elementwise(builder, node, std::make_unique<ActivationLayer>(Activation::sigmoid),
                         true);
}

Imported import_tanh(Builder& builder, const Node& node) {
  return add_elementwise(builder, node, std::make_unique<ActivationLayer>(Activation::tanh), false);
}

Imported import_gelu(Builder& builder, const Node& node) {
  const bool approximate = node.text("approximate", "none") == "tanh";
  return add_elementwise(builder, node,
                         std::make_unique<GELU>(GELUOptions{.approximate = approximate}), false);
}

Imported import_hard_swish(Builder& builder, const Node& node) {
  return add_elementwise(builder, node, std::make_unique<HardSwish>(), false);
}

Imported import_exp(Builder& builder, const Node& node) {
  return function_of(builder, node, UnaryFunction::exp, builder.value(node, 0));
}

Imported import_log(Builder& builder, const Node& node) {
  return function_of(builder, node, UnaryFunction::log, builder.value(node, 0));
}

Imported import_sqrt(Builder& builder, const Node& node) {
  return function_of(builder, node, UnaryFunction::sqrt, builder.value(node, 0));
}

/// Octet's is over the last axis of the model. Before opset 13, ONNX's is over `axis` and all
/// behind it.
Imported import_softmax(Builder& builder, const Node& node) {
  const Imported given = builder.ordered(node, builder.value(node, 0));
  const bool old = builder.opset() < 13;
  const Index axis = example_axis(node.integer("axis", old ? 1 : -1), given);
  Imported x = given;
  if (old && axis < given.logical.rank() - 1) {
    if (given.batch != BatchPlace{}) {
      refuse("expected the batch to stay in front, found {}", written(given.onnx_extents()));
    }
    std::vector<Index> extents(given.logical.begin(), given.logical.begin() + axis);
    extents.push_back(given.logical.size() / Shape(extents).size());
    x = builder.ordered(node, builder.reshaped(node, given, Shape(std::move(extents))));
  }
  x = with_axis_last(builder, node, x, axis);
  const Imported y = elementwise(builder, node, std::make_unique<Softmax>(), x, true);
  return builder.reshaped(node, y, given.logical);
}

Imported import_log_softmax(Builder& builder, const Node& node) {
  return function_of(builder, node, UnaryFunction::log,
                     import_softmax(builder, part_of(node, "/softmax")));
}

constexpr std::array<Operator, 13> kActivations = {{{"Cast", import_cast},
                                                    {"Exp", import_exp},
                                                    {"Gelu", import_gelu},
                                                    {"HardSwish", import_hard_swish},
                                                    {"LeakyRelu", import_leaky_relu},
                                                    {"Log", import_log},
                                                    {"LogSoftmax", import_log_softmax},
                                                    {"PRelu", import_prelu},
                                                    {"Relu", import_relu},
                                                    {"Sigmoid", import_sigmoid},
                                                    {"Softmax", import_softmax},
                                                    {"Sqrt", import_sqrt},
                                                    {"Tanh", import_tanh}}};

}  // namespace

std::span<const Operator> activation_operators() { return kActivations; }

}  // namespace octet::detail::onnx_import
