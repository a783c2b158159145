#pragma once

#include <octet/layers/activation_function.h>
#include <octet/layers/layer.h>

namespace octet {

struct SVDFOptions {
  /// How many filters of one unit are added up.
  Index rank = 1;
  /// Causal: zeros stand in front of the first step. Valid: results begin with the first step that
  /// has `memory_size` steps up to itself.
  Padding padding = Padding::causal;
  bool use_bias = true;
  std::string name{};
};

/// A singular value decomposition filter over sequences [steps, features] (Nakkiran et al.,
/// Compressing Deep Neural Networks using a Rank-Constrained Topology, Interspeech 2015): each
/// filter sees one number of every step of time, and weighs those of the last `memory_size` steps.
/// With f_t = x_t A, the number of each filter, and filter i = u rank + r the r-th of unit u:
///
///   y_t[u] = activation(b[u] + sum over r and m of B[m, i] f_{t - memory_size + 1 + m}[i])
///
/// Parameters: "feature_kernel" A [features, units rank], "time_kernel" B [memory_size, units
/// rank], both glorot_uniform, and "bias" [units], 0. The filters stand in the order of TensorFlow
/// Lite's SVDF, whose weights are those transposed. Files hold the operators of the formula, which
/// every runtime and ONNX have: FULLY_CONNECTED, DEPTHWISE_CONV_2D and, for a rank above 1,
/// STRIDED_SLICE and ADD. step_model() makes the model that goes through a sequence step by step.
class SVDF : public Layer {
 public:
  static constexpr std::string_view kType = "SVDF";
  static std::unique_ptr<Layer> make(const Description& description);

  /// Throws InvalidArgument for less than 1 unit, step or rank, for padding same, which looks
  /// ahead, and for an activation that is no clamp.
  SVDF(Index units, Index memory_size, Activation activation = Activation::none,
       SVDFOptions options = {});
  SVDF(const SVDF& other);

  std::string_view type() const override { return kType; }
  std::vector<GraphValue> emit(Graph& graph, std::span<const GraphValue> inputs) const override;
  LayerTensors tensors() const override;
  void describe(Description& description) const override;
  std::unique_ptr<Layer> clone() const override { return std::make_unique<SVDF>(*this); }

 protected:
  void make_tensors(std::span<const Shape> input_shapes, const Random& random) override;

 private:
  Index filters() const { return units_ * options_.rank; }
  LayerWeights over_time() const;

  Index units_;
  Index memory_size_;
  Activation activation_;
  SVDFOptions options_;
  Tensor feature_kernel_;
  Tensor time_kernel_;
  Tensor bias_;
};

}  // namespace octet
