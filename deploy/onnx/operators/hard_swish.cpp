#include <octet/deploy/onnx/operators.h>

namespace octet::detail {
namespace {

/// x times its HardSigmoid: ONNX's own HardSwish is younger than the operators that we write.
void write_hard_swish(OnnxNodes& nodes, const Operands& o) {
  if (nodes.exact() && o.input().is_quantized()) return nodes.finish_table(o);
  OnnxValues& values = nodes.values();
  const std::int32_t out = o.op.outputs[0];
  const std::string name = nodes.base_name(out);
  const std::string x = values.reals(o.op.inputs[0]);
  const std::string gate =
      values.node("HardSigmoid", {x}, name + "/gate", {{"alpha", 1.0F / 6.0F}, {"beta", 0.5F}});
  nodes.finish(values.node("Mul", {x, gate}, name + "/function"), out);
}

}  // namespace

OnnxOperator onnx_forms::hard_swish() { return {write_hard_swish}; }

}  // namespace octet::detail
