#pragma once

#include <octet/core/ops/depthwise_conv2d.h>
#include <octet/core/ops/gradients_internal.h>

namespace octet {

/// A depthwise convolution whose operands fit each other.
struct DepthwiseConv2DGeometry {
  Window window;
  Index images = 0;
  Index channels = 1;
  Index multiplier = 1;

  /// Output pixels of all images.
  Index rows() const { return images * window.outputs(); }
  Index filters() const { return channels * multiplier; }

  Shape input_shape() const { return {images, window.y.input, window.x.input, channels}; }
  Shape kernel_shape() const { return {window.y.kernel, window.x.kernel, channels, multiplier}; }
  Shape output_shape() const { return {images, window.y.output, window.x.output, filters()}; }
};

/// Throws what depthwise_conv2d(x, kernel, options) throws.
DepthwiseConv2DGeometry depthwise_conv2d_geometry(const Tensor& x, const Tensor& kernel,
                                                  const DepthwiseConv2DOptions& options);

/// depthwise_conv2d() with a bias [c * multiplier], from which the sums start; undefined for none.
Tensor depthwise_conv2d(const Tensor& x, const Tensor& kernel, const Tensor& bias,
                        const DepthwiseConv2DOptions& options);

// The gradients of depthwise_conv2d() from that of its result, for ops that compute the result
// differently. Both compute outside the tape.

Tensor depthwise_conv2d_input_gradient(const DepthwiseConv2DGeometry& geometry,
                                       const Tensor& kernel, const Tensor& g);
Tensor depthwise_conv2d_kernel_gradient(const DepthwiseConv2DGeometry& geometry, const Tensor& x,
                                        const Tensor& g);

/// Computes the gradients that are wanted from a gradient g that may be lazy: where there are
/// enough images, g is read an image at a time, and is never in memory as a whole.
ConvGradients depthwise_conv2d_gradients(const DepthwiseConv2DGeometry& geometry, const Tensor& x,
                                         const Tensor& kernel, const Tensor& g,
                                         const WantedGradients& wanted);

}  // namespace octet
