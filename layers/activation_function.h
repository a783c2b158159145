#pragma once

#include <octet/layers/layer.h>
#include <octet/runtime/operator.h>

namespace octet {

/// Activation functions by name. `none` is the identity, Keras's "linear".
enum class Activation { none, relu, relu6, softmax, sigmoid, tanh };

/// Throws InvalidArgument for a value outside the enumeration.
std::string_view to_string(Activation activation);

/// The activation named "none", "linear", "relu", "relu6", "softmax", "sigmoid" or "tanh".
/// Throws InvalidArgument for another name.
Activation parse_activation(std::string_view name);

/// Whether a result is quantized before this activation (softmax, sigmoid, tanh) or after it.
bool quantizes_before(Activation activation);

/// Whether no result is below 0, by a clamp: relu, relu6.
bool clamps_at_zero(Activation activation);

/// The clamp that computes none, relu or relu6. Throws InvalidArgument for softmax, sigmoid and
/// tanh.
FusedActivation fused_activation(Activation activation);

/// The operator that computes `activation` by itself. Throws InvalidArgument for none.
OpCode operator_of(Activation activation);

/// f(x), element by element; softmax over the last axis.
Tensor apply_activation(Activation activation, const Tensor& x);

/// x clamped as the activation of an operator clamps its result.
Tensor apply_activation(FusedActivation clamp, const Tensor& x);

/// f(x) as a layer gives it that ends in f: x itself for a softmax where `context` wants logits. A
/// sigmoid's result then has x with it, for binary_cross_entropy().
Tensor apply_activation(Activation activation, const Tensor& x, const ForwardContext& context);

/// Gives `y`, the sigmoid of x, its logits where `context` wants them; nothing for another
/// function.
void keep_logits(Activation activation, Tensor& y, const Tensor& x, const ForwardContext& context);

}  // namespace octet
