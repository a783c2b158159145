#pragma once

#include <octet/core/quant/code_adder.h>
#include <octet/runtime/operators/definitions.h>

// ADD and SUB: y = f(a + b) and f(a - b), f a fused activation; operands broadcast as binary.h
// says.

namespace octet::detail {

/// The arithmetic of an int8 ADD or SUB:
/// q = clamp(round((s_a (q_a - z_a) +- s_b (q_b - z_b)) / s) + z), the clamp that of the fused
/// activation; CodeAdder says which contract rounds how. Throws InvalidArgument unless inputs and
/// output have one normal, positive scale each.
CodeAdder code_adder(const KernelSource& source);

}  // namespace octet::detail
