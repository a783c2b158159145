#include <octet/core/error.h>
#include <octet/deploy/c/operators.h>
#include <octet/deploy/onnx/operators.h>

namespace octet::detail {

void onnx_forms::svdf(OnnxNodes& /*nodes*/, const Operands& /*operands*/) {
  throw InvalidArgument(
      "ONNX has no such operator; a layer SVDF is written as the operators that it is made of");
}

/// The plan refuses its state.
COperator c_forms::svdf() { return {.reads_all_inputs = false, .make = nullptr}; }

void onnx_forms::unidirectional_sequence_lstm(OnnxNodes& /*nodes*/, const Operands& /*operands*/) {
  throw InvalidArgument(
      "ONNX has no LSTM of integers; a layer LSTM is written as the operators that it is made of "
      "unless LSTMOptions::fused is set");
}

/// The plan refuses its states.
COperator c_forms::unidirectional_sequence_lstm() {
  return {.reads_all_inputs = false, .make = nullptr};
}

}  // namespace octet::detail
