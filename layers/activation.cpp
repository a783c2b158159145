#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/core/ops/activation.h>
#include <octet/layers/activation.h>

#include <array>
#include <utility>

namespace octet {
namespace {

constexpr std::array<std::pair<std::string_view, Activation>, 7> kNames = {
    {{"none", Activation::none},
     {"relu", Activation::relu},
     {"relu6", Activation::relu6},
     {"softmax", Activation::softmax},
     {"sigmoid", Activation::sigmoid},
     {"tanh", Activation::tanh},
     {"linear", Activation::none}}};

}  // namespace

std::string_view to_string(Activation activation) {
  for (const auto& [name, value] : kNames) {
    if (value == activation) return name;
  }
  return "unknown";
}

Activation parse_activation(std::string_view name) {
  for (const auto& [known, value] : kNames) {
    if (known == name) return value;
  }
  throw InvalidArgument(fmt::format(
      "activation: expected none, linear, relu, relu6, softmax, sigmoid or tanh, found \"{}\"",
      name));
}

bool quantizes_before(Activation activation) {
  return activation == Activation::softmax || activation == Activation::sigmoid ||
         activation == Activation::tanh;
}

FusedActivation fused_activation(Activation activation) {
  if (activation == Activation::relu) return FusedActivation::relu;
  if (activation == Activation::relu6) return FusedActivation::relu6;
  return FusedActivation::none;
}

Tensor apply_activation(Activation activation, const Tensor& x) {
  switch (activation) {
    case Activation::none:
      return x;
    case Activation::relu:
      return relu(x);
    case Activation::relu6:
      return relu6(x);
    case Activation::softmax:
      return softmax(x);
    case Activation::sigmoid:
      return sigmoid(x);
    case Activation::tanh:
      return tanh(x);
  }
  throw InvalidArgument("activation: a value outside the enumeration");
}

ActivationLayer::ActivationLayer(Activation activation, std::string name)
    : ActivationLayer(activation, "Activation", std::move(name)) {}

Tensor ActivationLayer::forward(const Tensor& x, const ForwardContext& /*context*/) {
  return apply_activation(activation_, x);
}

Tensor ActivationLayer::forward_logits(const Tensor& x, const ForwardContext& context) {
  return ends_in_softmax() ? x : forward(x, context);
}

std::unique_ptr<Layer> ActivationLayer::clone() const {
  return std::make_unique<ActivationLayer>(*this);
}

Shape ActivationLayer::do_build(const Shape& input_shape, const Random& /*random*/) {
  return input_shape;
}

}  // namespace octet
