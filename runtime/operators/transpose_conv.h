#pragma once

#include <octet/core/conv2d_geometry.h>
#include <octet/runtime/operators/fully_connected.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

// TRANSPOSE_CONV: y[n, iy s - p + ky, ix s - p + kx, u] += x[n, iy, ix, c] w[u, ky, kx, c], then
// f(y + bias[u]); p is the padding of the convolution that leads from the output back to the
// extents of the input. A line of the output is the sum of a few lines of the input, each times one
// line of the kernel.

namespace octet::detail {

/// The convolution from the output of one sample back to its input: its channels are the units, its
/// filters the channels of the input. Of operands that have been checked.
Conv2DGeometry transpose_conv_geometry(const Operands& operands);

/// One line of the kernel, [width of the kernel * units, channels].
class CodesOfKernelLine {
 public:
  CodesOfKernelLine(const std::vector<std::int8_t>& rows, Index depth, std::int32_t zero_point)
      : sums_(PackedS8(rows.data(), static_cast<Index>(rows.size()) / depth, depth), {},
              zero_point) {}
  static std::size_t bytes(Index rows, Index depth) { return DenseSums::bytes(rows, depth); }
  /// Writes the products [pixels, rows] of pixels [pixels, channels].
  void multiply(Index pixels, const std::int8_t* x, std::int32_t* products) const {
    sums_.sums(pixels, x, products);
  }
  /// Bytes that a thread keeps at most for multiply().
  std::size_t thread_bytes(Index pixels) const { return sums_.thread_bytes(pixels); }

 private:
  DenseSums sums_;
};

class FloatsOfKernelLine {
 public:
  FloatsOfKernelLine(std::vector<float> rows, Index depth, float /*zero_point*/)
      : rows_(std::move(rows)), depth_(depth) {}
  static std::size_t bytes(Index rows, Index depth) {
    return static_cast<std::size_t>(rows * depth) * sizeof(float);
  }
  void multiply(Index pixels, const float* x, float* products) const;
  std::size_t thread_bytes(Index pixels) const;

 private:
  std::vector<float> rows_;
  Index depth_;
};

/// Step one, exact for codes: the sums of every output and unit, in int32 or in float.
template <class Code, class Sum, class KernelLine>
class TransposedSums {
 public:
  /// `geometry` is that of one sample; weights [units, kernel height, kernel width, channels]; one
  /// bias per unit.
  TransposedSums(const Conv2DGeometry& geometry, std::span<const Code> weights,
                 std::vector<Sum> bias, Sum zero_point);

  Index units() const { return geometry_.channels; }
  static std::size_t bytes(const Conv2DGeometry& geometry);
  std::size_t bytes() const { return bytes(geometry_); }
  /// Bytes that each thread keeps beside a block of sums.
  std::size_t thread_bytes() const;
  /// Every block is a line of the output.
  Index block_rows() const { return geometry_.window.x.input; }

  /// Calls body(begin, end, write_sums) once for every block of rows [begin, end), on several
  /// threads; write_sums(to) writes its sums [end - begin, units]. Rows are outputs of the images
  /// of all samples, in order. Sums of floats are added up input by input in row-major order, each
  /// a chain over the channels; the bias comes last.
  void for_blocks(
      Index samples, const Code* x,
      FunctionRef<void(Index begin, Index end, FunctionRef<void(Sum*)> write_sums)> body) const;

 private:
  Index pixels_at_once() const;
  void write_line(const Code* image, Index oy, Sum* sums) const;
  void add_products(Index begin, Index end, const Sum* products, Sum* sums) const;

  Conv2DGeometry geometry_;
  /// One per line of the kernel.
  std::vector<KernelLine> kernel_;
  std::vector<Sum> bias_;
};

using TransposedCodeSums = TransposedSums<std::int8_t, std::int32_t, CodesOfKernelLine>;
using TransposedFloatSums = TransposedSums<float, float, FloatsOfKernelLine>;

/// Whether XNNPACK takes a TRANSPOSE_CONV: not one of padding same with a stride larger than the
/// kernel.
bool xnnpack_takes_transpose_conv(const Conv2DGeometry& geometry, Padding padding);
/// Whether XNNPACK takes a TRANSPOSE_CONV of a file, whose bias may also have no scale: XNNPACK
/// takes none such.
bool xnnpack_takes_transpose_conv(const Operands& operands);

/// Step two: rescales the sums. LiteRT's built-in kernel, whose contract is single, rounds twice
/// here, and computes what XNNPACK does not take.
Requantizer transpose_conv_requantizer(float input_scale, std::span<const float> weight_scales,
                                       float output_scale, Rounding rounding, bool xnnpack_takes);

/// The numbers of an int8 TRANSPOSE_CONV. Throws as dense_numbers().
FullyConnectedNumbers transpose_conv_numbers(const KernelSource& source);

}  // namespace octet::detail
