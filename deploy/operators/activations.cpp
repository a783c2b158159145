#include <octet/core/arithmetic/gelu.h>
#include <octet/deploy/c/operators.h>
#include <octet/deploy/onnx/operators.h>
#include <octet/runtime/operators/softmax.h>
#include <octet/runtime/operators/unary.h>

#include <bit>

namespace octet::detail {
namespace {

void write_relu(OnnxNodes& nodes, const Operands& o) {
  if (nodes.exact() && o.input().is_quantized()) return nodes.finish_table(o);
  nodes.finish_regridded(nodes.values().reals(o.op.inputs[0]), o.op.outputs[0],
                         relu_activation(o.op.code));
}

constexpr std::string_view kSoftmax = R"(/* @summary@. */
static void @layer@(const int8_t *input, int8_t *output)
{
    for (int32_t row = 0; row < @count@; ++row) {
        @name@_softmax(input + row * @length@, output + row * @length@, @length@, @layer@_exp);
    }
}

)";

constexpr std::string_view kSoftmaxRow = R"(/* @summary@. */
static void @layer@(const int8_t *input, int8_t *output)
{
    @name@_softmax(input, output, @length@, @layer@_exp);
}

)";

/// exp() by the distance from a row's largest code, and what the numbers are.
std::string softmax_table(const CStep& step, const std::string& name) {
  const SoftmaxInt8 softmax = int8_softmax(step.source);
  const std::string top = "/* exp(-beta * scale * d) for a code d below the row's largest, ";
  if (step.source.rounding != Rounding::fp32) {
    return top + "in units of 2^-31. */\n" + array_text("uint32_t", name, softmax.exp_fixed());
  }
  std::vector<std::string> bits;
  for (const float power : softmax.exp_float()) {
    bits.push_back(fmt::format("{:#010x}", std::bit_cast<std::uint32_t>(power)));
  }
  return top + "as the bits of a float32. */\n" + array_text("uint32_t", name, bits);
}

CLayer make_softmax_layer(const CPlan& plan, const CStep& step) {
  const ModelTensor& input = step.source.input();
  const std::int64_t length = input.shape.empty() ? 1 : input.shape.back();
  const std::int64_t rows = input.size() / length;
  CLayer layer;
  layer.summary = summary_of(step, rows == 1 ? fmt::format("{} values", length)
                                             : fmt::format("{} rows of {} values", rows, length));
  Fillings f = layer_fillings(plan, step);
  f["summary"] = layer.summary;
  f["length"] = std::to_string(length);
  f["count"] = std::to_string(rows);
  layer.constants = softmax_table(step, f["layer"] + "_exp");
  layer.calls = {CFunction::softmax};
  layer.function = fill(rows == 1 ? kSoftmaxRow : kSoftmax, f);
  layer.flash_bytes = 256 * 4;
  return layer;
}

}  // namespace

void onnx_forms::leaky_relu(OnnxNodes& nodes, const Operands& o) {
  nodes.finish_function(o, "LeakyRelu", {{"alpha", o.op.as<LeakyReluAttributes>().alpha}});
}
COperator c_forms::leaky_relu() { return kByteTable; }

void onnx_forms::elu(OnnxNodes& nodes, const Operands& o) { nodes.finish_function(o, "Elu"); }
COperator c_forms::elu() { return kByteTable; }

void onnx_forms::exp(OnnxNodes& nodes, const Operands& o) { nodes.finish_function(o, "Exp"); }
COperator c_forms::exp() { return kByteTable; }

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
COperator c_forms::log() { return kByteTable; }

void onnx_forms::sqrt(OnnxNodes& nodes, const Operands& o) { nodes.finish_function(o, "Sqrt"); }
COperator c_forms::sqrt() { return kByteTable; }

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
COperator c_forms::gelu() { return kByteTable; }

void onnx_forms::rsqrt(OnnxNodes& nodes, const Operands& o) {
  if (nodes.exact() && o.input().is_quantized()) return nodes.finish_table(o);
  OnnxValues& values = nodes.values();
  const std::int32_t out = o.op.outputs[0];
  const std::string name = nodes.base_name(out);
  const std::string root = values.node("Sqrt", {values.reals(o.op.inputs[0])}, name + "/root");
  nodes.finish(values.node("Reciprocal", {root}, name + "/function"), out);
}
COperator c_forms::rsqrt() { return kByteTable; }

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
COperator c_forms::hard_swish() { return kByteTable; }

void onnx_forms::logistic(OnnxNodes& nodes, const Operands& o) {
  nodes.finish_function(o, "Sigmoid");
}
COperator c_forms::logistic() { return kByteTable; }

void onnx_forms::tanh(OnnxNodes& nodes, const Operands& o) { nodes.finish_function(o, "Tanh"); }
COperator c_forms::tanh() { return kByteTable; }

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

COperator c_forms::softmax() {
  return {.reads_all_inputs = false, .make = make_softmax_layer, .overlap = elementwise_overlap};
}

void onnx_forms::relu(OnnxNodes& nodes, const Operands& o) { write_relu(nodes, o); }
COperator c_forms::relu() { return kByteTable; }

void onnx_forms::relu6(OnnxNodes& nodes, const Operands& o) { write_relu(nodes, o); }
COperator c_forms::relu6() { return kByteTable; }

void onnx_forms::relu_n1_to_1(OnnxNodes& nodes, const Operands& o) { write_relu(nodes, o); }
COperator c_forms::relu_n1_to_1() { return kByteTable; }

}  // namespace octet::detail
