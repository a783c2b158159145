#pragma once

#include <octet/runtime/operators/image_window.h>

#include <optional>

namespace octet::detail {

/// The attributes of a CONV_2D or a DEPTHWISE_CONV_2D, given to `use`; false for other operators.
template <class Op, class Use>
bool with_convolution(Op& op, const Use& use) {
  if (op.code == OpCode::conv_2d) {
    use(op.template as<Conv2DAttributes>());
  } else if (op.code == OpCode::depthwise_conv_2d) {
    use(op.template as<DepthwiseConv2DAttributes>());
  } else {
    return false;
  }
  return true;
}

/// The window of a convolution whose padding `same` LiteRT.js 2.0.0 and tfjs-tflite
/// 0.0.1-alpha.10 misread: windows that end before the image does would take negative padding. None
/// of any other operator: a kernel of one pixel is read rightly.
inline std::optional<Window> misread_window(const Operands& o) {
  const auto leaves_pixels = [](const WindowAxis& axis) {
    return axis.first(axis.output - 1) + (axis.kernel - 1) * axis.dilation + 1 < axis.input;
  };
  std::optional<Window> result;
  with_convolution(o.op, [&](const auto& attributes) {
    const auto& filter = o.input(1).shape;
    const Window window = window_of(o, attributes, filter[1], filter[2]);
    if (attributes.padding == Padding::same && window.taps() > 1 &&
        (leaves_pixels(window.y) || leaves_pixels(window.x))) {
      result = window;
    }
  });
  return result;
}

/// Whether `valid` would mean the same.
inline bool pads_nothing(const Window& window) {
  const auto pads = [](const WindowAxis& axis) { return axis.before > 0 || axis.after() > 0; };
  return !pads(window.y) && !pads(window.x);
}

}  // namespace octet::detail
