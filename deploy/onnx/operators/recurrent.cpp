#include <octet/core/error.h>
#include <octet/deploy/onnx/operators.h>

namespace octet::detail {

void onnx_forms::svdf(OnnxNodes& /*nodes*/, const Operands& /*operands*/) {
  throw InvalidArgument(
      "ONNX has no such operator; a layer SVDF is written as the operators that it is made of");
}

void onnx_forms::unidirectional_sequence_lstm(OnnxNodes& /*nodes*/, const Operands& /*operands*/) {
  throw InvalidArgument(
      "ONNX has no LSTM of integers; a layer LSTM is written as the operators that it is made of");
}

}  // namespace octet::detail
