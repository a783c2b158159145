#pragma once

#include <octet/core/ops/conv2d.h>
#include <octet/layers/kernel_layer.h>

#include <array>

namespace octet {

struct Conv2DLayerOptions {
  /// Height, width.
  std::array<Index, 2> strides = {1, 1};
  std::array<Index, 2> dilation = {1, 1};
  Padding padding = Padding::valid;
  /// Channels and filters are cut into this many groups; filters read the channels of their group.
  Index groups = 1;
  bool use_bias = true;
  Initializer kernel_initializer = Initializer::glorot_uniform;
  std::string name{};
};

/// y = f(conv2d(x, W) + b): x [batch, height, width, channels], W "kernel" [kernel height, kernel
/// width, channels / groups, filters] as Keras lays it out, b "bias" [filters], f the activation.
/// conv2d() is the cross-correlation of core/ops/conv2d.h, whose padding is TensorFlow's. The bias
/// starts at zero.
///
///     Conv2D(16, {3, 3}, Activation::relu, {.strides = {2, 2}, .padding = Padding::same})
class Conv2D : public KernelLayer {
 public:
  static constexpr std::string_view kType = "Conv2D";
  static std::unique_ptr<Layer> make(const Description& description);

  /// `kernel_size` is height, width. Throws InvalidArgument unless all numbers are above 0 and the
  /// groups divide the filters.
  Conv2D(Index filters, std::array<Index, 2> kernel_size, Activation activation = Activation::none,
         Conv2DLayerOptions options = {});
  Conv2D(Index filters, Index kernel_size, Activation activation = Activation::none,
         Conv2DLayerOptions options = {})
      : Conv2D(filters, {kernel_size, kernel_size}, activation, std::move(options)) {}

  std::string_view type() const override { return kType; }
  Index filters() const { return filters_; }
  const Conv2DLayerOptions& options() const { return options_; }

  std::optional<LayerWeights> weights() const override;
  void describe(Description& description) const override;
  /// [kernel height, kernel width, channels / groups, filters].
  std::optional<Shape> kernel_shape(const Shape& input_shape) const override;

 protected:
  std::unique_ptr<KernelLayer> copy() const override { return std::make_unique<Conv2D>(*this); }
  void make_tensors(std::span<const Shape> input_shapes, const Random& random) override;

 private:
  Conv2DOptions convolution() const;

  Index filters_;
  std::array<Index, 2> kernel_size_;
  Conv2DLayerOptions options_;
};

}  // namespace octet
