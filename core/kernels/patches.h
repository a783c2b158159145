#pragma once

#include <octet/core/buffer.h>
#include <octet/core/conv2d_geometry.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace octet {

/// Copies `count` pieces of `bytes` each, whose strides are in bytes too: mostly short ones, where
/// a call of memcpy takes longer than the copy.
inline void copy_pieces(const char* from, Index from_stride, char* to, Index to_stride, Index count,
                        Index bytes) {
  // Up to 64 bytes are two moves of a fixed length, of which the second overlaps the first.
  const auto copy_by = [=](auto length) {
    constexpr std::size_t kLength = decltype(length)::value;
    const char* piece = from;
    char* copy = to;
    const Index last = bytes - static_cast<Index>(kLength);
    for (Index n = 0; n < count; ++n, piece += from_stride, copy += to_stride) {
      std::memcpy(copy, piece, kLength);
      std::memcpy(copy + last, piece + last, kLength);
    }
  };
  if (bytes > 64) {
    for (Index n = 0; n < count; ++n) {
      std::memcpy(to + n * to_stride, from + n * from_stride, static_cast<std::size_t>(bytes));
    }
  } else if (bytes >= 32) {
    copy_by(std::integral_constant<std::size_t, 32>());
  } else if (bytes >= 16) {
    copy_by(std::integral_constant<std::size_t, 16>());
  } else if (bytes >= 8) {
    copy_by(std::integral_constant<std::size_t, 8>());
  } else if (bytes >= 4) {
    copy_by(std::integral_constant<std::size_t, 4>());
  } else if (bytes >= 2) {
    copy_by(std::integral_constant<std::size_t, 2>());
  } else if (bytes == 1) {
    copy_by(std::integral_constant<std::size_t, 1>());
  }
}

/// The lines of an image that the outputs [begin, end) of a window read.
struct LinesRead {
  Index first;
  Index last;
};
inline LinesRead lines_read(const Window& window, Index begin, Index end) {
  const WindowAxis& y = window.y;
  const Index reach = (y.kernel - 1) * y.dilation;
  const Index first = std::clamp<Index>(y.first(begin / window.x.output), 0, y.input);
  const Index last = y.first((end - 1) / window.x.output) + reach + 1;
  return {first, std::clamp(last, first, y.input)};
}

/// Copies lines [height, width, channels] with `padding` beside them: `before` and `after` pixels.
template <class T>
void pad_lines(const T* lines, Index height, Index width, Index channels, Index before, Index after,
               T padding, T* padded) {
  for (Index i = 0; i < height; ++i, lines += width * channels) {
    padded = std::fill_n(padded, before * channels, padding);
    padded = std::copy_n(lines, width * channels, padded);
    padded = std::fill_n(padded, after * channels, padding);
  }
}

/// Copies patches (im2col): row r of `patches` [rows, taps * count] is what output `begin` + r of
/// the window reads of channels [first, first + count) of an image [height, width, channels];
/// `padding` stands for what lies outside the image. Rows lie `stride` apart; what is between them
/// is left as it is.
template <class T>
void gather_patches(const Window& window, const T* image, Index channels, Index first, Index count,
                    T padding, Index begin, Index end, Index stride, T* patches) {
  if (begin >= end) return;
  const WindowAxis& y = window.y;
  const WindowAxis& x = window.x;
  const LinesRead lines = lines_read(window, begin, end);
  const Index width = x.before + x.input + x.after();
  const bool pads = width > x.input;
  const ScratchBuffer<T, LinesRead> padded(
      pads ? static_cast<std::size_t>((lines.last - lines.first) * width * channels) : 0);
  const T* pixels = image + lines.first * x.input * channels;
  if (pads) {
    pad_lines(pixels, lines.last - lines.first, x.input, channels, x.before, x.after(), padding,
              padded.data());
    pixels = padded.data();
  }
  // Taps side by side of all channels lie in one piece.
  const bool one_piece = x.dilation == 1 && count == channels;
  const Index pieces = one_piece ? 1 : x.kernel;
  const Index row = x.kernel * count;
  constexpr auto kSize = static_cast<Index>(sizeof(T));
  while (begin < end) {
    const Index oy = begin / x.output;
    const Index ox = begin % x.output;
    const Index outputs = std::min(x.output - ox, end - begin);
    for (Index ky = 0; ky < y.kernel; ++ky) {
      const Index at = y.first(oy) + ky * y.dilation;
      if (at < 0 || at >= y.input) {
        for (Index n = 0; n < outputs; ++n)
          std::fill_n(patches + n * stride + ky * row, row, padding);
        continue;
      }
      const T* line = pixels + ((at - lines.first) * width + ox * x.stride) * channels + first;
      for (Index p = 0; p < pieces; ++p) {
        copy_pieces(reinterpret_cast<const char*>(line + p * x.dilation * channels),
                    x.stride * channels * kSize,
                    reinterpret_cast<char*>(patches + ky * row + p * count), stride * kSize,
                    outputs, (one_piece ? row : count) * kSize);
      }
    }
    patches += outputs * stride;
    begin += outputs;
  }
}

/// The most elements that gather_rows() keeps of images for so many rows at once.
inline Index padded_elements(const Conv2DGeometry& geometry, Index rows) {
  const WindowAxis& y = geometry.window.y;
  const WindowAxis& x = geometry.window.x;
  if (x.before + x.after() == 0) return 0;
  // Rows may begin in the middle of a line.
  const Index outputs = std::min(y.output, divided_up(rows, x.output) + 1);
  const Index lines = std::min(y.input, (outputs - 1) * y.stride + (y.kernel - 1) * y.dilation + 1);
  return lines * (x.before + x.input + x.after()) * geometry.channels;
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

/// Copies the patches of rows [begin, end) of all images, of the channels of a group, to rows that
/// lie `stride` apart.
template <class T>
void gather_rows(const Conv2DGeometry& geometry, const T* images, Index group, T padding,
                 Index begin, Index end, Index stride, T* patches) {
  const Index count = geometry.channels_per_group();
  const Index size = geometry.window.inputs() * geometry.channels;
  for_each_image(geometry, begin, end, [&](Index image, Index first, Index last, Index row) {
    gather_patches(geometry.window, images + image * size, geometry.channels, group * count, count,
                   padding, first, last, stride, patches + (row - begin) * stride);
  });
}

}  // namespace octet
