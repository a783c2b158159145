#pragma once

#include <octet/core/conv2d_geometry.h>
#include <octet/core/kernels/correlate_s8.h>
#include <octet/runtime/operators/fully_connected.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

// CONV_2D: y[n, oy, ox, u] = f(sum over ky, kx, c of x[n, y, x, first + c] w[u, ky, kx, c] +
// bias[u]) with (y, x) where tap (ky, kx) of output (oy, ox) lies; what lies outside the image
// counts as 0. With several groups, the units of group g read the channels of group g alone: first
// = g * channels / groups. One group with a filter of 1 x 1 and stride 1 is FULLY_CONNECTED over
// the channels of every pixel.

namespace octet::detail {

/// The geometry of one sample's images, of operands that have been checked.
Conv2DGeometry conv_2d_geometry(const Operands& operands);

/// The weights [filters, patch] of each group, packed.
std::vector<PackedS8> pack_groups(const Conv2DGeometry& geometry,
                                  std::span<const std::int8_t> weights,
                                  std::int32_t weight_zero_point = 0);

/// Step one, exact, as DenseSums: the sums of every output and filter in int32.
class ConvSums {
 public:
  /// `geometry` is that of one sample, `groups` holds the weights of each group, `bias` one number
  /// per filter or none.
  ConvSums(const Conv2DGeometry& geometry, std::vector<PackedS8> groups,
           std::span<const std::int32_t> bias, std::int32_t input_zero_point,
           std::int32_t weight_zero_point = 0);

  const Conv2DGeometry& geometry() const { return geometry_; }
  /// What an object takes on this machine.
  static std::size_t bytes(const Conv2DGeometry& geometry, std::int32_t weight_zero_point = 0);
  /// Bytes that each thread keeps at most after sums of so many samples.
  std::size_t thread_bytes(Index samples) const;
  /// The most rows that `take` is given at once.
  Index block_rows() const { return block_; }

  /// Gives the sums [end - begin, filters of a group] of the rows [begin, end) of a group to
  /// `take`, on the thread that made them; their memory is then used again. Rows are outputs of the
  /// images of all samples, in order.
  void sums(Index samples, const std::int8_t* x,
            FunctionRef<void(Index group, Index begin, Index end, std::int32_t* sums)> take) const;
  /// Writes all sums [rows, filters] to `sums`. `done(begin, end, unit, units)` is called once for
  /// those of rows [begin, end) and filters [unit, unit + units), on the thread that made them.
  void sums(Index samples, const std::int8_t* x, std::int32_t* sums,
            FunctionRef<void(Index begin, Index end, Index unit, Index units)> done) const;

 private:
  Conv2DGeometry geometry_;
  /// Where tiles read the pixels in place.
  std::optional<CorrelationS8> correlation_;
  Index block_;
  /// What lies outside an image: the code of 0.
  std::int8_t padding_;
  /// Products with gathered patches, where `correlation_` is empty.
  std::vector<DenseSums> groups_;

  using Take = FunctionRef<void(Index group, Index begin, Index end, std::int32_t* sums)>;
  void gather(Index samples, const std::int8_t* x, Take take) const;
  void correlate(
      Index samples, const std::int8_t* x,
      FunctionRef<void(Index begin, Index end, const CorrelationS8::Lines& lines)> take) const;
};

/// Rescales the sums. Several groups are rounded twice under contract single: LiteRT's optimised
/// kernel leaves them to its reference kernel.
Requantizer conv_2d_requantizer(float input_scale, std::span<const float> weight_scales,
                                float output_scale, Rounding rounding, Index groups);
Requantizer conv_2d_requantizer(const KernelSource& source);

/// The numbers of an int8 CONV_2D. Throws as dense_numbers().
FullyConnectedNumbers conv_2d_numbers(const KernelSource& source);

}  // namespace octet::detail
