#pragma once

#include <octet/core/tensor.h>
#include <octet/core/window.h>

#include <array>
#include <string_view>

// Parts of ops that slide a window over images [n, h, w, c].

namespace octet {

/// Throws InvalidArgument that names `operation` unless x is [n, h, w, c] with h, w and c between 1
/// and 2^31 - 1.
void check_images(std::string_view operation, const Tensor& x);

/// The window of `kernel` taps (height, width) over images that check_images() takes. Throws what
/// slide_window() throws, with the operation and the axis named.
Window window_over(std::string_view operation, const Tensor& x, const std::array<Index, 2>& kernel,
                   const std::array<Index, 2>& stride, const std::array<Index, 2>& dilation,
                   Padding padding);

/// Calls body(tap, pixel) for every tap of output `o` that lies inside the image, in row-major
/// order.
template <class Body>
void for_each_tap(const Window& window, Index o, Body&& body) {
  const WindowAxis& y = window.y;
  const WindowAxis& x = window.x;
  const Index oy = o / x.output;
  const Index ox = o % x.output;
  const Index from = x.begin(ox);
  const Index to = x.end(ox);
  for (Index ky = y.begin(oy); ky < y.end(oy); ++ky) {
    const Index line = (y.first(oy) + ky * y.dilation) * x.input + x.first(ox);
    for (Index kx = from; kx < to; ++kx) body(ky * x.kernel + kx, line + kx * x.dilation);
  }
}

}  // namespace octet
