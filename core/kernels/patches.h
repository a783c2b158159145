#pragma once

#include <octet/core/window.h>

#include <algorithm>

namespace octet {

/// Copies patches (im2col): row r of `patches` [rows, taps * count] is what output `begin` + r of
/// the window reads of channels [first, first + count) of an image [height, width, channels];
/// `padding` stands for what lies outside the image.
template <class T>
void gather_patches(const Window& window, const T* image, Index channels, Index first, Index count,
                    T padding, Index begin, Index end, T* patches) {
  const WindowAxis& y = window.y;
  const WindowAxis& x = window.x;
  // Taps side by side of all channels lie in one piece.
  const bool in_one_piece = x.dilation == 1 && count == channels;
  const Index row = x.kernel * count;
  for (Index o = begin; o < end; ++o) {
    const Index oy = o / x.output;
    const Index ox = o % x.output;
    const Index from = x.begin(ox);
    const Index to = x.end(ox);
    patches = std::fill_n(patches, y.begin(oy) * row, padding);
    for (Index ky = y.begin(oy); ky < y.end(oy); ++ky) {
      const T* line = image + (y.first(oy) + ky * y.dilation) * x.input * channels + first;
      patches = std::fill_n(patches, from * count, padding);
      if (in_one_piece) {
        patches = std::copy_n(line + (x.first(ox) + from) * channels, (to - from) * count, patches);
      } else {
        for (Index kx = from; kx < to; ++kx) {
          patches = std::copy_n(line + (x.first(ox) + kx * x.dilation) * channels, count, patches);
        }
      }
      patches = std::fill_n(patches, (x.kernel - to) * count, padding);
    }
    patches = std::fill_n(patches, (y.kernel - y.end(oy)) * row, padding);
  }
}

}  // namespace octet
