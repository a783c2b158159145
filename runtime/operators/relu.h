#pragma once

#include <octet/runtime/operators/definitions.h>

// RELU, RELU6 and RELU_N1_TO_1: y = min(max(x, lo), hi), as operators of their own. Codes are
// rescaled with two roundings under every contract.

namespace octet::detail {

/// The activation that the operator is.
FusedActivation relu_activation(OpCode code);

}  // namespace octet::detail
