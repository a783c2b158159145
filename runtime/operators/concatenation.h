#pragma once

#include <octet/runtime/operators/definitions.h>

// CONCATENATION: its inputs one behind the other along an axis. All have the output's type and
// grid, so that codes are copied.

namespace octet::detail {

void check_concatenation(const OperatorView& view);
std::unique_ptr<Kernel> make_concatenation(const KernelSource& source);

/// The axis, counted from the front.
std::size_t concatenation_axis(const Operands& operands);

/// Where the elements of an input go: `count` pieces of `elements` each, `stride` elements apart in
/// the output, the first at `offset`.
struct ConcatenationPart {
  std::size_t count;
  std::size_t elements;
  std::size_t stride;
  std::size_t offset;
};
std::vector<ConcatenationPart> concatenation_parts(const Operands& operands);

inline constexpr OperatorDefinition kConcatenation{
    .code = OpCode::concatenation,
    .name = "CONCATENATION",
    .default_attributes = default_of<ConcatenationAttributes>,
    .least_inputs = 2,
    .most_inputs = kMostInputs,
    .output_grid = OutputGrid::same_as_input,
    .check = check_concatenation,
    .make_kernel = make_concatenation};

}  // namespace octet::detail
