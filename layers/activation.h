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

/// y = f(x) as a layer of its own. The type shows as "Activation", or "ReLU", "ReLU6", "Softmax"
/// when made by the functions below.
class ActivationLayer : public Layer {
 public:
  static constexpr std::string_view kType = "Activation";
  static std::unique_ptr<Layer> make(const Description& description);

  explicit ActivationLayer(Activation activation, std::string name = "");

  std::string_view type() const override { return type_; }
  Activation activation() const override { return activation_; }
  std::vector<GraphValue> emit(Graph& graph, std::span<const GraphValue> inputs) const override;
  void describe(Description& description) const override;
  std::unique_ptr<Layer> clone() const override;

 protected:
  ActivationLayer(Activation activation, std::string_view type, std::string name)
      : Layer(std::move(name)), activation_(activation), type_(type) {}
  Shape do_build(const Shape& input_shape, const Random& random) override;

 private:
  Activation activation_;
  std::string_view type_;
};

/// Whether a layer is its activation and nothing else.
bool is_activation(const Layer& layer);

/// max(x, 0).
class ReLU : public ActivationLayer {
 public:
  static constexpr std::string_view kType = "ReLU";
  static std::unique_ptr<Layer> make(const Description& description);

  explicit ReLU(std::string name = "")
      : ActivationLayer(Activation::relu, kType, std::move(name)) {}
  std::unique_ptr<Layer> clone() const override { return std::make_unique<ReLU>(*this); }
};

/// min(max(x, 0), 6).
class ReLU6 : public ActivationLayer {
 public:
  static constexpr std::string_view kType = "ReLU6";
  static std::unique_ptr<Layer> make(const Description& description);

  explicit ReLU6(std::string name = "")
      : ActivationLayer(Activation::relu6, kType, std::move(name)) {}
  std::unique_ptr<Layer> clone() const override { return std::make_unique<ReLU6>(*this); }
};

/// exp(x_i) / sum over j of exp(x_j), over the last axis.
class Softmax : public ActivationLayer {
 public:
  static constexpr std::string_view kType = "Softmax";
  static std::unique_ptr<Layer> make(const Description& description);

  explicit Softmax(std::string name = "")
      : ActivationLayer(Activation::softmax, kType, std::move(name)) {}
  std::unique_ptr<Layer> clone() const override { return std::make_unique<Softmax>(*this); }
};

}  // namespace octet
