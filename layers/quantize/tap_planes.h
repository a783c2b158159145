#pragma once

#include <octet/core/buffer.h>
#include <octet/core/conv2d_geometry.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

// Images of a convolution by channel, so that the products of a tap with all outputs are one
// product of matrices: the gradient of a kernel. See docs/backward.md.

namespace octet::detail {

/// Where the outputs of images stand among the rows of a product: in lines of `line` rows at
/// distances of `line_pitch`, `lines` of them an image, and images at distances of `image_pitch`.
/// The rows between them are zero, and so are those behind the last, up to `depth`.
struct RowLayout {
  Index line;
  Index lines;
  Index line_pitch;
  Index image_pitch;
  Index depth;

  /// Rows that lie side by side.
  static RowLayout whole(Index rows) { return whole(rows, rows); }
  static RowLayout whole(Index rows, Index depth) { return {rows, 1, rows, rows, depth}; }

  /// This layout, of outputs of `images` images; as one line where there is nothing between them.
  RowLayout joined(Index images) const {
    const bool is_whole = line_pitch == line && image_pitch == line * lines;
    return is_whole ? whole(images * image_pitch, depth) : *this;
  }
};

/// Quantized inputs of a product as matrices of `count` rows that lie `stride` apart: matrix i
/// begins at value firsts[i]. Its products are the rows results[i], results[i] + result_step,
/// ... of the result.
struct InputRows {
  std::span<const std::int8_t> values;
  Index count;
  Index stride;
  Index result_step;
  std::span<const Index> firsts;
  std::span<const Index> results;
};

/// One axis of TapPlanes. Tap k of output o reads position o * stride + offset(k). Positions of the
/// same rest of a division by the stride make a phase, in which a tap is a distance.
class TapAxis {
 public:
  explicit TapAxis(const WindowAxis& axis);

  /// Positions that each phase has: those that its taps read.
  Index extent() const { return axis_.output + distance(axis_.kernel - 1); }
  /// The rests that taps have.
  const std::vector<Index>& phases() const { return phases_; }
  /// Which of phases() tap k reads, and how far from its first position.
  Index phase(Index k) const;
  Index distance(Index k) const { return quotient(k) - quotient(0); }
  /// The position in the image of the first position of a phase.
  Index first(Index phase) const {
    return quotient(0) * axis_.stride + phases_[static_cast<std::size_t>(phase)];
  }
  const WindowAxis& axis() const { return axis_; }

 private:
  Index offset(Index k) const { return k * axis_.dilation - axis_.before; }
  /// offset(k) / stride, rounded down.
  Index quotient(Index k) const { return (offset(k) - rest(k)) / axis_.stride; }
  Index rest(Index k) const;

  WindowAxis axis_;
  std::vector<Index> phases_;
};

/// The planes [phases, channels, plane] of a convolution of one group: a plane holds the images of
/// a channel and a phase one after the other as rows() says, long enough that a tap's
/// product may begin at its distance. For the thread that made it.
class TapPlanes {
 public:
  /// The most images whose rows fit one product; 0 where those of one do not.
  static Index most_images(const Conv2DGeometry& geometry);

  explicit TapPlanes(const Conv2DGeometry& geometry);

  RowLayout rows() const { return rows_.joined(geometry_.images); }
  /// Returns what is multiplied with the rows of images x [images, height, width, channels]: for
  /// each tap the planes of all channels; or, of fewer channels than a line has taps, for each line
  /// of taps and each channel the taps of the line. What lies outside the images is `zero`.
  InputRows fill(const std::int8_t* x, std::int8_t zero);

 private:
  static RowLayout layout(const Conv2DGeometry& geometry, const TapAxis& y, const TapAxis& x);
  Index distance(Index ky, Index kx) const {
    return y_.distance(ky) * rows_.line_pitch + x_.distance(kx);
  }
  Index plane_size(Index farthest) const;
  void fill_image(Index image, const std::int8_t* x);

  Conv2DGeometry geometry_;
  TapAxis y_;
  TapAxis x_;
  RowLayout rows_;
  Index plane_;
  std::vector<Index> firsts_;
  std::vector<Index> results_;
  std::size_t size_;
  bool by_line_;
  ScratchBuffer<std::int8_t, TapAxis> planes_;
};

}  // namespace octet::detail
