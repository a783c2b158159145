#include <octet/deploy/onnx/operators.h>
#include <octet/runtime/operators/relu.h>

namespace octet::detail {
namespace {

void write_relu(OnnxNodes& nodes, const Operands& o) {
  if (nodes.exact() && o.input().is_quantized()) return nodes.finish_table(o);
  nodes.finish_regridded(nodes.values().reals(o.op.inputs[0]), o.op.outputs[0],
                         relu_activation(o.op.code));
}

}  // namespace

OnnxOperator onnx_forms::relu() { return {write_relu}; }
OnnxOperator onnx_forms::relu6() { return {write_relu}; }
OnnxOperator onnx_forms::relu_n1_to_1() { return {write_relu}; }

}  // namespace octet::detail
