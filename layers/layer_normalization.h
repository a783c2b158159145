#pragma once

#include <octet/layers/layer.h>

namespace octet {

struct LayerNormalizationOptions {
  /// What is added to the variance.
  float epsilon = 1e-3F;
  /// Whether a bias of each feature is learned, and a factor.
  bool center = true;
  bool scale = true;
  std::string name{};
};

/// What LayerNormalization and RMSNormalization have in common: examples [.., features], of which
/// each row of features is divided by the root of the mean of its squares.
///
/// The operators are sums with the constant weights 1 / features, so that a mean is rounded once,
/// MUL, RSQRT and a depthwise convolution by 1 x 1. RSQRT reads values of which none is below 0:
/// scales whose zero point is learned, as LSQ+ learns it, are refused when they move it.
class RowNormalization : public Layer {
 public:
  std::vector<GraphValue> emit(Graph& graph, std::span<const GraphValue> inputs) const override;
  LayerTensors tensors() const override;

 protected:
  enum class Mean { kept, subtracted };

  /// Throws InvalidArgument unless epsilon is finite and above 0.
  RowNormalization(std::string_view type, Mean mean, LayerNormalizationOptions options);
  RowNormalization(const RowNormalization& other);
  const LayerNormalizationOptions& options() const { return options_; }
  void make_tensors(std::span<const Shape> input_shapes, const Random& random) override;

 private:
  LayerWeights affine() const;
  GraphValue mean_of(Graph& graph, GraphValue x, std::string_view name, float bias) const;

  Mean mean_;
  LayerNormalizationOptions options_;
  /// [features]; undefined where they are not learned.
  Tensor gamma_;
  Tensor beta_;
};

/// Normalizes each row of features, as in Keras (Ba et al., Layer Normalization, 2016):
///
///   y = gamma (x - mean(x)) / sqrt(variance(x) + epsilon) + beta
///
/// of examples [.., features], mean and variance over the features. Parameters: "gamma" and "beta"
/// [features], at first 1 and 0. RowNormalization says how it is computed on integers.
class LayerNormalization : public RowNormalization {
 public:
  static constexpr std::string_view kType = "LayerNormalization";
  static std::unique_ptr<Layer> make(const Description& description);

  /// Throws InvalidArgument unless epsilon is finite and above 0.
  explicit LayerNormalization(LayerNormalizationOptions options = {})
      : RowNormalization(kType, Mean::subtracted, std::move(options)) {}

  std::string_view type() const override { return kType; }
  void describe(Description& description) const override;
  std::unique_ptr<Layer> clone() const override {
    return std::make_unique<LayerNormalization>(*this);
  }
};

struct RMSNormalizationOptions {
  /// What is added to the mean of the squares.
  float epsilon = 1e-6F;
  std::string name{};
};

/// Divides each row of features by its root mean square, as in Keras (Zhang and Sennrich, Root Mean
/// Square Layer Normalization, 2019): y = gamma x / sqrt(mean(x^2) + epsilon) of examples
/// [.., features]. Parameter: "gamma" [features], at first 1. RowNormalization says how it is
/// computed on integers.
class RMSNormalization : public RowNormalization {
 public:
  static constexpr std::string_view kType = "RMSNormalization";
  static std::unique_ptr<Layer> make(const Description& description);

  /// Throws InvalidArgument unless epsilon is finite and above 0.
  explicit RMSNormalization(RMSNormalizationOptions options = {})
      : RowNormalization(
            kType, Mean::kept,
            {.epsilon = options.epsilon, .center = false, .name = std::move(options.name)}) {}

  std::string_view type() const override { return kType; }
  void describe(Description& description) const override;
  std::unique_ptr<Layer> clone() const override {
    return std::make_unique<RMSNormalization>(*this);
  }
};

}  // namespace octet
