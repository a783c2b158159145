#pragma once

#include <octet/layers/conv1d.h>
#include <octet/layers/conv2d.h>
#include <octet/layers/depthwise_conv2d.h>
#include <octet/layers/layer_chain.h>

#include <array>

namespace octet {

struct SeparableConv2DOptions {
  /// Height, width.
  std::array<Index, 2> strides = {1, 1};
  std::array<Index, 2> dilation = {1, 1};
  Padding padding = Padding::valid;
  /// Results of each channel between the two convolutions.
  Index depth_multiplier = 1;
  bool use_bias = true;
  Initializer kernel_initializer = Initializer::glorot_uniform;
  /// "<name>_depthwise" and "<name>_pointwise" are the names of the two layers; automatic where it
  /// is empty.
  std::string name{};
};

/// The convolution of Keras' SeparableConv2D: every channel by kernels of its own, then a mix of
/// channels at every pixel, with a bias and the activation at the end:
///
///     y = f(conv2d(depthwise_conv2d(x, D), P) + b)
///
/// It is two layers of a model, a DepthwiseConv2D without bias (D, "kernel" [kernel height, kernel
/// width, channels, multiplier]) and a Conv2D of 1 x 1 (P, "kernel" [1, 1, channels * multiplier,
/// filters], and b): what comes between has a scale of its own in every runtime, and so
/// quantization takes them apart, as TensorFlow's toolkit does.
///
///     Sequential model("m", Input({32, 32, 3}), SeparableConv2D(16, 3, Activation::relu), ...);
class SeparableConv2D : public LayerChain {
 public:
  /// `kernel_size` is height, width. Throws as the two layers do.
  SeparableConv2D(Index filters, std::array<Index, 2> kernel_size,
                  Activation activation = Activation::none,
                  const SeparableConv2DOptions& options = {});
  SeparableConv2D(Index filters, Index kernel_size, Activation activation = Activation::none,
                  const SeparableConv2DOptions& options = {})
      : SeparableConv2D(filters, {kernel_size, kernel_size}, activation, options) {}
};

struct SeparableConv1DOptions {
  Index stride = 1;
  Index dilation = 1;
  Padding padding = Padding::valid;
  /// Results of each channel between the two convolutions.
  Index depth_multiplier = 1;
  bool use_bias = true;
  Initializer kernel_initializer = Initializer::glorot_uniform;
  /// The names of the two layers, as SeparableConv2DOptions has them.
  std::string name{};
};

/// The convolution of Keras' SeparableConv1D over sequences [steps, channels]: a DepthwiseConv1D
/// without bias (D, "kernel" [kernel size, channels, multiplier]), then a Conv1D of width 1 (P,
/// "kernel" [1, channels * multiplier, filters], and b), y = f(conv(conv(x, D), P) + b). It is two
/// layers of a model, see SeparableConv2D.
///
///     SeparableConv1D(16, 5, Activation::relu, {.padding = Padding::causal})
class SeparableConv1D : public LayerChain {
 public:
  /// Throws as the two layers do.
  SeparableConv1D(Index filters, Index kernel_size, Activation activation = Activation::none,
                  const SeparableConv1DOptions& options = {});
};

}  // namespace octet
