#include <octet/deploy/onnx/operators.h>

namespace octet::detail {
namespace {

void write_softmax(OnnxNodes& nodes, const Operands& o) {
  OnnxValues& values = nodes.values();
  const std::int32_t out = o.op.outputs[0];
  const std::string name = nodes.base_name(out);
  const float factor = o.op.as<SoftmaxAttributes>().beta;
  std::string x = values.reals(o.op.inputs[0]);
  if (factor != 1.0F) {
    const std::string beta = values.constant(name + "/beta", {factor});
    x = values.node("Mul", {x, beta}, name + "/scaled");
  }
  nodes.finish(values.node("Softmax", {x}, name + "/softmax", {{"axis", std::int64_t{-1}}}), out);
}

}  // namespace

OnnxOperator onnx_forms::softmax() { return {write_softmax}; }

}  // namespace octet::detail
