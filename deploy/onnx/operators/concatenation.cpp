#include <octet/deploy/onnx/operators.h>
#include <octet/runtime/operators/concatenation.h>

namespace octet::detail {
namespace {

using Names = OnnxNodes::Names;

/// Codes are copied, so that there is no way between codes and reals.
void write_concatenation(OnnxNodes& nodes, const Operands& o) {
  Names inputs;
  for (const std::int32_t i : o.op.inputs) inputs.push_back(nodes.values().value(i));
  nodes.node_to("Concat", inputs, o.op.outputs[0],
                {{"axis", static_cast<std::int64_t>(concatenation_axis(o))}});
}

}  // namespace

OnnxOperator onnx_forms::concatenation() { return {write_concatenation}; }

}  // namespace octet::detail
