#pragma once

#include <octet/deploy/c/sums.h>
#include <octet/deploy/onnx/operators.h>

#include <string>

// FULLY_CONNECTED, and what convolutions share with it.

namespace octet::detail {

/// The bias of sums of products: in steps of the sums in style exact, else in reals.
std::string dense_bias(OnnxNodes& nodes, const Operands& operands);

/// Sums in steps of the output, under a name that begins with `name`: along their axis 1, behind
/// which are as many axes as `behind`.
std::string rescaled(OnnxNodes& nodes, const Operands& operands, std::string sums,
                     std::size_t behind, const std::string& name);

/// FULLY_CONNECTED, or a convolution that is one, as a Gemm.
void write_dense(OnnxNodes& nodes, const Operands& operands);

/// FULLY_CONNECTED, or a convolution that is one, as a C function.
CLayer make_fully_connected_layer(const CPlan& plan, const CStep& step,
                                  const FullyConnectedNumbers& numbers);
/// Bytes that it works in.
std::int64_t fully_connected_scratch(const CPlan& plan, const FullyConnectedNumbers& numbers);

/// How its output may lie over its input.
std::optional<COverlap> fully_connected_overlap(const CPlan& plan,
                                                const FullyConnectedNumbers& numbers);

}  // namespace octet::detail
