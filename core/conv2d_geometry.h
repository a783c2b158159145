#pragma once

#include <octet/core/window.h>

namespace octet {

/// A convolution whose operands fit each other.
struct Conv2DGeometry {
  Window window;
  Index images = 0;
  Index channels = 1;
  Index filters = 1;
  Index groups = 1;

  /// The geometry with another number of images.
  Conv2DGeometry with_images(Index count) const {
    Conv2DGeometry result = *this;
    result.images = count;
    return result;
  }

  /// Output pixels of all images.
  Index rows() const { return images * window.outputs(); }
  Index channels_per_group() const { return channels / groups; }
  Index filters_per_group() const { return filters / groups; }
  /// What a filter reads for one output.
  Index patch() const { return window.taps() * channels_per_group(); }
  /// Whether the images themselves are the matrix of patches.
  bool is_matrix_product() const { return groups == 1 && window.is_pointwise(); }

  Shape input_shape() const { return {images, window.y.input, window.x.input, channels}; }
  Shape kernel_shape() const {
    return {window.y.kernel, window.x.kernel, channels_per_group(), filters};
  }
  Shape output_shape() const { return {images, window.y.output, window.x.output, filters}; }
};

}  // namespace octet
