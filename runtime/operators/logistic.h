#pragma once

#include <octet/runtime/operators/definitions.h>

// LOGISTIC: y = 1 / (1 + exp(-x)); codes on the scale 1/256 with zero point -128.

namespace octet::detail {

void check_logistic(const OperatorView& view);
std::unique_ptr<Kernel> make_logistic(const KernelSource& source);
ByteTable logistic_table(const KernelSource& source);
QuantParams logistic_grid();

inline constexpr OperatorDefinition kLogistic{.code = OpCode::logistic,
                                              .name = "LOGISTIC",
                                              .default_attributes = default_of<NoAttributes>,
                                              .least_inputs = 1,
                                              .most_inputs = 1,
                                              .output_grid = OutputGrid::fixed,
                                              .fixed_grid = logistic_grid,
                                              .check = check_logistic,
                                              .make_kernel = make_logistic,
                                              .byte_table = logistic_table};

}  // namespace octet::detail
