#pragma once

#include <octet/core/ops/batch_norm.h>
#include <octet/layers/layer.h>

namespace octet {

struct BatchNormOptions {
  /// What the moving statistics keep of themselves at each step, 0 to 1. (PyTorch calls 1 -
  /// momentum the momentum.)
  float momentum = 0.99F;
  /// Added to the variance, above 0.
  float epsilon = 1e-3F;
  std::string name{};
};

/// Batch normalization over the last axis of examples [..., c]:
///
///     y = gamma (x - mean) / sqrt(variance + epsilon) + beta
///
/// "gamma" and "beta" [c] are parameters and start at 1 and 0. Training normalizes by the mean and
/// the biased variance of the batch, and moves the statistics "moving_mean" and "moving_variance"
/// [c], which start at 0 and 1:
///
///     moving += (1 - momentum) (of the batch - moving)
///
/// Into the moving variance goes the unbiased one, over n - 1 of the n values of a channel, as in
/// TensorFlow's fused kernel and in PyTorch; Keras 3, and Keras 2 behind Dense, take the biased
/// one. Of a single value it is 0, and the result beta: the first such batch is told by a warning
/// in the log. Inference and calibration normalize by the moving statistics. So
/// does training where the layer is frozen by set_trainable(false), which keeps them still, as in
/// Keras. (Ioffe and Szegedy, Batch Normalization, 2015; defaults as in Keras.)
class BatchNorm final : public Layer {
 public:
  static constexpr std::string_view kType = "BatchNorm";
  static std::unique_ptr<BatchNorm> make(const Description& description);

  /// Throws InvalidArgument for a momentum outside [0, 1] and for an epsilon that is not a finite
  /// number above 0.
  explicit BatchNorm(BatchNormOptions options = {});

  std::string_view type() const override { return kType; }
  float momentum() const { return options_.momentum; }
  float epsilon() const { return options_.epsilon; }
  const Tensor& gamma() const { return gamma_; }
  const Tensor& beta() const { return beta_; }
  const Tensor& moving_mean() const { return moving_mean_; }
  const Tensor& moving_variance() const { return moving_variance_; }
  ChannelStatistics moving_statistics() const { return {moving_mean_, moving_variance_}; }
  /// Moves the statistics by those of a batch of `values` values per channel; the variance is the
  /// biased one.
  void move_statistics(const ChannelStatistics& batch, Index values) const;

  LayerTensors tensors() const override;
  /// Emits one function of its own: a `.tflite` file has no operator for it. quantize_model() and
  /// lower_float() make a FoldedBatchNorm of it, with the layer in front where that has a kernel.
  std::vector<GraphValue> emit(Graph& graph, std::span<const GraphValue> inputs) const override;
  void describe(Description& description) const override;
  std::unique_ptr<Layer> clone() const override { return copy(); }
  /// clone() as what it is.
  std::unique_ptr<BatchNorm> copy() const;

 protected:
  void make_tensors(std::span<const Shape> input_shapes, const Random& random) override;

 private:
  /// The layer and a clamp behind it. Throws InvalidArgument where a batch to train on has no
  /// examples.
  Tensor normalized(const Tensor& x, const ForwardContext& context, FusedActivation clamp) const;

  BatchNormOptions options_;
  Tensor gamma_;
  Tensor beta_;
  Tensor moving_mean_;
  Tensor moving_variance_;
  /// Whether the log has the warning of a batch with one value per channel.
  mutable bool warned_ = false;
};

}  // namespace octet
