#pragma once

#include <octet/runtime/operators/definitions.h>

// RESHAPE: the same elements in the same order under another shape, which is a constant second
// input, the attribute new_shape, or the output's own.

namespace octet::detail {

void check_reshape(const OperatorView& view);
std::unique_ptr<Kernel> make_reshape(const KernelSource& source);

inline constexpr OperatorDefinition kReshape{.code = OpCode::reshape,
                                             .name = "RESHAPE",
                                             .default_attributes = default_of<ReshapeAttributes>,
                                             .least_inputs = 1,
                                             .most_inputs = 2,
                                             .output_grid = OutputGrid::same_as_input,
                                             .check = check_reshape,
                                             .make_kernel = make_reshape};

}  // namespace octet::detail
