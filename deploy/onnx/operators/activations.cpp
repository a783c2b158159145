#include <octet/core/arithmetic/gelu.h>
#include <octet/deploy/onnx/operators.h>
#include <octet/runtime/operators/unary.h>

namespace octet::detail {
namespace {

void write_relu(OnnxNodes& nodes, const Operands& o) {
  if (nodes.exact() && o.input().is_quantized()) return nodes.finish_table(o);
  nodes.finish_regridded(nodes.values().reals(o.op.inputs[0]), o.op.outputs[0],
                         relu_activation(o.op.code));
}

}  // namespace

void onnx_forms::leaky_relu(OnnxNodes& nodes, const Operands& o) {
  nodes.finish_function(o, "LeakyRelu", {{"alpha", o.op.as<LeakyReluAttributes>().alpha}});
}

void onnx_forms::elu(OnnxNodes& nodes, const Operands& o) { nodes.finish_function(o, "Elu"); }

void onnx_forms::exp(OnnxNodes& nodes, const Operands& o) { nodes.finish_function(o, "Exp"); }

/// Quantized values below 0 give the lowest value, as 0 does: ONNX has NaN for them.
void onnx_forms::log(OnnxNodes& nodes, const Operands& o) {
  const bool has_logarithm =
      !o.input().is_quantized() || o.input().quantization.zero_point() == -128;
  if (nodes.exact() || has_logarithm) return nodes.finish_function(o, "Log");
  OnnxValues& values = nodes.values();
  const std::int32_t out = o.op.outputs[0];
  const std::string name = nodes.base_name(out);
  const std::string x = values.node("Relu", {values.reals(o.op.inputs[0])}, name + "/above");
  nodes.finish(values.node("Log", {x}, name + "/function"), out);
}

void onnx_forms::sqrt(OnnxNodes& nodes, const Operands& o) { nodes.finish_function(o, "Sqrt"); }

/// 0.5 x (1 + erf(x / sqrt(2))), or the tanh in place of erf: ONNX's own Gelu is younger than the
/// operators that we write.
void onnx_forms::gelu(OnnxNodes& nodes, const Operands& o) {
  if (nodes.exact() && o.input().is_quantized()) return nodes.finish_table(o);
  OnnxValues& values = nodes.values();
  const std::int32_t out = o.op.outputs[0];
  const std::string name = nodes.base_name(out);
  const std::string x = values.reals(o.op.inputs[0]);
  const auto with = [&](std::string_view op, const std::string& of, float number,
                        std::string_view suffix) {
    const std::string to = name + std::string(suffix);
    return values.node(op, {of, values.constant(to + "/by", {number})}, to);
  };
  const auto gate = [&] {
    if (!o.op.as<GeluAttributes>().approximate) {
      return values.node("Erf", {with("Mul", x, kSqrtHalf, "/argument")}, name + "/gate");
    }
    const std::string square = values.node("Mul", {x, x}, name + "/square");
    const std::string cube = values.node("Mul", {square, x}, name + "/cube");
    const std::string bent =
        values.node("Add", {x, with("Mul", cube, kGeluCube, "/bent_by")}, name + "/bent");
    return values.node("Tanh", {with("Mul", bent, kGeluFactor, "/argument")}, name + "/gate");
  };
  const std::string share = with("Add", gate(), 1.0F, "/share");
  const std::string half = with("Mul", x, 0.5F, "/half");
  nodes.finish(values.node("Mul", {half, share}, name + "/function"), out);
}

void onnx_forms::rsqrt(OnnxNodes& nodes, const Operands& o) {
  if (nodes.exact() && o.input().is_quantized()) return nodes.finish_table(o);
  OnnxValues& values = nodes.values();
  const std::int32_t out = o.op.outputs[0];
  const std::string name = nodes.base_name(out);
  const std::string root = values.node("Sqrt", {values.reals(o.op.inputs[0])}, name + "/root");
  nodes.finish(values.node("Reciprocal", {root}, name + "/function"), out);
}

/// x times its HardSigmoid: ONNX's own HardSwish is younger than the operators that we write.
void onnx_forms::hard_swish(OnnxNodes& nodes, const Operands& o) {
  if (nodes.exact() && o.input().is_quantized()) return nodes.finish_table(o);
  OnnxValues& values = nodes.values();
  const std::int32_t out = o.op.outputs[0];
  const std::string name = nodes.base_name(out);
  const std::string x = values.reals(o.op.inputs[0]);
  const std::string gate =
      values.node("HardSigmoid", {x}, name + "/gate", {{"alpha", 1.0F / 6.0F}, {"beta", 0.5F}});
  nodes.finish(values.node("Mul", {x, gate}, name + "/function"), out);
}

void onnx_forms::logistic(OnnxNodes& nodes, const Operands& o) {
  nodes.finish_function(o, "Sigmoid");
}

void onnx_forms::tanh(OnnxNodes& nodes, const Operands& o) { nodes.finish_function(o, "Tanh"); }

void onnx_forms::softmax(OnnxNodes& nodes, const Operands& o) {
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

void onnx_forms::relu(OnnxNodes& nodes, const Operands& o) { write_relu(nodes, o); }

void onnx_forms::relu6(OnnxNodes& nodes, const Operands& o) { write_relu(nodes, o); }

void onnx_forms::relu_n1_to_1(OnnxNodes& nodes, const Operands& o) { write_relu(nodes, o); }

}  // namespace octet::detail
