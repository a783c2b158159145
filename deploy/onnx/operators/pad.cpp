#include <octet/deploy/onnx/operators.h>
#include <octet/runtime/operators/pad.h>

namespace octet::detail {
namespace {

using Extents = OnnxNodes::Extents;

/// Codes are copied, so that there is no way between codes and reals.
void write_pad(OnnxNodes& nodes, const Operands& o) {
  OnnxValues& values = nodes.values();
  const std::int32_t out = o.op.outputs[0];
  const std::string name = nodes.base_name(out);
  const auto axes = pad_axes(o);
  Extents pads;
  for (const PadAxis& axis : axes) pads.push_back(axis.before);
  for (const PadAxis& axis : axes) pads.push_back(axis.output - axis.input - axis.before);
  const std::string border =
      values.constant(name + "/pads", OnnxType::int64, {std::ssize(pads)}, pads);
  const float held = pad_border(o);
  const std::string value =
      o.output().is_quantized()
          ? values.code_constant(name + "/border", out, static_cast<std::int32_t>(held))
          : values.constant(name + "/border", {held});
  nodes.node_to("Pad", {values.value(o.op.inputs[0]), border, value}, out);
}

}  // namespace

OnnxOperator onnx_forms::pad() { return {write_pad}; }
OnnxOperator onnx_forms::padv2() { return {write_pad}; }

}  // namespace octet::detail
