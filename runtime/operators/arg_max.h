#pragma once

#include <octet/core/quant/axis.h>
#include <octet/runtime/operators/operands.h>

// ARG_MAX: the place of the largest element along an axis, the first of equal ones, as int32. The
// axis is a constant second operand.

namespace octet::detail {

/// The axis, and the elements of all axes in front of it and behind it.
AxisSplit reduced_axis(const Operands& operands);

}  // namespace octet::detail
