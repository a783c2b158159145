#pragma once

#include <octet/core/tensor.h>
#include <octet/core/window.h>

#include <array>

namespace octet {

/// How a transposed convolution spreads images; pairs are height, width.
struct TransposedConv2DOptions {
  std::array<Index, 2> stride = {1, 1};
  Padding padding = Padding::valid;
};

/// The transposed convolution of images x [n, h, w, c] with a kernel [kh, kw, filters, c], as Keras
/// lays it out: every pixel adds the kernel, times its channels, to the result [n, oh, ow,
/// filters]:
///
///     y[i, iy * sy - py + ky, ix * sx - px + kx, f] += x[i, iy, ix, q] * kernel[ky, kx, f, q]
///
/// with stride s; what lies outside the result is dropped. Extents are those of Keras: padding same
/// gives oh = h * sy; padding valid oh = h * sy + max(kh - sy, 0). Padding p is that of the
/// convolution, by slide_window(), which leads from y back to the extents of x: its gradient with
/// respect to its images is this function, whence the name.
///
///     const Tensor y = transposed_conv2d(x, kernel, {.stride = {2, 2}, .padding = Padding::same});
///
/// Order of sums, which depends on shapes alone, never on the number of threads: y as the gradient
/// of x in conv2d(), the gradient of x as its result, that of the kernel as its gradient of the
/// kernel. Throws InvalidArgument for shapes that do not fit, and where the result would be too
/// large.
Tensor transposed_conv2d(const Tensor& x, const Tensor& kernel,
                         const TransposedConv2DOptions& options = {});

}  // namespace octet
