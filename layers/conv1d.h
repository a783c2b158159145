#pragma once

#include <octet/core/ops/conv2d.h>
#include <octet/layers/kernel_layer.h>

namespace octet {

struct Conv1DLayerOptions {
  Index stride = 1;
  Index dilation = 1;
  Padding padding = Padding::valid;
  /// Channels and filters are cut into this many groups; filters read the channels of their group.
  Index groups = 1;
  bool use_bias = true;
  Initializer kernel_initializer = Initializer::glorot_uniform;
  std::string name{};
};

/// A convolution along the steps of sequences, such as the samples of sensors or of sound: y =
/// f(conv(x, W) + b) with x [batch, steps, channels], W "kernel" [kernel size, channels / groups,
/// filters] as Keras lays it out, b "bias" [filters], f the activation; y is [batch, steps,
/// filters]. It is conv2d() of images of height 1. The bias starts at zero.
///
/// Lowered, it is CONV_2D between two RESHAPEs, as the TensorFlow converter writes it: no runtime
/// has an operator of its own for it.
///
///     Conv1D(16, 5, Activation::relu, {.stride = 2, .padding = Padding::same})
class Conv1D : public KernelLayer {
 public:
  static constexpr std::string_view kType = "Conv1D";
  static std::unique_ptr<Layer> make(const Description& description);

  /// Throws InvalidArgument unless all numbers are above 0 and the groups divide the filters.
  Conv1D(Index filters, Index kernel_size, Activation activation = Activation::none,
         Conv1DLayerOptions options = {});

  std::string_view type() const override { return kType; }
  Index filters() const { return filters_; }
  const Conv1DLayerOptions& options() const { return options_; }

  /// The kernel as [1, kernel size, channels / groups, filters], in the memory of kernel().
  std::optional<LayerWeights> weights() const override;
  void describe(Description& description) const override;
  /// [kernel size, channels / groups, filters].
  std::optional<Shape> kernel_shape(const Shape& input_shape) const override;

 protected:
  std::unique_ptr<KernelLayer> copy() const override { return std::make_unique<Conv1D>(*this); }
  void make_tensors(std::span<const Shape> input_shapes, const Random& random) override;

 private:
  Conv2DOptions convolution() const;
  /// [1, kernel size, channels / groups, filters].
  Shape image_kernel_shape() const;

  Index filters_;
  Index kernel_size_;
  Conv1DLayerOptions options_;
};

}  // namespace octet
