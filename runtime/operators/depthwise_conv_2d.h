#pragma once

#include <octet/runtime/operators/conv_2d.h>

#include <cstdint>
#include <vector>

// DEPTHWISE_CONV_2D: y[n, oy, ox, c m + j] = f(sum over ky, kx of x[n, y, x, c] w[0, ky, kx, c m +
// j] + bias[c m + j]), m the depth multiplier: CONV_2D with a group for every channel, but for the
// order of its weights.

namespace octet::detail {

/// Of operands that have been checked: as many groups as channels.
Conv2DGeometry depthwise_geometry(const Operands& operands);

/// Whose arithmetic rescales the sums. LiteRT's built-in kernels, whose contract is single, round
/// twice here, and compute what XNNPACK does not take: an operator without a bias.
Rounding depthwise_rounding(const KernelSource& source);

/// Those of an int8 DEPTHWISE_CONV_2D, weights [units, taps], which `weights` then holds. Throws as
/// dense_numbers().
FullyConnectedNumbers depthwise_numbers(const KernelSource& source,
                                        std::vector<std::int8_t>& weights);

}  // namespace octet::detail
