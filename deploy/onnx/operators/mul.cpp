#include <octet/deploy/onnx/operators/binary.h>
#include <octet/runtime/operators/mul.h>

namespace octet::detail {
namespace {

void write_mul(OnnxNodes& nodes, const Operands& o) {
  if (!nodes.exact() || !o.output().is_quantized()) {
    return write_binary_of_reals(nodes, o, "Mul", "/product");
  }
  const CodeMultiplier multiplier = code_multiplier({o.model, o.op, Rounding::fp32});
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

}  // namespace

OnnxOperator onnx_forms::mul() { return {write_mul}; }

}  // namespace octet::detail
