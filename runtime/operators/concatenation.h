#pragma once

#include <octet/runtime/operators/definitions.h>

// CONCATENATION: its inputs one behind the other along an axis. All have the output's type and
// grid, so that codes are copied.

namespace octet::detail {

/// The axis, counted from the front.
std::size_t concatenation_axis(const Operands& operands);

/// Where the elements of one sample of an input go: `count` pieces of `elements` elements each. In
/// the output the pieces begin `stride` elements apart, the first at element `offset`.
struct ConcatenationPart {
  std::size_t count;
  std::size_t elements;
  std::size_t stride;
  std::size_t offset;
};
/// One part per input, in their order; numbers of elements, not bytes.
std::vector<ConcatenationPart> concatenation_parts(const Operands& operands);

}  // namespace octet::detail
