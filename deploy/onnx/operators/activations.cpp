#include <octet/deploy/onnx/operators.h>
#include <octet/runtime/operators/unary.h>

namespace octet::detail {
namespace {

void write_relu(OnnxNodes& nodes, const Operands& o) {
  if (nodes.exact() && o.input().is_quantized()) return nodes.finish_table(o);
  nodes.finish_regridded(nodes.values().reals(o.op.inputs[0]), o.op.outputs[0],
                         relu_activation(o.op.code));
}

void write_leaky_relu(OnnxNodes& nodes, const Operands& o) {
  nodes.finish_function(o, "LeakyRelu", {{"alpha", o.op.as<LeakyReluAttributes>().alpha}});
}

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

void write_logistic(OnnxNodes& nodes, const Operands& o) { nodes.finish_function(o, "Sigmoid"); }

void write_tanh(OnnxNodes& nodes, const Operands& o) { nodes.finish_function(o, "Tanh"); }

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

OnnxOperator onnx_forms::relu() { return {write_relu}; }
OnnxOperator onnx_forms::relu6() { return {write_relu}; }
OnnxOperator onnx_forms::relu_n1_to_1() { return {write_relu}; }

OnnxOperator onnx_forms::leaky_relu() { return {write_leaky_relu}; }

OnnxOperator onnx_forms::hard_swish() { return {write_hard_swish}; }

OnnxOperator onnx_forms::logistic() { return {write_logistic}; }

OnnxOperator onnx_forms::tanh() { return {write_tanh}; }

OnnxOperator onnx_forms::softmax() { return {write_softmax}; }

}  // namespace octet::detail
