#pragma once

#include <octet/core/quant/softmax.h>
#include <octet/runtime/operators/definitions.h>

// SOFTMAX over the last axis: y = exp(beta x) / sum exp(beta x); codes on the scale 1/256 with zero
// point -128.

namespace octet::detail {

void check_softmax(const OperatorView& view);
std::unique_ptr<Kernel> make_softmax(const KernelSource& source);
QuantParams softmax_grid();

/// The arithmetic of an int8 SOFTMAX. Throws FormatError for rows that are too long for it.
SoftmaxInt8 int8_softmax(const KernelSource& source);

inline constexpr OperatorDefinition kSoftmax{.code = OpCode::softmax,
                                             .name = "SOFTMAX",
                                             .default_attributes = default_of<SoftmaxAttributes>,
                                             .least_inputs = 1,
                                             .most_inputs = 1,
                                             .output_grid = OutputGrid::fixed,
                                             .fixed_grid = softmax_grid,
                                             .check = check_softmax,
                                             .make_kernel = make_softmax};

}  // namespace octet::detail
