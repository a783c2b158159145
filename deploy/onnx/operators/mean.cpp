#include <octet/deploy/onnx/operators.h>
#include <octet/runtime/operators/mean.h>

namespace octet::detail {
namespace {

using Extents = OnnxNodes::Extents;

std::int64_t keeps_axes(const Operands& o) { return o.op.as<MeanAttributes>().keep_dims ? 1 : 0; }

/// The sum of the codes in integers, and then float32 as in the contract.
void write_mean_of_axes(OnnxNodes& nodes, const Operands& o) {
  OnnxValues& values = nodes.values();
  const std::int32_t out = o.op.outputs[0];
  const std::string name = nodes.base_name(out);
  const CodeMean mean = code_mean({o.model, o.op, Rounding::fp32});
  const std::string axes =
      values.constant(name + "/axes", OnnxType::int64, Extents{2}, Extents{1, 2});
  const std::string codes = nodes.integers(o.op.inputs[0], OnnxType::int64, name + "/codes");
  const std::string sum =
      values.node("ReduceSum", {codes, axes}, name + "/sum", {{"keepdims", keeps_axes(o)}});
  const std::string real = values.node("Cast", {sum}, name + "/real",
                                       {{"to", static_cast<std::int64_t>(OnnxType::float32)}});
  const std::string factor = values.constant(name + "/factor", {mean.float_factor()});
  const std::string offset = values.constant(name + "/offset", {mean.float_offset()});
  const std::string rescaled = values.node("Mul", {real, factor}, name + "/rescaled");
  const std::string moved = values.node("Add", {rescaled, offset}, name + "/moved");
  const std::string rounded = values.node("Round", {moved}, name + "/rounded");
  // Clipped as floats, which may be beyond any integer.
  const std::string lowest = values.constant(name + "/lowest", {-128.0F});
  const std::string highest = values.constant(name + "/highest", {127.0F});
  const std::string clamped = values.node("Clip", {rounded, lowest, highest}, name + "/clamped");
  nodes.node_to("Cast", {clamped}, out, {{"to", static_cast<std::int64_t>(values.type_of(out))}});
}

/// Version 18 of ReduceMean reads its axes.
void write_mean(OnnxNodes& nodes, const Operands& o) {
  if (nodes.exact() && o.input().is_quantized()) return write_mean_of_axes(nodes, o);
  OnnxValues& values = nodes.values();
  const std::int32_t out = o.op.outputs[0];
  const std::string name = nodes.base_name(out);
  OnnxNodes::Names inputs{values.reals(o.op.inputs[0])};
  std::vector<OnnxAttribute> attributes;
  if (values.opset() < 18) {
    attributes.push_back({"axes", Extents{1, 2}});
  } else {
    inputs.push_back(values.constant(name + "/axes", OnnxType::int64, Extents{2}, Extents{1, 2}));
  }
  attributes.push_back({"keepdims", keeps_axes(o)});
  nodes.finish(values.node("ReduceMean", inputs, name + "/mean", attributes), out);
}

}  // namespace

OnnxOperator onnx_forms::mean() { return {write_mean}; }

}  // namespace octet::detail
