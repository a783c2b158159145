#pragma once

#include <octet/core/tensor.h>
#include <octet/core/window.h>

#include <array>

namespace octet {

/// How a pooling window slides over images; pairs are height, width.
struct Pool2DOptions {
  std::array<Index, 2> size = {2, 2};
  /// The size of the window, unless given: windows side by side.
  std::array<Index, 2> stride = size;
  Padding padding = Padding::valid;
};

// Pooling of images x [n, h, w, c] to [n, oh, ow, c], each channel on its own; only pixels inside
// the image count. Throws InvalidArgument for other ranks and where no window fits into the image.

/// The largest value of each window; a NaN counts as the largest, so that it is seen. The gradient
/// goes to the first of equal maxima in row-major order, as TensorFlow's and PyTorch's does.
Tensor max_pool2d(const Tensor& x, const Pool2DOptions& options = {});

/// The mean of the pixels of each window, summed in double in row-major order.
Tensor average_pool2d(const Tensor& x, const Pool2DOptions& options = {});

/// The largest value of each channel: max_pool2d() of one window as large as the image, as [n, c].
Tensor global_max_pool2d(const Tensor& x);

/// The mean of each channel: average_pool2d() of one window as large as the image, as [n, c].
Tensor global_average_pool2d(const Tensor& x);

}  // namespace octet
