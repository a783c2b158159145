#pragma once

#include <octet/layers/layer.h>

// Activations of one value that become a byte table on integers, or a product with one.

namespace octet {

/// y = x above 0, e^x - 1 below; the gradient is 1 above 0 and e^x below. (Clevert et al., Fast and
/// Accurate Deep Network Learning by Exponential Linear Units, 2015; Keras' ELU with alpha 1, the
/// only one that .tflite files have.)
class ELU : public Layer {
 public:
  static constexpr std::string_view kType = "ELU";
  static std::unique_ptr<Layer> make(const Description& description);

  explicit ELU(std::string name = "") : Layer(std::move(name)) {}

  std::string_view type() const override { return kType; }
  std::vector<GraphValue> emit(Graph& graph, std::span<const GraphValue> inputs) const override;
  std::unique_ptr<Layer> clone() const override { return std::make_unique<ELU>(*this); }
};

struct GELUOptions {
  /// Whether 0.5 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) stands for P(X <= x).
  bool approximate = false;
  std::string name{};
};

/// y = x P(X <= x) of a standard normal X, 0.5 x (1 + erf(x / sqrt(2))), as Keras' gelu. (Hendrycks
/// and Gimpel, Gaussian Error Linear Units, 2016.) TFLite Micro has no operator for it; SiLU is
/// near it and runs everywhere.
class GELU : public Layer {
 public:
  static constexpr std::string_view kType = "GELU";
  static std::unique_ptr<Layer> make(const Description& description);

  explicit GELU(GELUOptions options = {})
      : Layer(std::move(options.name)), approximate_(options.approximate) {}

  std::string_view type() const override { return kType; }
  std::vector<GraphValue> emit(Graph& graph, std::span<const GraphValue> inputs) const override;
  void describe(Description& description) const override;
  std::unique_ptr<Layer> clone() const override { return std::make_unique<GELU>(*this); }

 private:
  bool approximate_;
};

/// y = x sigmoid(x), as Keras' silu, also called swish. (Elfwing et al., Sigmoid-Weighted Linear
/// Units, 2017.) The operators are a LOGISTIC and a MUL.
class SiLU : public Layer {
 public:
  static constexpr std::string_view kType = "SiLU";
  static std::unique_ptr<Layer> make(const Description& description);

  explicit SiLU(std::string name = "") : Layer(std::move(name)) {}

  std::string_view type() const override { return kType; }
  std::vector<GraphValue> emit(Graph& graph, std::span<const GraphValue> inputs) const override;
  std::unique_ptr<Layer> clone() const override { return std::make_unique<SiLU>(*this); }
};

}  // namespace octet
