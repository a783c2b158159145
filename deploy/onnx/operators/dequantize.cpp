#include <octet/deploy/onnx/operators.h>

namespace octet::detail {
namespace {

void write_dequantize(OnnxNodes& nodes, const Operands& o) {
  nodes.values().dequantize(o.op.inputs[0], nodes.values().value(o.op.outputs[0]));
}

}  // namespace

OnnxOperator onnx_forms::dequantize() { return {write_dequantize}; }

}  // namespace octet::detail
