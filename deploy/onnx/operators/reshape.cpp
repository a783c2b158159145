#include <octet/deploy/onnx/operators.h>

namespace octet::detail {
namespace {

void write_reshape(OnnxNodes& nodes, const Operands& o) {
  const std::int32_t out = o.op.outputs[0];
  nodes.node_to("Reshape", {nodes.values().value(o.op.inputs[0]), nodes.shape_of(out)}, out);
}

}  // namespace

OnnxOperator onnx_forms::reshape() { return {write_reshape}; }
OnnxOperator onnx_forms::squeeze() { return {write_reshape}; }

}  // namespace octet::detail
