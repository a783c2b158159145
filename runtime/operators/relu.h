#pragma once

#include <octet/runtime/operators/definitions.h>

// RELU, RELU6 and RELU_N1_TO_1: y = min(max(x, lo), hi), as operators of their own. Codes are
// rescaled with two roundings under every contract.

namespace octet::detail {

void check_relu(const OperatorView& view);
std::unique_ptr<Kernel> make_relu(const KernelSource& source);
ByteTable relu_table(const KernelSource& source);

/// The activation that the operator is.
FusedActivation relu_activation(OpCode code);

constexpr OperatorDefinition relu_definition(OpCode code, std::string_view name) {
  return {.code = code,
          .name = name,
          .default_attributes = default_of<NoAttributes>,
          .least_inputs = 1,
          .most_inputs = 1,
          .output_grid = OutputGrid::measured,
          .check = check_relu,
          .make_kernel = make_relu,
          .byte_table = relu_table};
}

inline constexpr OperatorDefinition kRelu = relu_definition(OpCode::relu, "RELU");
inline constexpr OperatorDefinition kRelu6 = relu_definition(OpCode::relu6, "RELU6");
inline constexpr OperatorDefinition kReluN1To1 =
    relu_definition(OpCode::relu_n1_to_1, "RELU_N1_TO_1");

}  // namespace octet::detail
