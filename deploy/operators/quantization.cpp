#include <octet/deploy/c/operators.h>
#include <octet/deploy/onnx/operators.h>

namespace octet::detail {

void onnx_forms::quantize(OnnxNodes& nodes, const Operands& o) {
  const std::int32_t in = o.op.inputs[0];
  const std::int32_t out = o.op.outputs[0];
  if (!o.input().is_quantized()) return nodes.values().quantize(nodes.values().value(in), out);
  if (nodes.exact()) return nodes.finish_table(o);
  nodes.finish_regridded(nodes.values().reals(in), out, FusedActivation::none);
}
COperator c_forms::quantize() { return kByteTable; }

void onnx_forms::dequantize(OnnxNodes& nodes, const Operands& o) {
  nodes.values().dequantize(o.op.inputs[0], nodes.values().value(o.op.outputs[0]));
}

/// At the end of a model it is left out; anywhere else the plan refuses its floats.
COperator c_forms::dequantize() { return {.reads_all_inputs = false, .make = nullptr}; }

}  // namespace octet::detail
