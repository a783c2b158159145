#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/ops/activation.h>
#include <octet/core/ops/elementwise.h>
#include <octet/core/tensor_internal.h>
#include <octet/layers/activation_function.h>

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

[[noreturn]] void fail_unknown() {
  throw InvalidArgument("activation: a value outside the enumeration");
}

}  // namespace

std::string_view to_string(Activation activation) {
  for (const auto& [name, value] : kNames) {
    if (value == activation) return name;
  }
  fail_unknown();
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
  switch (activation) {
    case Activation::softmax:
    case Activation::sigmoid:
    case Activation::tanh:
      return true;
    case Activation::none:
    case Activation::relu:
    case Activation::relu6:
      return false;
  }
  fail_unknown();
}

bool clamps_at_zero(Activation activation) {
  return !quantizes_before(activation) && real_limits(fused_activation(activation)).lo == 0.0F;
}

FusedActivation fused_activation(Activation activation) {
  switch (activation) {
    case Activation::relu:
      return FusedActivation::relu;
    case Activation::relu6:
      return FusedActivation::relu6;
    case Activation::none:
      return FusedActivation::none;
    case Activation::softmax:
    case Activation::sigmoid:
    case Activation::tanh:
      throw InvalidArgument(fmt::format(
          "activation: expected none, relu or relu6, found {}, which no operator computes "
          "along with its own result",
          to_string(activation)));
  }
  fail_unknown();
}

OpCode operator_of(Activation activation) {
  switch (activation) {
    case Activation::relu:
      return OpCode::relu;
    case Activation::relu6:
      return OpCode::relu6;
    case Activation::softmax:
      return OpCode::softmax;
    case Activation::sigmoid:
      return OpCode::logistic;
    case Activation::tanh:
      return OpCode::tanh;
    case Activation::none:
      throw InvalidArgument("activation: none has no operator");
  }
  fail_unknown();
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
  fail_unknown();
}

Tensor apply_activation(FusedActivation clamp_by, const Tensor& x) {
  switch (clamp_by) {
    case FusedActivation::none:
      return x;
    case FusedActivation::relu:
      return relu(x);
    case FusedActivation::relu6:
      return relu6(x);
    case FusedActivation::relu_n1_to_1:
      return clamp(x, -1.0F, 1.0F);
  }
  fail_unknown();
}

Tensor apply_activation(Activation activation, const Tensor& x, const ForwardContext& context) {
  if (context.logits && activation == Activation::softmax) return x;
  Tensor y = apply_activation(activation, x);
  keep_logits(activation, y, x, context);
  return y;
}

void keep_logits(Activation activation, Tensor& y, const Tensor& x, const ForwardContext& context) {
  if (!context.logits || activation != Activation::sigmoid) return;
  detail::TensorAccess::set_logits(y, x);
}

}  // namespace octet
