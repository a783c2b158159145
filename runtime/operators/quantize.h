#pragma once

#include <octet/runtime/operators/definitions.h>

// QUANTIZE: reals to codes, q = clamp(round(x / scale) + zero_point), or codes of one grid to those
// of another.

namespace octet::detail {

void check_quantize(const OperatorView& view);
std::unique_ptr<Kernel> make_quantize(const KernelSource& source);
ByteTable quantize_table(const KernelSource& source);

inline constexpr OperatorDefinition kQuantize{.code = OpCode::quantize,
                                              .name = "QUANTIZE",
                                              .default_attributes = default_of<NoAttributes>,
                                              .least_inputs = 1,
                                              .most_inputs = 1,
                                              .output_grid = OutputGrid::measured,
                                              .check = check_quantize,
                                              .make_kernel = make_quantize,
                                              .byte_table = quantize_table};

}  // namespace octet::detail
