#pragma once

#include <octet/runtime/operators/definitions.h>

#include <vector>

// PAD: a tensor with a border of zeros, as many in front of and behind each axis as a constant
// second input [rank, 2] says. The code of zero is the zero point.

namespace octet::detail {

struct PadAxis {
  Index input;
  Index before;
  Index output;
};

/// By axis of the tensor.
std::vector<PadAxis> pad_axes(const Operands& operands);

}  // namespace octet::detail
