#include <octet/deploy/onnx/operators.h>
#include <octet/runtime/operators/pad.h>
#include <octet/runtime/operators/split.h>
#include <octet/runtime/operators/strided_slice.h>
#include <octet/runtime/operators/transpose.h>

namespace octet::detail {
namespace {

using Extents = OnnxNodes::Extents;

void write_reshape(OnnxNodes& nodes, const Operands& o) {
  const std::int32_t out = o.op.outputs[0];
  nodes.node_to("Reshape", {nodes.values().value(o.op.inputs[0]), nodes.shape_of(out)}, out);
}

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

/// The starts, ends and steps of an ONNX Slice along some axes.
struct OnnxSlice {
  Extents starts{};
  Extents ends{};
  Extents axes{};
  Extents steps{};

  void add(std::int64_t start, std::int64_t end, std::size_t axis, std::int64_t step) {
    starts.push_back(start);
    ends.push_back(end);
    axes.push_back(static_cast<std::int64_t>(axis));
    steps.push_back(step);
  }
  /// The operands of the node, the constants under names that begin with `name`.
  OnnxNodes::Names operands(OnnxValues& values, const std::string& x,
                            const std::string& name) const {
    const auto constant = [&](std::string_view which, const Extents& numbers) {
      return values.constant(name + std::string(which), OnnxType::int64, {std::ssize(numbers)},
                             numbers);
    };
    return {x, constant("/starts", starts), constant("/ends", ends), constant("/axes", axes),
            constant("/steps", steps)};
  }
};

}  // namespace

/// Quantized values are copied. A dropped axis has an extent of 1 in the result of Slice.
void onnx_forms::strided_slice(OnnxNodes& nodes, const Operands& o) {
  OnnxValues& values = nodes.values();
  const std::int32_t out = o.op.outputs[0];
  const std::string name = nodes.base_name(out);
  const std::string& x = values.value(o.op.inputs[0]);
  const auto slices = slice_axes(o);
  OnnxSlice cut;
  bool drops = false;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    drops = drops || slices[i].is_dropped;
    if (slices[i].extent() == o.input().shape[i]) continue;
    cut.add(slices[i].begin, slices[i].end, i, slices[i].step);
  }
  if (cut.axes.empty()) return nodes.node_to("Reshape", {x, nodes.shape_of(out)}, out);
  const OnnxNodes::Names operands = cut.operands(values, x, name);
  if (!drops) return nodes.node_to("Slice", operands, out);
  nodes.node_to("Reshape", {values.node("Slice", operands, name + "/sliced"), nodes.shape_of(out)},
                out);
}

/// Each part by a Slice: quantized values are copied.
void onnx_forms::split(OnnxNodes& nodes, const Operands& o) {
  OnnxValues& values = nodes.values();
  const std::size_t axis = constant_axis(o);
  const std::int64_t extent = o.output().shape[axis];
  for (std::size_t i = 0; i < o.op.outputs.size(); ++i) {
    const std::int32_t out = o.op.outputs[i];
    const auto part = static_cast<std::int64_t>(i);
    OnnxSlice cut;
    cut.add(part * extent, (part + 1) * extent, axis, 1);
    nodes.node_to("Slice", cut.operands(values, values.value(o.op.inputs[0]), nodes.base_name(out)),
                  out);
  }
}

/// Quantized values are moved as they are.
void onnx_forms::transpose(OnnxNodes& nodes, const Operands& o) {
  const auto axes = permutation_of(o);
  nodes.node_to("Transpose", {nodes.values().value(o.op.inputs[0])}, o.op.outputs[0],
                {{"perm", Extents(axes.begin(), axes.end())}});
}

void onnx_forms::reshape(OnnxNodes& nodes, const Operands& o) { write_reshape(nodes, o); }

void onnx_forms::squeeze(OnnxNodes& nodes, const Operands& o) { write_reshape(nodes, o); }

void onnx_forms::pad(OnnxNodes& nodes, const Operands& o) { write_pad(nodes, o); }

void onnx_forms::padv2(OnnxNodes& nodes, const Operands& o) { write_pad(nodes, o); }

}  // namespace octet::detail
