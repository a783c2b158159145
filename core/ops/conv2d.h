#pragma once

#include <octet/core/quant/activation_range.h>
#include <octet/core/tensor.h>
#include <octet/core/window.h>

#include <array>

namespace octet {

/// How a kernel slides over images; pairs are height, width.
struct Conv2DOptions {
  std::array<Index, 2> stride = {1, 1};
  std::array<Index, 2> dilation = {1, 1};
  Padding padding = Padding::valid;
  /// Channels and filters are cut into this many groups; filters read the channels of their group.
  Index groups = 1;
};

/// The convolution (cross-correlation) of images x [n, h, w, c] with a kernel
/// [kh, kw, c / groups, filters], as Keras lays it out; the result is [n, oh, ow, filters]:
///
///     y[i, oy, ox, f] = sum over ky, kx, q of
///                       x[i, oy * sy - py + ky * dy, ox * sx - px + kx * dx, g * c / groups + q]
///                       * kernel[ky, kx, q, f]
///
/// with stride s, dilation d, padding p in front as slide_window() computes it, g the group of
/// filter f, and zeros outside the image.
///
///     const Tensor y = conv2d(x, kernel, {.stride = {2, 2}, .padding = Padding::same});
///
/// Order of sums, which depends on shapes alone, never on the number of threads:
/// - y: one chain of fused multiply-adds over (ky, kx, q) in row-major order, starting at 0;
/// - the gradient of x: per pixel, one chain over the outputs that read it, in row-major order, and
///   over the filters of a group;
/// - the gradient of the kernel: a chain over the outputs of all images in order; cut, where there
///   are many, into up to 16 chains of equal length, which are added up in order.
/// With as many groups as channels, and more than one, it is depthwise_conv2d().
///
/// Throws InvalidArgument for shapes that do not fit, and where no window fits into the image.
Tensor conv2d(const Tensor& x, const Tensor& kernel, const Conv2DOptions& options = {});

/// clamp(conv2d(x, kernel, options) + bias) with a bias of one value per filter, which may be
/// undefined, and the clamp that `activation` is: what +, and relu or relu6, give one after the
/// other, in fewer passes over memory. Throws InvalidArgument also for a bias of another shape.
Tensor conv2d(const Tensor& x, const Tensor& kernel, const Tensor& bias, FusedActivation activation,
              const Conv2DOptions& options = {});

}  // namespace octet
