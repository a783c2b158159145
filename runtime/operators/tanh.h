#pragma once

#include <octet/runtime/operators/definitions.h>

// TANH: y = tanh(x); codes on the scale 1/128 with zero point 0.

namespace octet::detail {

void check_tanh(const OperatorView& view);
std::unique_ptr<Kernel> make_tanh(const KernelSource& source);
ByteTable tanh_table(const KernelSource& source);
QuantParams tanh_grid();

inline constexpr OperatorDefinition kTanh{.code = OpCode::tanh,
                                          .name = "TANH",
                                          .default_attributes = default_of<NoAttributes>,
                                          .least_inputs = 1,
                                          .most_inputs = 1,
                                          .output_grid = OutputGrid::fixed,
                                          .fixed_grid = tanh_grid,
                                          .check = check_tanh,
                                          .make_kernel = make_tanh,
                                          .byte_table = tanh_table};

}  // namespace octet::detail
