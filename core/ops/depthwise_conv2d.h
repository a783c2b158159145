#pragma once

#include <octet/core/tensor.h>
#include <octet/core/window.h>

#include <array>

namespace octet {

/// How a depthwise kernel slides over images; pairs are height, width.
struct DepthwiseConv2DOptions {
  std::array<Index, 2> stride = {1, 1};
  std::array<Index, 2> dilation = {1, 1};
  Padding padding = Padding::valid;
};

/// The convolution of each channel of images x [n, h, w, c] with `multiplier` filters of its own:
/// kernel [kh, kw, c, multiplier], as Keras lays it out, result [n, oh, ow, c * multiplier]:
///
///     y[i, oy, ox, q * multiplier + m] = sum over ky, kx of
///         x[i, oy * sy - py + ky * dy, ox * sx - px + kx * dx, q] * kernel[ky, kx, q, m]
///
/// with stride s, dilation d, padding p in front as slide_window() computes it, and zeros outside
/// the image. Sums run in the order of the taps; the gradient of x in that of outputs, taps and m;
/// the gradient of the kernel in the order of conv2d().
/// Throws InvalidArgument for shapes that do not fit, and where no window fits into the image.
Tensor depthwise_conv2d(const Tensor& x, const Tensor& kernel,
                        const DepthwiseConv2DOptions& options = {});

}  // namespace octet
