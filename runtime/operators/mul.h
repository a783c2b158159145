#pragma once

#include <octet/core/quant/code_multiplier.h>
#include <octet/runtime/operators/definitions.h>

// MUL: y = f(a b), f a fused activation; operands broadcast as binary.h says.

namespace octet::detail {

/// The arithmetic of an int8 MUL: q = clamp(round(s_a (q_a - z_a) s_b (q_b - z_b) / s) + z), the
/// clamp that of the fused activation; CodeMultiplier says which contract rounds how. Throws
/// InvalidArgument unless inputs and output have one normal, positive scale each.
CodeMultiplier code_multiplier(const KernelSource& source);

}  // namespace octet::detail
