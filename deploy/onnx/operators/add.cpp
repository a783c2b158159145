#include <octet/deploy/onnx/operators.h>
#include <octet/runtime/operators/add.h>

namespace octet::detail {
namespace {

using Names = OnnxNodes::Names;
using Extents = OnnxNodes::Extents;

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

}  // namespace

OnnxOperator onnx_forms::add() { return {write_add}; }

}  // namespace octet::detail
