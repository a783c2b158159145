#pragma once

#include <octet/core/ops/transposed_conv2d.h>
#include <octet/layers/kernel_layer.h>

#include <array>

namespace octet {

struct TransposedConv2DLayerOptions {
  /// Height, width.
  std::array<Index, 2> strides = {1, 1};
  Padding padding = Padding::valid;
  bool use_bias = true;
  Initializer kernel_initializer = Initializer::glorot_uniform;
  std::string name{};
};

/// y = f(transposed_conv2d(x, W) + b), Keras' Conv2DTranspose: x [batch, height, width, channels],
/// W "kernel" [kernel height, kernel width, filters, channels] as Keras lays it out, b "bias"
/// [filters], f the activation. Padding same multiplies height and width by the strides; padding
/// valid also adds by how much the kernel is larger than the stride. The initializer counts as
/// Keras does: height * width of the kernel times the filters as inputs, times the channels as
/// outputs. The bias starts at zero. Quantized, each filter has a scale of its own.
///
///     TransposedConv2D(16, 3, Activation::relu, {.strides = {2, 2}, .padding = Padding::same})
class TransposedConv2D : public KernelLayer {
 public:
  static constexpr std::string_view kType = "TransposedConv2D";
  static std::unique_ptr<Layer> make(const Description& description);

  /// `kernel_size` is height, width. Throws InvalidArgument unless all numbers are above 0.
  TransposedConv2D(Index filters, std::array<Index, 2> kernel_size,
                   Activation activation = Activation::none,
                   TransposedConv2DLayerOptions options = {});
  TransposedConv2D(Index filters, Index kernel_size, Activation activation = Activation::none,
                   TransposedConv2DLayerOptions options = {})
      : TransposedConv2D(filters, {kernel_size, kernel_size}, activation, std::move(options)) {}

  std::string_view type() const override { return kType; }
  Index filters() const { return filters_; }
  const TransposedConv2DLayerOptions& options() const { return options_; }

  /// The kernel as [height, width, channels, filters], a copy: units last.
  std::optional<LayerWeights> weights() const override;
  void describe(Description& description) const override;
  /// [kernel height, kernel width, filters, channels].
  std::optional<Shape> kernel_shape(const Shape& input_shape) const override;

 protected:
  std::unique_ptr<KernelLayer> copy() const override {
    return std::make_unique<TransposedConv2D>(*this);
  }
  void make_tensors(std::span<const Shape> input_shapes, const Random& random) override;

 private:
  TransposedConv2DOptions convolution() const;

  Index filters_;
  std::array<Index, 2> kernel_size_;
  TransposedConv2DLayerOptions options_;
};

}  // namespace octet
