#pragma once

#include <octet/core/ops/conv2d.h>
#include <octet/layers/kernel_layer.h>

#include <string_view>

namespace octet {

/// What Conv1D and DepthwiseConv1D have in common: a convolution along the steps of sequences, such
/// as the samples of sensors or of sound, x [batch, steps, channels] to [batch, steps, filters]. It
/// is conv2d() of images of height 1; the bias, [filters], starts at zero.
///
/// Padding::causal puts (kernel size - 1) * dilation zeros in front, so that step t of the result
/// reads no step of x behind t * stride; step_model() makes the network that gets x step by step.
///
/// Lowered, it is CONV_2D or DEPTHWISE_CONV_2D between two RESHAPEs, as the TensorFlow converter
/// writes it, and a PAD in front where the padding is causal: no runtime has operators of its own
/// for sequences.
class SequenceConvolution : public KernelLayer {
 public:
  /// The kernel as [1, kernel size, channels / groups, filters], in the memory of kernel().
  std::optional<LayerWeights> weights() const override;
  void describe(Description& description) const override;

 protected:
  /// `type` begins the errors. Throws InvalidArgument unless all numbers are above 0. The groups of
  /// `along`, which says how the kernel goes along the columns of an image, count where the layer
  /// is not depthwise.
  SequenceConvolution(std::string_view type, std::string name, Activation activation,
                      Index kernel_size, Conv2DOptions along, bool is_depthwise, bool use_bias,
                      Initializer kernel_initializer);
  Index kernel_size() const { return kernel_size_; }
  const Conv2DOptions& along() const { return along_; }
  void make_tensors(std::span<const Shape> input_shapes, const Random& random) override;

 private:
  Index kernel_size_;
  Conv2DOptions along_;
  bool is_depthwise_;
  bool use_bias_;
  Initializer kernel_initializer_;
};

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

/// y = f(conv(x, W) + b), the convolution along the steps of sequences x [batch, steps, channels]
/// with W "kernel" [kernel size, channels / groups, filters] as Keras lays it out, b "bias"
/// [filters] and f the activation; see SequenceConvolution.
///
///     Conv1D(16, 5, Activation::relu, {.stride = 2, .padding = Padding::same})
class Conv1D : public SequenceConvolution {
 public:
  static constexpr std::string_view kType = "Conv1D";
  static std::unique_ptr<Layer> make(const Description& description);

  /// Throws InvalidArgument unless all numbers are above 0 and the groups divide the filters.
  Conv1D(Index filters, Index kernel_size, Activation activation = Activation::none,
         const Conv1DLayerOptions& options = {});

  std::string_view type() const override { return kType; }
  void describe(Description& description) const override;
  /// [kernel size, channels / groups, filters].
  std::optional<Shape> kernel_shape(const Shape& input_shape) const override;

 protected:
  std::unique_ptr<KernelLayer> copy() const override { return std::make_unique<Conv1D>(*this); }
  void make_tensors(std::span<const Shape> input_shapes, const Random& random) override;

 private:
  Index filters_;
};

struct DepthwiseConv1DOptions {
  Index stride = 1;
  Index dilation = 1;
  Padding padding = Padding::valid;
  /// Results of each channel.
  Index depth_multiplier = 1;
  bool use_bias = true;
  Initializer kernel_initializer = Initializer::glorot_uniform;
  std::string name{};
};

/// y = f(conv(x, W) + b), which convolves every channel of sequences x [batch, steps, channels]
/// with kernels of its own: W "kernel" [kernel size, channels, multiplier] as Keras lays it out, b
/// "bias" [channels * multiplier], f the activation; see SequenceConvolution. The result of kernel
/// m of channel c is channel c * multiplier + m.
///
///     DepthwiseConv1D(3, Activation::relu, {.dilation = 4, .padding = Padding::causal})
class DepthwiseConv1D : public SequenceConvolution {
 public:
  static constexpr std::string_view kType = "DepthwiseConv1D";
  static std::unique_ptr<Layer> make(const Description& description);

  /// Throws InvalidArgument unless all numbers are above 0.
  explicit DepthwiseConv1D(Index kernel_size, Activation activation = Activation::none,
                           const DepthwiseConv1DOptions& options = {});

  std::string_view type() const override { return kType; }
  void describe(Description& description) const override;
  /// [kernel size, channels, multiplier].
  std::optional<Shape> kernel_shape(const Shape& input_shape) const override;

 protected:
  std::unique_ptr<KernelLayer> copy() const override {
    return std::make_unique<DepthwiseConv1D>(*this);
  }

 private:
  Index depth_multiplier_;
};

}  // namespace octet
