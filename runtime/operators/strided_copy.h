#pragma once

#include <octet/core/strides.h>
#include <octet/runtime/operators/definitions.h>

#include <memory>
#include <span>
#include <vector>

// What operators have in common that only move elements.

namespace octet::detail {

/// Where an output's elements lie in the input, counted in elements: the one at (i0, i1, ...) lies
/// at first + i0 stride0 + i1 stride1 + ....
struct StridedCopy {
  Index first = 0;
  /// In the order of the output, which is walked from its first element to its last.
  std::vector<Axis<1>> axes{};
};

/// Throws FormatError unless input and outputs have one type, float32, int8 or int16, the same
/// scale and zero point, and no more axes than runtimes take.
void check_moved(const OperatorView& view);

/// `copies` are those of the outputs.
std::unique_ptr<Kernel> make_strided_copies(const KernelSource& source,
                                            std::span<const StridedCopy> copies);

}  // namespace octet::detail
