#include <octet/deploy/onnx/operators/binary.h>

namespace octet::detail {

using Extents = OnnxNodes::Extents;

std::string with_integer(OnnxNodes& nodes, std::string_view op, const std::string& x,
                         std::int64_t value, const std::string& name) {
  const std::string constant = nodes.values().constant(name + "/by", OnnxType::int64, Extents{},
                                                       std::vector<std::int64_t>{value});
  return nodes.values().node(op, {x, constant}, name);
}

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
  const std::string row = with_integer(nodes, "Mul", first, 256, name + "/row");
  const std::string pair = nodes.values().node("Add", {row, second}, name + "/pair");
  const std::string index = with_integer(nodes, "Add", pair, 128 * 256 + 128, name + "/index");
  nodes.node_to("Gather", {codes, index}, out);
}

void write_binary_of_reals(OnnxNodes& nodes, const Operands& o, std::string_view op,
                           std::string_view suffix) {
  OnnxValues& values = nodes.values();
  const std::int32_t out = o.op.outputs[0];
  const std::string result =
      values.node(op, {values.reals(o.op.inputs[0]), values.reals(o.op.inputs[1])},
                  nodes.base_name(out) + std::string(suffix));
  nodes.finish_clamped(result, out, o.op.activation());
}

}  // namespace octet::detail
