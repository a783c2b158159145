#include <octet/deploy/onnx/operators.h>

namespace octet::detail {

/// Compares quantized values, the larger of which stand for larger numbers. ArgMax gives int64.
void onnx_forms::arg_max(OnnxNodes& nodes, const Operands& o) {
  OnnxValues& values = nodes.values();
  const std::int32_t out = o.op.outputs[0];
  const std::string place =
      values.node("ArgMax", {values.value(o.op.inputs[0])}, nodes.base_name(out) + "/int64",
                  {{"axis", static_cast<std::int64_t>(constant_axis(o))},
                   {"keepdims", std::int64_t{0}},
                   {"select_last_index", std::int64_t{0}}});
  nodes.node_to("Cast", {place}, out, {{"to", static_cast<std::int64_t>(values.type_of(out))}});
}

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
