#pragma once

#include <octet/core/shape.h>

#include <string_view>

namespace octet {

/// How an image is extended at its edges before a window slides over it.
enum class Padding {
  valid,  ///< Not at all: every window lies inside the image.
  same,   ///< As TensorFlow's SAME: the output has ceil(input / stride) positions.
  /// In front alone, so that no output reads what lies behind its position, as Keras' "causal" for
  /// convolutions along time: the output has ceil(input / stride) positions too. Files have a PAD.
  causal
};

/// "valid", "same" or "causal". Throws InvalidArgument for a value outside the enumeration.
std::string_view to_string(Padding padding);
/// The padding of that name. Throws InvalidArgument for another.
Padding parse_padding(std::string_view name);

/// One axis of a window that slides over an image, as convolutions and pooling use it. Tap k of
/// output o lies at o * stride - before + k * dilation, which may be outside [0, input).
struct WindowAxis {
  Index input = 1;     ///< Extent of the image.
  Index kernel = 1;    ///< Number of taps.
  Index stride = 1;    ///< Elements from one output's window to the next.
  Index dilation = 1;  ///< Elements from one tap to the next.
  Index before = 0;    ///< Elements of padding in front of the image.
  Index output = 1;    ///< Number of windows.

  /// Position of tap 0 of output `o`.
  Index first(Index o) const { return o * stride - before; }
  /// The first tap of output `o` that does not lie in front of the image.
  Index begin(Index o) const {
    const Index at = first(o);
    if (at >= 0) return 0;
    const Index skipped = divided_up(-at, dilation);
    return skipped < kernel ? skipped : kernel;
  }
  /// One past the last tap of output `o` that does not lie behind the image; at least begin(o).
  Index end(Index o) const {
    const Index at = first(o);
    const Index fitting = at >= input ? 0 : divided_up(input - at, dilation);
    const Index last = fitting < kernel ? fitting : kernel;
    const Index from = begin(o);
    return last > from ? last : from;
  }

  /// Elements of padding behind the image.
  Index after() const {
    const Index reached = first(output - 1) + (kernel - 1) * dilation + 1;
    return reached > input ? reached - input : 0;
  }

  bool operator==(const WindowAxis&) const = default;
};

/// Computes padding and number of outputs, with span = (kernel - 1) * dilation + 1:
/// - valid: output = (input - span) / stride + 1, before = 0;
/// - same: output = ceil(input / stride), padding = max((output - 1) * stride + span - input, 0),
///   of which the smaller half lies in front;
/// - causal: output = ceil(input / stride), before = span - 1.
/// Source: tensorflow/core/framework/common_shape_fns.cc. Throws InvalidArgument where an extent,
/// stride or dilation is not between 1 and 2^31 - 1, or where no window fits into the image.
WindowAxis slide_window(Index input, Index kernel, Index stride, Index dilation, Padding padding);

/// A window over both axes of images [height, width, channels].
struct Window {
  WindowAxis y;
  WindowAxis x;

  Index taps() const { return y.kernel * x.kernel; }
  Index outputs() const { return y.output * x.output; }
  Index inputs() const { return y.input * x.input; }
  /// Whether every output reads the one pixel at its own position.
  bool is_pointwise() const {
    return taps() == 1 && y.stride == 1 && x.stride == 1 && y.before == 0 && x.before == 0;
  }
  /// Whether windows lie side by side, without sharing a pixel, and all inside the image.
  bool is_tiling() const {
    return y.stride == y.kernel && x.stride == x.kernel && y.dilation == 1 && x.dilation == 1 &&
           y.before == 0 && x.before == 0 && y.after() == 0 && x.after() == 0;
  }
  bool operator==(const Window&) const = default;
};

}  // namespace octet
