#include <octet/deploy/onnx/operators.h>

namespace octet::detail {
void onnx_forms::cast(OnnxNodes& nodes, const Operands& o) {
  const std::int32_t out = o.op.outputs[0];
  nodes.node_to("Cast", {nodes.values().value(o.op.inputs[0])}, out,
                {{"to", static_cast<std::int64_t>(nodes.values().type_of(out))}});
}

/// Rows of quantized values are copied.
void onnx_forms::gather(OnnxNodes& nodes, const Operands& o) {
  OnnxValues& values = nodes.values();
  const std::string table = values.value(o.op.inputs[1]);
  nodes.node_to("Gather", {table, values.value(o.op.inputs[0])}, o.op.outputs[0],
                {{"axis", std::int64_t{0}}});
}

}  // namespace octet::detail
