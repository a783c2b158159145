#pragma once

#include <octet/core/window.h>
#include <octet/runtime/operators/definitions.h>

// AVERAGE_POOL_2D and MAX_POOL_2D: the mean or the maximum, channel by channel, of the pixels of a
// window that lie inside the image. Input and output have one grid.

namespace octet::detail {

Window pool_window(const Operands& operands);

/// The codes that a pool of int8 may put out, cut as its activation asks.
ActivationRange pool_range(const KernelSource& source);

}  // namespace octet::detail
