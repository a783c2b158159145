#pragma once

#include <octet/core/ops/conv2d.h>

namespace octet {

/// A convolution whose operands fit each other.
struct Conv2DGeometry {
  Window window;
  Index images = 0;
  Index channels = 1;
  Index filters = 1;
  Index groups = 1;

  /// Output pixels of all images.
  Index rows() const { return images * window.outputs(); }
  Index channels_per_group() const { return channels / groups; }
  Index filters_per_group() const { return filters / groups; }
  /// What a filter reads for one output.
  Index patch() const { return window.taps() * channels_per_group(); }

  Shape input_shape() const { return {images, window.y.input, window.x.input, channels}; }
  Shape kernel_shape() const {
    return {window.y.kernel, window.x.kernel, channels_per_group(), filters};
  }
  Shape output_shape() const { return {images, window.y.output, window.x.output, filters}; }
};

/// Throws what conv2d(x, kernel, options) throws.
Conv2DGeometry conv2d_geometry(const Tensor& x, const Tensor& kernel, const Conv2DOptions& options);

// The gradients of conv2d() from that of its result, for ops that compute the result differently.
// Both compute outside the tape.

Tensor conv2d_input_gradient(const Conv2DGeometry& geometry, const Tensor& kernel, const Tensor& g);
Tensor conv2d_kernel_gradient(const Conv2DGeometry& geometry, const Tensor& x, const Tensor& g);

}  // namespace octet
