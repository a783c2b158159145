#pragma once

#include <octet/runtime/operators/strided_copy.h>

#include <vector>

// SPLIT: equal parts of a tensor along an axis, which a constant second operand gives; each part is
// an output.

namespace octet::detail {

/// By output.
std::vector<StridedCopy> split_copies(const Operands& operands);

}  // namespace octet::detail
