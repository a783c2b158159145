#pragma once

#include <octet/layers/program/program.h>

#include <cstddef>

namespace octet {

/// Steps in a row that cut a value into equal parts.
struct EqualParts {
  /// How many steps; 1 where they do not.
  std::size_t count = 1;
  /// The axis that they cut, the batch being 0.
  std::size_t axis = 0;
};

/// Finds STRIDED_SLICEs that are one SPLIT: the steps from `first` on that, in the order of the
/// parts, cut all of one value into equal parts along one axis, at most as many as a SPLIT has. A
/// step whose result has a quantizer of its own is none of them.
EqualParts equal_parts(const Program& program, std::size_t first);

}  // namespace octet
