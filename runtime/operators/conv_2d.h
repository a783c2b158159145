#pragma once

#include <octet/core/window.h>
#include <octet/runtime/operators/fully_connected.h>

#include <vector>

// CONV_2D: y[n, oy, ox, u] = f(sum over ky, kx, c of x[n, y, x, first + c] w[u, ky, kx, c] +
// bias[u]) with (y, x) where tap (ky, kx) of output (oy, ox) lies; what lies outside the image
// counts as 0. With several groups, the units of group g read the channels of group g alone: first
// = g * channels / groups. One group with a filter of 1 x 1 and stride 1 is FULLY_CONNECTED over
// the channels of every pixel.

namespace octet::detail {

/// Where the operands of a CONV_2D lie.
struct Conv2DShape {
  Window window;
  /// Images of one sample.
  Index images;
  Index channels;
  Index groups;
  Index units;

  Index group_channels() const { return channels / groups; }
  Index group_units() const { return units / groups; }
  /// Weights of one unit.
  Index depth() const { return window.taps() * group_channels(); }
  /// Outputs of one sample, each of `units` values.
  Index rows() const { return images * window.outputs(); }
  /// Whether the input itself is the matrix of patches.
  bool is_dense() const { return groups == 1 && window.is_pointwise(); }
};

/// Of operands that have been checked.
Conv2DShape conv_2d_shape(const Operands& operands);

/// Those of an int8 CONV_2D. LiteRT's built-in kernels, whose contract is single, run several
/// groups by their reference kernel, which rounds twice. Throws as dense_numbers().
FullyConnectedNumbers conv_2d_numbers(const KernelSource& source);

}  // namespace octet::detail
