#pragma once

#include <octet/core/ops/depthwise_conv2d.h>
#include <octet/layers/kernel_layer.h>

#include <array>

namespace octet {

struct DepthwiseConv2DLayerOptions {
  /// Height, width.
  std::array<Index, 2> strides = {1, 1};
  std::array<Index, 2> dilation = {1, 1};
  Padding padding = Padding::valid;
  /// Results of each channel.
  Index depth_multiplier = 1;
  bool use_bias = true;
  Initializer kernel_initializer = Initializer::glorot_uniform;
  std::string name{};
};

/// y = f(depthwise_conv2d(x, W) + b), which convolves every channel with kernels of its own: x
/// [batch, height, width, channels], W "kernel" [kernel height, kernel width, channels, multiplier]
/// as Keras lays it out, b "bias" [channels * multiplier], f the activation. The result of kernel m
/// of channel c is channel c * multiplier + m. The initializer counts the numbers that a result is
/// made of, height * width of the kernel, as inputs, and as outputs the multiplier times those. The
/// bias starts at zero. Quantized, each channel of the result has a scale of its own.
///
///     DepthwiseConv2D(3, Activation::relu, {.strides = {2, 2}, .padding = Padding::same})
class DepthwiseConv2D : public KernelLayer {
 public:
  static constexpr std::string_view kType = "DepthwiseConv2D";
  static std::unique_ptr<Layer> make(const Description& description);

  /// `kernel_size` is height, width. Throws InvalidArgument unless all numbers are above 0.
  explicit DepthwiseConv2D(std::array<Index, 2> kernel_size,
                           Activation activation = Activation::none,
                           DepthwiseConv2DLayerOptions options = {});
  explicit DepthwiseConv2D(Index kernel_size, Activation activation = Activation::none,
                           DepthwiseConv2DLayerOptions options = {})
      : DepthwiseConv2D(std::array{kernel_size, kernel_size}, activation, std::move(options)) {}

  std::string_view type() const override { return kType; }
  const DepthwiseConv2DLayerOptions& options() const { return options_; }

  /// The kernel as [height, width, 1, channels * multiplier], in the memory of kernel(): units
  /// last.
  std::optional<LayerWeights> weights() const override;
  void describe(Description& description) const override;
  /// [kernel height, kernel width, channels, multiplier].
  std::optional<Shape> kernel_shape(const Shape& input_shape) const override;

 protected:
  std::unique_ptr<KernelLayer> copy() const override {
    return std::make_unique<DepthwiseConv2D>(*this);
  }
  void make_tensors(std::span<const Shape> input_shapes, const Random& random) override;

 private:
  DepthwiseConv2DOptions convolution() const;

  std::array<Index, 2> kernel_size_;
  DepthwiseConv2DLayerOptions options_;
};

}  // namespace octet
