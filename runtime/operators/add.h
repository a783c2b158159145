#pragma once

#include <octet/core/quant/code_adder.h>
#include <octet/runtime/operators/definitions.h>

// ADD: y = f(a + b) of operands of one shape, f a fused activation. An operand may be a constant.

namespace octet::detail {

/// The arithmetic of an int8 ADD.
CodeAdder code_adder(const KernelSource& source);

}  // namespace octet::detail
