#pragma once

#include <octet/core/conv2d_geometry.h>

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

/// Calls body(image, first, last, row) for the outputs [first, last) of each image that the rows
/// [begin, end) of a convolution are in; `row` is their first row.
template <class Body>
void for_each_image(const Conv2DGeometry& geometry, Index begin, Index end, Body&& body) {
  const Index outputs = geometry.window.outputs();
  while (begin < end) {
    const Index image = begin / outputs;
    const Index first = begin % outputs;
    const Index last = std::min(outputs, first + end - begin);
    body(image, first, last, begin);
    begin += last - first;
  }
}

/// Copies the patches of rows [begin, end) of all images, of the channels of a group.
template <class T>
void gather_rows(const Conv2DGeometry& geometry, const T* images, Index group, T padding,
                 Index begin, Index end, T* patches) {
  const Index count = geometry.channels_per_group();
  const Index size = geometry.window.inputs() * geometry.channels;
  for_each_image(geometry, begin, end, [&](Index image, Index first, Index last, Index row) {
    gather_patches(geometry.window, images + image * size, geometry.channels, group * count, count,
                   padding, first, last, patches + (row - begin) * geometry.patch());
  });
}

}  // namespace octet
