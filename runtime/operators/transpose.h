#pragma once

#include <octet/runtime/operators/strided_copy.h>

#include <cstddef>
#include <vector>

// TRANSPOSE: axis i of the output is the input's axis permutation[i], a constant second operand.

namespace octet::detail {

/// By axis of the output: the input's.
std::vector<std::size_t> permutation_of(const Operands& operands);

StridedCopy transpose_copy(const Operands& operands);

}  // namespace octet::detail
