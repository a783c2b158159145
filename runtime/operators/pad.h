#pragma once

#include <octet/runtime/operators/definitions.h>

#include <vector>

// PAD and PADV2: a tensor with a border, as wide in front of and behind each axis as a constant
// second input [rank, 2] says, of zeros or of the value that a constant third input says. The code
// of zero is the zero point.

namespace octet::detail {

struct PadAxis {
  Index input;
  Index before;
  Index output;
};

/// By axis of the tensor.
std::vector<PadAxis> pad_axes(const Operands& operands);

/// What the border holds: a code, or a real where the output is float32.
float pad_border(const Operands& operands);

}  // namespace octet::detail
