#pragma once

#include <octet/core/function_ref.h>
#include <octet/deploy/onnx/operators.h>

#include <string>
#include <string_view>

// What operators of two operands share in ONNX files.

namespace octet::detail {

/// What the numbers of an int64 constant do to those of another value.
std::string with_integer(OnnxNodes& nodes, std::string_view op, const std::string& x,
                         std::int64_t value, const std::string& name);

/// apply(first, second) of all pairs of codes as a table: for arithmetic that no nodes have.
void write_pair_table(OnnxNodes& nodes, const Operands& o,
                      FunctionRef<std::int32_t(std::int32_t first, std::int32_t second)> apply);

/// The node `op` of the reals of both operands, with the activation of the operator; its name ends
/// in `suffix`.
void write_binary_of_reals(OnnxNodes& nodes, const Operands& o, std::string_view op,
                           std::string_view suffix);

}  // namespace octet::detail
