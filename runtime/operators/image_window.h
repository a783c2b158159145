#pragma once

#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/core/window.h>
#include <octet/runtime/operators/operands.h>

#include <cstdint>

// Operators that slide a window over images [n, height, width, channels]: their geometry.

namespace octet::detail {

/// The window of an operator with attributes `a` on its first input, which has four axes. Throws
/// InvalidArgument where it does not fit.
template <class Attributes>
Window window_of(const Operands& o, const Attributes& a, Index kernel_h, Index kernel_w) {
  Index dilation_h = 1;
  Index dilation_w = 1;
  if constexpr (requires { a.dilation_h; }) {
    dilation_h = a.dilation_h;
    dilation_w = a.dilation_w;
  }
  if (a.padding == Padding::causal) {
    throw InvalidArgument(
        "window: expected padding valid or same, found causal, which is a PAD in front");
  }
  const auto& shape = o.input().shape;
  return {slide_window(shape[1], kernel_h, a.stride_h, dilation_h, a.padding),
          slide_window(shape[2], kernel_w, a.stride_w, dilation_w, a.padding)};
}

/// Returns the window of operands that are being checked: fails through `view`, also where the
/// input has not four axes, or where the output is not `channels` for each of the window's outputs.
template <class Attributes>
Window require_window(const OperatorView& view, const Attributes& a, Index kernel_h, Index kernel_w,
                      std::int32_t channels) {
  const auto& shape = view.input().shape;
  if (shape.size() != 4) {
    view.fail(fmt::format("expected images [n, height, width, channels], found shape [{}]",
                          fmt::join(shape, ", ")));
  }
  Window window;
  try {
    window = window_of(view, a, kernel_h, kernel_w);
  } catch (const InvalidArgument& error) {
    view.fail(error.what());
  }
  view.require_output_shape({shape[0], static_cast<std::int32_t>(window.y.output),
                             static_cast<std::int32_t>(window.x.output), channels});
  return window;
}

}  // namespace octet::detail
