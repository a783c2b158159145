#pragma once

#include <octet/core/conv2d_geometry.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace octet {

/// Copies `count` pieces of `bytes` each, whose strides are in bytes too: mostly short ones, where
/// a call of memcpy takes longer than the copy.
inline void copy_pieces(const char* from, Index from_stride, char* to, Index to_stride, Index count,
                        Index bytes) {
  // Up to 32 bytes are two moves of a fixed length, of which the second overlaps the first.
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
  if (bytes > 32) {
    for (Index n = 0; n < count; ++n) {
      std::memcpy(to + n * to_stride, from + n * from_stride, static_cast<std::size_t>(bytes));
    }
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

/// Copies patches of images [height, width, channels]: see gather_patches().
template <class T>
class PatchCopier {
 public:
  PatchCopier(const Window& window, const T* image, Index channels, Index first, Index count,
              T padding, Index stride)
      : y_(window.y),
        x_(window.x),
        image_(image + first),
        channels_(channels),
        count_(count),
        row_(window.x.kernel * count),
        patch_(stride),
        padding_(padding) {
    while (inside_begin_ < x_.output && x_.first(inside_begin_) < 0) ++inside_begin_;
    const Index reach = (x_.kernel - 1) * x_.dilation;
    inside_end_ = inside_begin_;
    while (inside_end_ < x_.output && x_.first(inside_end_) + reach < x_.input) ++inside_end_;
  }

  /// Writes the patches of the outputs [begin, end) of line oy.
  void copy_line(Index oy, Index begin, Index end, T* patches) const {
    const Index top = y_.begin(oy);
    const Index bottom = y_.end(oy);
    for (Index n = 0; (top > 0 || bottom < y_.kernel) && n < end - begin; ++n) {
      T* patch = patches + n * patch_;
      std::fill_n(patch, top * row_, padding_);
      std::fill_n(patch + bottom * row_, (y_.kernel - bottom) * row_, padding_);
    }
    const Index inside = std::clamp(inside_begin_, begin, end);
    const Index behind = std::clamp(inside_end_, inside, end);
    for (Index ky = top; ky < bottom; ++ky) {
      const T* line = image_ + (y_.first(oy) + ky * y_.dilation) * x_.input * channels_;
      T* to = patches + ky * row_;
      for (Index ox = begin; ox < inside; ++ox) copy_part(line, ox, to + (ox - begin) * patch_);
      copy_whole(line, inside, behind - inside, to + (inside - begin) * patch_);
      for (Index ox = behind; ox < end; ++ox) copy_part(line, ox, to + (ox - begin) * patch_);
    }
  }

 private:
  /// What `count` outputs read of a line, from output ox on.
  void copy_whole(const T* line, Index ox, Index count, T* to) const {
    // Taps side by side of all channels lie in one piece.
    const bool one_piece = x_.dilation == 1 && count_ == channels_;
    const Index pieces = one_piece ? 1 : x_.kernel;
    for (Index p = 0; p < pieces; ++p) {
      copy_pieces(
          reinterpret_cast<const char*>(line + (x_.first(ox) + p * x_.dilation) * channels_),
          x_.stride * channels_ * kSize, reinterpret_cast<char*>(to + p * count_), patch_ * kSize,
          count, (one_piece ? row_ : count_) * kSize);
    }
  }

  /// What output ox reads of a line, with padding for the taps beside it.
  void copy_part(const T* line, Index ox, T* to) const {
    for (Index kx = 0; kx < x_.kernel; ++kx, to += count_) {
      const Index at = x_.first(ox) + kx * x_.dilation;
      if (at < 0 || at >= x_.input) {
        std::fill_n(to, count_, padding_);
      } else {
        std::copy_n(line + at * channels_, count_, to);
      }
    }
  }

  static constexpr auto kSize = static_cast<Index>(sizeof(T));
  WindowAxis y_;
  WindowAxis x_;
  const T* image_;
  Index channels_;
  Index count_;
  Index row_;
  Index patch_;
  T padding_;
  /// The outputs that read nothing beside the image.
  Index inside_begin_ = 0;
  Index inside_end_ = 0;
};

/// Copies patches (im2col): row r of `patches` [rows, taps * count] is what output `begin` + r of
/// the window reads of channels [first, first + count) of an image [height, width, channels];
/// `padding` stands for what lies outside the image. Rows lie `stride` apart; what is between them
/// is left as it is.
template <class T>
void gather_patches(const Window& window, const T* image, Index channels, Index first, Index count,
                    T padding, Index begin, Index end, Index stride, T* patches) {
  const PatchCopier<T> copier(window, image, channels, first, count, padding, stride);
  const Index width = window.x.output;
  while (begin < end) {
    const Index ox = begin % width;
    const Index last = std::min(width, ox + end - begin);
    copier.copy_line(begin / width, ox, last, patches);
    patches += (last - ox) * stride;
    begin += last - ox;
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
