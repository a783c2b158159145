#pragma once

#include <octet/core/kernels/depthwise.h>
#include <octet/runtime/operators/conv_2d.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

// DEPTHWISE_CONV_2D: y[n, oy, ox, c m + j] = f(sum over ky, kx of x[n, y, x, c] w[0, ky, kx, c m +
// j] + bias[c m + j]), m the depth multiplier: CONV_2D with a group for every channel, but for the
// order of its weights.

namespace octet::detail {

/// The geometry of operands that have been checked, with as many groups as channels.
Conv2DGeometry depthwise_geometry(const Operands& operands);

/// Step one, exact for codes: the sums of every output and unit, in int32 or in float.
template <class Code, class Sum>
class DepthwiseSums {
 public:
  /// `geometry` is that of one sample; weights [taps, units], one bias per unit.
  DepthwiseSums(const Conv2DGeometry& geometry, std::span<const Code> weights,
                std::span<const Sum> bias, Sum zero_point, Sum weight_zero_point = 0);

  const Conv2DGeometry& geometry() const { return geometry_; }
  Index units() const { return geometry_.filters; }
  std::size_t bytes() const { return bytes_of(geometry_); }
  static std::size_t bytes_of(const Conv2DGeometry& geometry);
  /// Bytes that each thread keeps beside a block of sums.
  std::size_t thread_bytes() const;
  /// The most rows of a block.
  Index block_rows() const { return block_lines() * geometry_.window.x.output; }

  /// Calls body(begin, end, write_sums) once for every block of rows [begin, end), on several
  /// threads; write_sums(to) writes its sums [end - begin, units]. Rows are outputs of the images
  /// of all samples, in order.
  void for_blocks(
      Index samples, const Code* x,
      FunctionRef<void(Index begin, Index end, FunctionRef<void(Sum*)> write_sums)> body) const;

 private:
  /// Lines of the outputs of an image that are a block.
  Index block_lines() const;
  /// Numbers of a prepared line of an image, every channel as often as it has units.
  Index line_size() const { return line_.input * units(); }
  /// Whether the images are read as they are.
  bool reads_in_place() const;
  /// Lines [begin, end) of the outputs of an image.
  void write_lines(const Code* image, Index begin, Index end, Sum* sums) const;
  /// Lines of floats, every channel as often as it has units; of codes pairs of them, less the zero
  /// point, with the padding of line_.
  void prepare(const Code* x, Index lines, Sum* to) const;
  /// The codes that a line of pairs is made of.
  std::size_t codes_of_line() const {
    return static_cast<std::size_t>((line_.input + geometry_.window.x.dilation) * units());
  }

  Conv2DGeometry geometry_;
  Sum zero_point_;
  /// A line as it is read: that of an image, or a prepared one with zeros at both ends, where all
  /// outputs read all taps.
  CorrelationAxis line_;
  /// Pixels of padding at its beginning and its end.
  Index before_;
  Index after_;
  DepthwiseCorrelation<Sum> correlation_;
};

/// Step two: rescales the sums. LiteRT's built-in kernels, whose contract is single, round twice
/// here, and compute what XNNPACK does not take: an operator without a bias.
Requantizer depthwise_requantizer(float input_scale, std::span<const float> weight_scales,
                                  float output_scale, Rounding rounding, bool has_bias);
Requantizer depthwise_requantizer(const KernelSource& source);

/// Returns the numbers of an int8 DEPTHWISE_CONV_2D, with weights [units, taps], which `weights`
/// then holds. Throws as dense_numbers().
FullyConnectedNumbers depthwise_numbers(const KernelSource& source,
                                        std::vector<std::int8_t>& weights);

}  // namespace octet::detail
