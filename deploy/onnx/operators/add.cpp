#include <octet/deploy/onnx/operators/binary.h>
#include <octet/runtime/operators/add.h>

namespace octet::detail {
namespace {

using Names = OnnxNodes::Names;

/// The sum of what both codes add or take off, rounded by a shift: in integers, which no runtime
/// rounds.
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

void write_add(OnnxNodes& nodes, const Operands& o) {
  if (!nodes.exact() || !o.output().is_quantized()) {
    const bool is_sub = o.op.code == OpCode::sub;
    return write_binary_of_reals(nodes, o, is_sub ? "Sub" : "Add", is_sub ? "/difference" : "/sum");
  }
  const CodeAdder adder = code_adder({o.model, o.op, Rounding::fp32});
  if (adder.rounds_once()) return add_rounded_once(nodes, o, adder);
  // Rounded twice, for scales that are far apart.
  write_pair_table(nodes, o, [&](std::int32_t first, std::int32_t second) {
    return adder.apply(first, second);
  });
}

}  // namespace

OnnxOperator onnx_forms::add() { return {write_add}; }
OnnxOperator onnx_forms::sub() { return {write_add}; }

}  // namespace octet::detail
