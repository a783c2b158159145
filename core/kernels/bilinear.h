#pragma once

#include <octet/core/resize_coordinates.h>
#include <octet/core/shape.h>

#include <span>
#include <vector>

// Bilinear interpolation of images [height, width, channels], in floats and on integers.

namespace octet::detail {

/// The two pixels along an axis between which one of the result lies, and the weight of the upper
/// one; the lower one has the rest to 1, of integers to a power of 2.
template <class Weight>
struct BilinearTap {
  Index lower;
  Index upper;
  Weight weight;
};

/// The taps of all `output` pixels, in float32 as XNNPACK computes them: places outside the image
/// are moved to its edges.
std::vector<BilinearTap<float>> bilinear_taps(Index input, Index output,
                                              ResizeCoordinates coordinates);

/// One line of the result, between the lines `top` and `bottom` [width, channels]: for each column
/// and channel blend(top left, top right, bottom left, bottom right, weight of the right).
template <class T, class Weight, class Blend>
void bilinear_line(const T* top, const T* bottom, std::span<const BilinearTap<Weight>> columns,
                   Index channels, T* y, Blend&& blend) {
  for (const BilinearTap<Weight>& column : columns) {
    const Index left = column.lower * channels;
    const Index right = column.upper * channels;
    for (Index c = 0; c < channels; ++c) {
      *y++ =
          blend(top[left + c], top[right + c], bottom[left + c], bottom[right + c], column.weight);
    }
  }
}

/// bilinear_line() of floats, `weight` that of the line `bottom`.
inline void bilinear_line(const float* top, const float* bottom, float weight,
                          std::span<const BilinearTap<float>> columns, Index channels, float* y) {
  bilinear_line(top, bottom, columns, channels, y,
                [weight](float tl, float tr, float bl, float br, float right) {
                  const float t = tl + (tr - tl) * right;
                  const float b = bl + (br - bl) * right;
                  return t + (b - t) * weight;
                });
}

}  // namespace octet::detail
