#pragma once

#include <octet/core/conv2d_geometry.h>
#include <octet/runtime/operators/fully_connected.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

// FULLY_CONNECTED, CONV_2D and DEPTHWISE_CONV_2D on int16 codes with int8 weights and an int64 bias
// (16x8): y = clamp(rescale(sum x w + bias)) under contract q15, the sums exact in int64. Zero
// points are 0.

namespace octet::detail {

/// The numbers of such an operator, for whoever runs it.
struct Int16Numbers {
  /// The weights in the operator's own order.
  std::vector<std::int8_t> weights;
  /// One number per unit.
  std::vector<std::int64_t> bias;
  DenseEpilogue epilogue;
};

/// The numbers of an operator that has been checked; units lie along `axis` of its weights. Throws
/// InvalidArgument where an input could bring a sum past what runtimes compute: see
/// Requantizer::require_fitting().
Int16Numbers int16_numbers(const KernelSource& source, Requantizer requantizer,
                           std::size_t axis = 0);

/// The least output scale at which the sums of such an operator are what runtimes compute for any
/// input: see Requantizer::require_fitting().
float least_int16_scale(const Operands& operands, std::size_t axis);

/// The largest value that sum |w| * 32768 + |bias| comes to over the units.
std::int64_t int16_bound(std::span<const std::int64_t> magnitudes,
                         std::span<const std::int64_t> bias);

/// Throws FormatError unless operands of an operator whose input is int16 are of the types and
/// grids above.
void check_int16_operands(const OperatorView& view);

std::unique_ptr<Kernel> make_int16_dense(const KernelSource& source, Int16Numbers numbers);
std::unique_ptr<Kernel> make_int16_conv(const Conv2DGeometry& geometry, Int16Numbers numbers);
std::unique_ptr<Kernel> make_int16_depthwise(const Conv2DGeometry& geometry, Int16Numbers numbers);
/// Upper bounds of what they keep: the first two, of units in so many groups, and the last.
std::size_t int16_bytes(const Operands& operands, Index groups = 1);
std::size_t int16_depthwise_bytes(const Operands& operands);

}  // namespace octet::detail
