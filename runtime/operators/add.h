#pragma once

#include <octet/core/quant/code_adder.h>
#include <octet/runtime/operators/definitions.h>

// ADD: y = f(a + b) of operands of one shape, f a fused activation. An operand may be a constant.

namespace octet::detail {

void check_add(const OperatorView& view);
std::unique_ptr<Kernel> make_add(const KernelSource& source);

/// The arithmetic of an int8 ADD.
CodeAdder code_adder(const KernelSource& source);

inline constexpr OperatorDefinition kAdd{.code = OpCode::add,
                                         .name = "ADD",
                                         .default_attributes = default_of<AddAttributes>,
                                         .least_inputs = 2,
                                         .most_inputs = 2,
                                         .output_grid = OutputGrid::measured,
                                         .check = check_add,
                                         .make_kernel = make_add};

}  // namespace octet::detail
