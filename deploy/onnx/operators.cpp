#include <octet/core/quant/requantize.h>
#include <octet/deploy/onnx/operators.h>
#include <octet/runtime/operators/add.h>
#include <octet/runtime/operators/concatenation.h>
#include <octet/runtime/operators/relu.h>

#include <utility>

namespace octet::detail {
namespace {

using Names = OnnxNodes::Names;
using Extents = OnnxNodes::Extents;

// ---- ADD

/// What the numbers of an int64 constant do to those of another value.
std::string with_integer(OnnxNodes& nodes, std::string_view op, const std::string& x,
                         std::int64_t value, const std::string& name) {
  const std::string constant = nodes.values().constant(name + "/by", OnnxType::int64, Extents{},
                                                       std::vector<std::int64_t>{value});
  return nodes.values().node(op, {x, constant}, name);
}

/// The sum of what both codes add, rounded by a shift: in integers, which no runtime rounds.
void add_rounded_once(OnnxNodes& nodes, const Operands& o, const CodeAdder& adder) {
  const std::int32_t out = o.op.outputs[0];
  const std::string name = nodes.base_name(out);
  Names products;
  for (std::size_t i = 0; i < 2; ++i) {
    const auto terms = adder.terms(i);
    const std::string side = name + (i == 0 ? "/first" : "/second");
    const std::string code = nodes.integers(o.op.inputs[i], OnnxType::int64, side);
    products.push_back(with_integer(nodes, "Mul", code, terms[1] - terms[0], side + "/product"));
  }
  const std::string sum = nodes.values().node("Add", products, name + "/products");
  // Div rounds towards zero: made positive first, by whole steps, it rounds down as a shift does.
  constexpr std::int64_t kSteps = std::int64_t{1} << 20;
  const std::int64_t unit = std::int64_t{1} << adder.shift();
  const std::int64_t start = std::int64_t{adder.terms(0)[128]} + adder.terms(1)[128] + unit / 2;
  const std::string positive =
      with_integer(nodes, "Add", sum, start + kSteps * unit, name + "/sum");
  const std::string steps = with_integer(nodes, "Div", positive, unit, name + "/steps");
  nodes.finish_integers(
      with_integer(nodes, "Add", steps, adder.zero_point() - kSteps, name + "/integers"), out,
      adder.limits());
}

/// The sum that is rounded twice, for scales that are far apart: by a table of all pairs of codes.
void add_by_table(OnnxNodes& nodes, const Operands& o, const CodeAdder& adder) {
  const std::int32_t out = o.op.outputs[0];
  const std::string name = nodes.base_name(out);
  std::vector<std::int8_t> table;
  for (std::int32_t first = -128; first <= 127; ++first) {
    for (std::int32_t second = -128; second <= 127; ++second) {
      table.push_back(static_cast<std::int8_t>(adder.apply(first, second)));
    }
  }
  const std::string codes =
      nodes.values().constant(name + "/table", OnnxType::int8, Extents{256 * 256}, table);
  const std::string first = nodes.integers(o.op.inputs[0], OnnxType::int64, name + "/first");
  const std::string second = nodes.integers(o.op.inputs[1], OnnxType::int64, name + "/second");
  const std::string row = with_integer(nodes, "Mul", first, 256, name + "/row");
  const std::string pair = nodes.values().node("Add", {row, second}, name + "/pair");
  const std::string index = with_integer(nodes, "Add", pair, 128 * 256 + 128, name + "/index");
  nodes.node_to("Gather", {codes, index}, out);
}

void write_add(OnnxNodes& nodes, const Operands& o) {
  const std::int32_t out = o.op.outputs[0];
  if (nodes.exact() && o.output().is_quantized()) {
    const CodeAdder adder = code_adder({o.model, o.op, Rounding::fp32});
    return adder.rounds_once() ? add_rounded_once(nodes, o, adder) : add_by_table(nodes, o, adder);
  }
  OnnxValues& values = nodes.values();
  const std::string sum =
      values.node("Add", {values.reals(o.op.inputs[0]), values.reals(o.op.inputs[1])},
                  nodes.base_name(out) + "/sum");
  nodes.finish_clamped(sum, out, o.op.activation());
}

// ---- CONCATENATION

/// Codes are copied, so that there is no way between codes and reals.
void write_concatenation(OnnxNodes& nodes, const Operands& o) {
  Names inputs;
  for (const std::int32_t i : o.op.inputs) inputs.push_back(nodes.values().value(i));
  nodes.node_to("Concat", inputs, o.op.outputs[0],
                {{"axis", static_cast<std::int64_t>(concatenation_axis(o))}});
}

// ---- FULLY_CONNECTED and CONV_2D of 1 x 1

/// Those of the fp32 contract: one, or one a unit.
std::vector<float> rescaling_factors(const Operands& o) {
  const auto requantizer =
      Requantizer::fully_connected(o.input().quantization.scale(), o.input(1).quantization.scales,
                                   o.output().quantization.scale(), Rounding::fp32);
  return {requantizer.factors().begin(), requantizer.factors().end()};
}

std::string dense_bias(OnnxNodes& nodes, const Operands& o) {
  const std::int32_t i = o.op.inputs[2];
  if (o.input(2).dtype == DType::float32) return nodes.values().value(i);
  if (nodes.exact()) return nodes.values().bias_terms(i, {1.0F});
  // A bias has the scale input * weight, whatever its tensor says.
  std::vector<float> scales = o.input(1).quantization.scales;
  for (float& scale : scales) scale *= o.input().quantization.scale();
  return nodes.values().bias_terms(i, scales);
}

void write_dense(OnnxNodes& nodes, const Operands& o) {
  OnnxValues& values = nodes.values();
  const std::int32_t weights = o.op.inputs[1];
  const std::int32_t out = o.op.outputs[0];
  const std::int64_t depth = o.input(1).shape.back();
  const std::string name = nodes.base_name(out);
  Names operands{nodes.rows(o.op.inputs[0], depth, name),
                 nodes.rows(weights, depth, nodes.base_name(weights))};
  if (o.has_input(2)) operands.push_back(dense_bias(nodes, o));
  std::string y = values.node("Gemm", operands, name + "/sum", {{"transB", std::int64_t{1}}});
  if (nodes.exact() && o.input().is_quantized()) {
    const std::string factors = values.constant(name + "/factor", rescaling_factors(o));
    y = values.node("Mul", {y, factors}, name + "/rescaled");
  }
  if (o.output().shape.size() != 2) {
    y = values.node("Reshape", {y, nodes.shape_of(out)}, name + "/shaped");
  }
  nodes.finish_clamped(y, out, o.op.activation());
}

// ---- QUANTIZE and DEQUANTIZE

void write_quantize(OnnxNodes& nodes, const Operands& o) {
  const std::int32_t in = o.op.inputs[0];
  const std::int32_t out = o.op.outputs[0];
  if (!o.input().is_quantized()) return nodes.values().quantize(nodes.values().value(in), out);
  if (nodes.exact()) return nodes.finish_table(o);
  nodes.finish_regridded(nodes.values().reals(in), out, FusedActivation::none);
}

void write_dequantize(OnnxNodes& nodes, const Operands& o) {
  nodes.values().dequantize(o.op.inputs[0], nodes.values().value(o.op.outputs[0]));
}

// ---- RESHAPE

void write_reshape(OnnxNodes& nodes, const Operands& o) {
  const std::int32_t out = o.op.outputs[0];
  nodes.node_to("Reshape", {nodes.values().value(o.op.inputs[0]), nodes.shape_of(out)}, out);
}

// ---- SOFTMAX

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

// ---- Functions of one number: of codes a table where exact, the function of reals otherwise

void write_function(OnnxNodes& nodes, const Operands& o, std::string_view function) {
  if (nodes.exact() && o.input().is_quantized()) return nodes.finish_table(o);
  const std::int32_t out = o.op.outputs[0];
  const std::string x = nodes.values().reals(o.op.inputs[0]);
  nodes.finish(nodes.values().node(function, {x}, nodes.base_name(out) + "/function"), out);
}

void write_logistic(OnnxNodes& nodes, const Operands& o) { write_function(nodes, o, "Sigmoid"); }
void write_tanh(OnnxNodes& nodes, const Operands& o) { write_function(nodes, o, "Tanh"); }

void write_relu(OnnxNodes& nodes, const Operands& o) {
  if (nodes.exact() && o.input().is_quantized()) return nodes.finish_table(o);
  nodes.finish_regridded(nodes.values().reals(o.op.inputs[0]), o.op.outputs[0],
                         relu_activation(o.op.code));
}

constexpr std::array kOperators = {OnnxOperator{OpCode::add, write_add},
                                   OnnxOperator{OpCode::concatenation, write_concatenation},
                                   OnnxOperator{OpCode::conv_2d, write_dense},
                                   OnnxOperator{OpCode::dequantize, write_dequantize},
                                   OnnxOperator{OpCode::fully_connected, write_dense},
                                   OnnxOperator{OpCode::logistic, write_logistic},
                                   OnnxOperator{OpCode::quantize, write_quantize},
                                   OnnxOperator{OpCode::relu, write_relu},
                                   OnnxOperator{OpCode::relu6, write_relu},
                                   OnnxOperator{OpCode::relu_n1_to_1, write_relu},
                                   OnnxOperator{OpCode::reshape, write_reshape},
                                   OnnxOperator{OpCode::softmax, write_softmax},
                                   OnnxOperator{OpCode::tanh, write_tanh}};

static_assert(is_complete(kOperators), "an operator has no ONNX form");

}  // namespace

const OnnxOperator& onnx_operator(OpCode code) { return entry_of(kOperators, code); }

}  // namespace octet::detail
