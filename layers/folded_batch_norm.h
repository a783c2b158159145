#pragma once

#include <octet/core/quant/activation_range.h>
#include <octet/layers/batch_norm.h>
#include <octet/layers/find_folded_batch_norm.h>
#include <octet/layers/layer.h>

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace octet {

namespace detail {
class TrainingNorm;
}

/// Which statistics a FoldedBatchNorm is trained with.
enum class BatchNormMode {
  folded,     ///< the moving ones, which stay as they are
  statistics  ///< those of the batch, which move the moving ones, until they are frozen
};

/// "folded" or "statistics".
std::string_view to_string(BatchNormMode mode);
/// The mode of that name. Throws FormatError for another.
BatchNormMode parse_batch_norm_mode(std::string_view name);

/// A layer with a kernel and the BatchNorm behind it as one layer, y = f(linear(x, W', b')):
///
///     W' = W m,    b' = (b - moving_mean) m + beta,    m = gamma / sqrt(moving_variance + epsilon)
///
/// f is the activation of the layer with the kernel, and comes last. W, b, gamma and beta go on
/// being trained; weights() gives W' and b', which is what quantization and export see. In mode
/// `statistics`, training normalizes by the mean and the variance of the batch and moves the moving
/// ones as a BatchNorm does, until freeze() or set_trainable(false), also of the BatchNorm alone.
/// quantize_model() makes these layers. (Jacob et al., CVPR 2018, section 3.2; batches as in
/// PyTorch's ConvBn2d.)
class FoldedBatchNorm : public Layer {
 public:
  static constexpr std::string_view kType = "FoldedBatchNorm";
  static std::unique_ptr<Layer> make(const Description& description);

  /// Takes both layers with their tensors where they are built. Throws InvalidArgument for a null
  /// one, a quantized one, and a layer without a kernel; when it is built, for a kernel whose units
  /// are not along its last axis, or its last axes together.
  FoldedBatchNorm(std::unique_ptr<Layer> layer, std::unique_ptr<BatchNorm> batch_norm,
                  BatchNormMode mode = BatchNormMode::folded);
  FoldedBatchNorm(const FoldedBatchNorm& other);

  std::string_view type() const override { return kType; }
  /// The layer with the kernel, and the batch normalization, before they were folded.
  const Layer& unfolded() const { return *layer_; }
  const BatchNorm& batch_norm() const { return *batch_norm_; }
  BatchNormMode mode() const { return mode_; }

  /// Keeps the moving statistics as they are from now on: training computes what inference does.
  void freeze() { frozen_.mutable_data()[0] = 1.0F; }
  /// Whether they stay: after freeze(), and where gamma and beta are not trained.
  bool frozen() const {
    return frozen_.item() != 0.0F || (batch_norm_->built() && !batch_norm_->trainable());
  }
  /// Whether a forward pass normalizes by the statistics of its batch.
  bool uses_batch(const ForwardContext& context) const { return context.training() && !frozen(); }

  /// Holds what is trained on the statistics of a batch: the kernel W m, in the form of the layer
  /// with the kernel and without a bias, and m [c], a constant. No gradient reaches gamma through
  /// it. Where gamma is next to 0, m is that of a small gamma: normalizing divides by it.
  struct BatchWeights {
    LayerWeights weights;
    Tensor multipliers;
  };
  BatchWeights batch_weights() const;
  /// Normalizes z, the result of `weights`, by the mean and the variance of z / m, clamps it, and
  /// moves the moving statistics towards these. Throws InvalidArgument for a batch without
  /// examples.
  detail::TrainingNorm normalize_batch(const Tensor& z, const Tensor& multipliers,
                                       FusedActivation clamp);
  /// The layer as it was before it was folded, on the statistics of the batch x, before its
  /// activation.
  Tensor normalized(const Tensor& x, const ForwardContext& context);

  /// Returns the tensors of both layers, which are its parts, and the counter "batch_norm_frozen".
  LayerTensors tensors() const override;
  /// W' and b', in the form of the layer with the kernel.
  std::optional<LayerWeights> weights() const override;
  void describe(Description& description) const override;
  std::unique_ptr<Layer> clone() const override { return std::make_unique<FoldedBatchNorm>(*this); }

 protected:
  void make_tensors(std::span<const Shape> input_shapes, const Random& random) override;
  Shape result_shape(std::span<const Shape> input_shapes) const override;

 private:
  void require_units_last() const;

  std::unique_ptr<Layer> layer_;
  std::unique_ptr<BatchNorm> batch_norm_;
  BatchNormMode mode_;
  Tensor frozen_;
};

}  // namespace octet
