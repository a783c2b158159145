#pragma once

#include <octet/runtime/operators/definitions.h>

// DEQUANTIZE: codes to reals, x = scale (q - zero_point).

namespace octet::detail {

void check_dequantize(const OperatorView& view);
std::unique_ptr<Kernel> make_dequantize(const KernelSource& source);

inline constexpr OperatorDefinition kDequantize{.code = OpCode::dequantize,
                                                .name = "DEQUANTIZE",
                                                .default_attributes = default_of<NoAttributes>,
                                                .least_inputs = 1,
                                                .most_inputs = 1,
                                                .output_grid = OutputGrid::measured,
                                                .check = check_dequantize,
                                                .make_kernel = make_dequantize};

}  // namespace octet::detail
