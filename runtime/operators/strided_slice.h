#pragma once

#include <octet/runtime/operators/strided_copy.h>

#include <vector>

// STRIDED_SLICE: of each axis the elements from `begin` to `end`, `step` apart, as three constant
// operands and the masks of the attributes say.

namespace octet::detail {

/// What is taken of an axis of the input.
struct SliceAxis {
  Index begin;
  Index end;
  Index step;
  bool is_dropped;

  Index extent() const { return end > begin ? (end - begin - 1) / step + 1 : 0; }
};

/// By axis of the input.
std::vector<SliceAxis> slice_axes(const Operands& operands);

StridedCopy slice_copy(const Operands& operands);

}  // namespace octet::detail
