#pragma once

#include <octet/core/kernels/bilinear.h>
#include <octet/runtime/kernel.h>
#include <octet/runtime/operators/definitions.h>

#include <cstdint>
#include <vector>

// RESIZE_BILINEAR: images [batch, height, width, channels] at another size, which is an int32
// constant [height, width], by bilinear interpolation. Quantized values keep scale and zero point.

namespace octet::detail {

ResizeAttributes resize_attributes(ResizeCoordinates coordinates);
/// Throws InvalidArgument where both attributes are set, which exclude each other.
ResizeCoordinates resize_coordinates(const ResizeAttributes& attributes);

/// The interpolation of quantized values: weights of `bits` bits along both axes, and one rounding
/// to an integer at the end.
///
/// Under fp32, as XNNPACK: 11 bits, rint(2048 f) of places in float32, and half steps upwards.
/// Under the other rounding modes, as the kernels of TensorFlow Lite and TFLite Micro: places
/// themselves in steps of 1/1024, and half steps away from 0.
struct QuantizedBilinear {
  using Tap = BilinearTap<std::int32_t>;
  std::vector<Tap> rows;
  std::vector<Tap> columns;
  int bits;
  bool half_upwards;

  static QuantizedBilinear make(const KernelSource& source);

  /// `Sum` holds a quantized value times 2^(2 bits + 1): int32 for int8, int64 for int16.
  template <class Sum>
  Sum apply(Sum top_left, Sum top_right, Sum bottom_left, Sum bottom_right, Sum right,
            Sum bottom) const {
    const Sum one = Sum{1} << bits;
    const Sum t = top_left * one + (top_right - top_left) * right;
    const Sum b = bottom_left * one + (bottom_right - bottom_left) * right;
    const Sum sum = t * one + (b - t) * bottom;
    const Sum half = one * one / 2;
    if (half_upwards) return (sum + half) >> (2 * bits);
    return (sum > 0 ? sum + half : sum - half) / (one * one);
  }
};

}  // namespace octet::detail
