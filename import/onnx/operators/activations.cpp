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
  return elementwise(builder, node, std::move(layer), builder.input(node, 0), not_negative);
}

Imported import_relu(Builder& builder, const Node& node) {
  return add_elementwise(builder, node, std::make_unique<ReLU>(), true);
}

Imported import_leaky_relu(Builder& builder, const Node& node) {
  return add_elementwise(builder, node, std::make_unique<LeakyReLU>(node.real("alpha", 0.01F)),
                         false);
}

/// One slope for all, or one for each channel.
Imported import_prelu(Builder& builder, const Node& node) {
  const Constant& slope = builder.required_constant(node, 1);
  const Imported& given = builder.input(node, 0);
  const Imported x = with_channels(builder, node, given, slope);
  if (x.axes != given.axes) {
    refuse("expected one slope, or one for each channel of {}, found {}", given.logical.to_string(),
           slope.shape.to_string());
  }
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

/// Octet's is over the last axis of the model. Before opset 13, ONNX's is over `axis` and all
/// behind it.
Imported import_softmax(Builder& builder, const Node& node) {
  const Imported& x = builder.input(node, 0);
  const bool old = builder.opset() < 13;
  const Index rank = x.logical.rank() + 1;
  Index axis = node.integer("axis", old ? 1 : -1);
  if (axis < 0) axis += rank;
  bool behind = true;
  for (Index i = axis; i + 1 < rank && i >= 0; ++i) behind = behind && x.logical[i] == 1;
  if (axis < 1 || axis >= rank || x.axes.back() != axis - 1 || (old && !behind)) {
    refuse(
        "expected a softmax over features, or over the channels of images, found one over axis "
        "{} of [batch, {}]",
        axis, fmt::join(x.logical, ", "));
  }
  return add_elementwise(builder, node, std::make_unique<Softmax>(), true);
}

constexpr std::array<Operator, 8> kActivations = {{{"Gelu", import_gelu},
                                                   {"HardSwish", import_hard_swish},
                                                   {"LeakyRelu", import_leaky_relu},
                                                   {"PRelu", import_prelu},
                                                   {"Relu", import_relu},
                                                   {"Sigmoid", import_sigmoid},
                                                   {"Softmax", import_softmax},
                                                   {"Tanh", import_tanh}}};

}  // namespace

std::span<const Operator> activation_operators() { return kActivations; }

}  // namespace octet::detail::onnx_import
