#include <octet/core/function_ref.h>
#include <octet/deploy/onnx/operators.h>
#include <octet/runtime/operators/binary.h>
#include <octet/runtime/operators/concatenation.h>

namespace octet::detail {
namespace {

using Extents = OnnxNodes::Extents;
using Names = OnnxNodes::Names;

/// apply(first, second) of all pairs of codes as a table: for arithmetic that no nodes have.
void write_pair_table(OnnxNodes& nodes, const Operands& o,
                      FunctionRef<std::int32_t(std::int32_t first, std::int32_t second)> apply) {
  const std::int32_t out = o.op.outputs[0];
  const std::string name = nodes.base_name(out);
  std::vector<std::int8_t> table;
  for (std::int32_t first = -128; first <= 127; ++first) {
    for (std::int32_t second = -128; second <= 127; ++second) {
      table.push_back(static_cast<std::int8_t>(apply(first, second)));
    }
  }
  const std::string codes =
      nodes.values().constant(name + "/table", OnnxType::int8, Extents{256 * 256}, table);
  const std::string first = nodes.integers(o.op.inputs[0], OnnxType::int64, name + "/first");
  const std::string second = nodes.integers(o.op.inputs[1], OnnxType::int64, name + "/second");
  const std::string row = nodes.with_integer("Mul", first, 256, name + "/row");
  const std::string pair = nodes.values().node("Add", {row, second}, name + "/pair");
  const std::string index = nodes.with_integer("Add", pair, 128 * 256 + 128, name + "/index");
  nodes.node_to("Gather", {codes, index}, out);
}

/// The node `op` of the reals of both operands, with the activation of the operator; its name ends
/// in `suffix`.
void write_binary_of_reals(OnnxNodes& nodes, const Operands& o, std::string_view op,
                           std::string_view suffix) {
  OnnxValues& values = nodes.values();
  const std::int32_t out = o.op.outputs[0];
  const std::string result =
      values.node(op, {values.reals(o.op.inputs[0]), values.reals(o.op.inputs[1])},
                  nodes.base_name(out) + std::string(suffix));
  nodes.finish_clamped(result, out, o.op.activation());
}

/// The sum of what both codes add or take off, rounded by a shift: in integers, which no runtime
/// rounds.
void add_rounded_once(OnnxNodes& nodes, const Operands& o, const QuantizedAdd& adder) {
  const std::int32_t out = o.op.outputs[0];
  const std::string name = nodes.base_name(out);
  Names products;
  for (std::size_t i = 0; i < 2; ++i) {
    const auto terms = adder.terms(i);
    const std::string side = name + (i == 0 ? "/first" : "/second");
    const std::string code = nodes.integers(o.op.inputs[i], OnnxType::int64, side);
    products.push_back(nodes.with_integer("Mul", code, terms[1] - terms[0], side + "/product"));
  }
  const std::string sum = nodes.values().node("Add", products, name + "/products");
  // Div rounds towards zero: made positive first, by whole steps, it rounds down as a shift does.
  constexpr std::int64_t kSteps = std::int64_t{1} << 20;
  const std::int64_t unit = std::int64_t{1} << adder.shift();
  const std::int64_t start = std::int64_t{adder.terms(0)[128]} + adder.terms(1)[128] + unit / 2;
  const std::string positive = nodes.with_integer("Add", sum, start + kSteps * unit, name + "/sum");
  const std::string steps = nodes.with_integer("Div", positive, unit, name + "/steps");
  nodes.finish_integers(
      nodes.with_integer("Add", steps, adder.zero_point() - kSteps, name + "/integers"), out,
      adder.limits());
}

void write_add(OnnxNodes& nodes, const Operands& o) {
  if (!nodes.exact() || !o.output().is_quantized()) {
    const bool is_sub = o.op.code == OpCode::sub;
    return write_binary_of_reals(nodes, o, is_sub ? "Sub" : "Add", is_sub ? "/difference" : "/sum");
  }
  const QuantizedAdd adder = quantized_add({o.model, o.op, Rounding::fp32});
  if (adder.rounds_once()) return add_rounded_once(nodes, o, adder);
  // Rounded twice, for scales that are far apart.
  write_pair_table(nodes, o, [&](std::int32_t first, std::int32_t second) {
    return adder.apply(first, second);
  });
}

void write_extreme(OnnxNodes& nodes, const Operands& o, std::string_view op) {
  OnnxValues& values = nodes.values();
  const std::int32_t out = o.op.outputs[0];
  const std::string name = nodes.base_name(out);
  if (!o.output().is_quantized()) {
    return nodes.node_to(op, {values.value(o.op.inputs[0]), values.value(o.op.inputs[1])}, out);
  }
  const std::string first = nodes.integers(o.op.inputs[0], OnnxType::int32, name + "/first");
  const std::string second = nodes.integers(o.op.inputs[1], OnnxType::int32, name + "/second");
  nodes.node_to("Cast", {values.node(op, {first, second}, name + "/integers")}, out,
                {{"to", static_cast<std::int64_t>(values.type_of(out))}});
}

}  // namespace

void onnx_forms::mul(OnnxNodes& nodes, const Operands& o) {
  if (!nodes.exact() || !o.output().is_quantized()) {
    return write_binary_of_reals(nodes, o, "Mul", "/product");
  }
  const QuantizedMul multiplier = quantized_mul({o.model, o.op, Rounding::fp32});
  if (!multiplier.rescales_in_float()) {
    return write_pair_table(nodes, o, [&](std::int32_t first, std::int32_t second) {
      return multiplier.apply(first, second);
    });
  }
  OnnxValues& values = nodes.values();
  const std::int32_t out = o.op.outputs[0];
  const std::string name = nodes.base_name(out);
  // A whole number below 2^16, which floats hold, and then one rounding as in the contract.
  const std::string product = values.node(
      "Mul", {values.terms(o.op.inputs[0]), values.terms(o.op.inputs[1])}, name + "/product");
  const std::string factor = values.constant(name + "/factor", {multiplier.float_factor()});
  nodes.finish_clamped(values.node("Mul", {product, factor}, name + "/rescaled"), out,
                       o.op.activation());
}

/// ONNX repeats the slopes as a .tflite file does.
void onnx_forms::prelu(OnnxNodes& nodes, const Operands& o) {
  if (!nodes.exact() || !o.output().is_quantized()) {
    return write_binary_of_reals(nodes, o, "PRelu", "/function");
  }
  const QuantizedPrelu prelu = quantized_prelu({o.model, o.op, Rounding::fp32});
  write_pair_table(nodes, o,
                   [&](std::int32_t x, std::int32_t alpha) { return prelu.apply(x, alpha); });
}

/// The integers of operands that share scale and zero point are compared themselves: in int32,
/// since ONNX Runtime has no Max and Min of int8 on every processor.
void onnx_forms::maximum(OnnxNodes& nodes, const Operands& o) { write_extreme(nodes, o, "Max"); }

void onnx_forms::minimum(OnnxNodes& nodes, const Operands& o) { write_extreme(nodes, o, "Min"); }

/// Codes are copied, so that there is no way between codes and reals.
void onnx_forms::concatenation(OnnxNodes& nodes, const Operands& o) {
  Names inputs;
  for (const std::int32_t i : o.op.inputs) inputs.push_back(nodes.values().value(i));
  nodes.node_to("Concat", inputs, o.op.outputs[0],
                {{"axis", static_cast<std::int64_t>(concatenation_axis(o))}});
}

void onnx_forms::add(OnnxNodes& nodes, const Operands& o) { write_add(nodes, o); }

void onnx_forms::sub(OnnxNodes& nodes, const Operands& o) { write_add(nodes, o); }

}  // namespace octet::detail
