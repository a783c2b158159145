#pragma once

#include <octet/layers/activation_function.h>

namespace octet {

/// y = f(x) as a layer of its own. The type shows as "Activation", or "ReLU", "ReLU6", "Softmax"
/// when made by the functions below.
class ActivationLayer : public Layer {
 public:
  static constexpr std::string_view kType = "Activation";
  static std::unique_ptr<Layer> make(const Description& description);

  explicit ActivationLayer(Activation activation, std::string name = "");

  std::string_view type() const override { return type_; }
  std::vector<GraphValue> emit(Graph& graph, std::span<const GraphValue> inputs) const override;
  void describe(Description& description) const override;
  std::unique_ptr<Layer> clone() const override;

 protected:
  ActivationLayer(Activation activation, std::string_view type, std::string name)
      : Layer(std::move(name)), type_(type) {
    set_activation(activation);
  }

 private:
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
