#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/deploy/onnx/operators.h>

namespace octet::detail {

void onnx_forms::svdf(OnnxNodes& /*nodes*/, const Operands& operands) {
  throw InvalidArgument(
      fmt::format("to_onnx: {} '{}': ONNX has none; a layer SVDF is written as the operators that "
                  "it is made of",
                  to_string(operands.op.code), operands.output().name));
}

void onnx_forms::unidirectional_sequence_lstm(OnnxNodes& /*nodes*/, const Operands& operands) {
  throw InvalidArgument(
      fmt::format("to_onnx: {} '{}': ONNX has no LSTM of integers; a layer LSTM is written as the "
                  "operators that it is made of",
                  to_string(operands.op.code), operands.output().name));
}

}  // namespace octet::detail
