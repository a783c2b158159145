#include <octet/deploy/c/operators.h>
#include <octet/deploy/onnx/operators.h>
#include <octet/runtime/operators/concatenation.h>
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

constexpr std::string_view kPad = R"(/* @summary@. */
static void @layer@(const int8_t *input, int8_t *output)
{
    for (int32_t i = 0; i < @output_size@; ++i) {
        output[i] = @border@;
    }
@loops@}

)";

/// `statement` inside a loop over i0, i1, ... for each of the extents.
std::string nested_loops(std::span<const Index> extents, std::string_view statement) {
  std::string text = indented(fmt::format("{}\n", statement), extents.size() + 1);
  for (std::size_t k = extents.size(); k-- > 0;) {
    const std::string head =
        fmt::format("for (int32_t i{0} = 0; i{0} < {1}; ++i{0}) {{\n", k, extents[k]);
    text.insert(0, indented(head, k + 1)).append(indented("}\n", k + 1));
  }
  return text;
}

CLayer make_pad_layer(const CPlan& plan, const CStep& step) {
  CLayer layer;
  const std::int64_t size = step.source.output().size();
  layer.summary =
      summary_of(step, fmt::format("{} -> {} values", step.source.input().size(), size));
  std::vector<Index> extents;
  std::string place = "0";
  for (const PadAxis& axis : pad_axes(step.source)) {
    const std::size_t i = extents.size();
    place = i == 0 ? fmt::format("i{} + {}", i, axis.before)
                   : fmt::format("({}) * {} + i{} + {}", place, axis.output, i, axis.before);
    extents.push_back(axis.input);
  }
  Fillings f = layer_fillings(plan, step);
  f["summary"] = layer.summary;
  f["output_size"] = std::to_string(size);
  f["border"] = std::to_string(static_cast<int>(pad_border(step.source)));
  f["loops"] = nested_loops(extents, fmt::format("output[{}] = *input++;", place));
  layer.function = fill(kPad, f);
  return layer;
}

constexpr std::string_view kMove = R"(/* @summary@. */
static void @layer@(const int8_t *input, int8_t *output)
{
@loops@}

)";

CLayer make_strided_copy_layer(const CPlan& plan, const CStep& step, const StridedCopy& copy) {
  CLayer layer;
  layer.summary = summary_of(step, fmt::format("{} -> {} values", step.source.input().size(),
                                               step.source.output().size()));
  std::vector<Index> extents;
  std::string place = std::to_string(copy.first);
  for (const Axis<1>& axis : merge_axes(copy.axes)) {
    place += fmt::format(" + i{} * {}", extents.size(), axis.strides[0]);
    extents.push_back(axis.extent);
  }
  Fillings f = layer_fillings(plan, step);
  f["summary"] = layer.summary;
  f["loops"] = nested_loops(extents, fmt::format("*output++ = input[{}];", place));
  layer.function = fill(kMove, f);
  return layer;
}

/// One of the parts.
CLayer make_split_layer(const CPlan& plan, const CStep& step) {
  return make_strided_copy_layer(plan, step, split_copies(step.source)[step.result]);
}

CLayer make_strided_slice_layer(const CPlan& plan, const CStep& step) {
  return make_strided_copy_layer(plan, step, slice_copy(step.source));
}

CLayer make_transpose_layer(const CPlan& plan, const CStep& step) {
  return make_strided_copy_layer(plan, step, transpose_copy(step.source));
}

constexpr std::string_view kPart = R"(    for (int32_t i = 0; i < @count@; ++i) {
        for (int32_t k = 0; k < @elements@; ++k) {
            output[i * @stride@ + @offset@ + k] = input@number@[i * @elements@ + k];
        }
    }
)";

CLayer make_concatenation_layer(const CPlan& plan, const CStep& step) {
  CLayer layer;
  layer.summary = summary_of(
      step, fmt::format("{} inputs, {} values", step.from.size(), step.source.output().size()));
  const std::string type(c_type(step.source.output().dtype));
  std::string parameters;
  std::string body;
  std::size_t number = 0;
  for (const ConcatenationPart& part : concatenation_parts(step.source)) {
    parameters += fmt::format("const {} *input{}, ", type, number);
    body += fill(kPart, {{"count", std::to_string(part.count)},
                         {"elements", std::to_string(part.elements)},
                         {"stride", std::to_string(part.stride)},
                         {"offset", std::to_string(part.offset)},
                         {"number", std::to_string(number)}});
    ++number;
  }
  layer.function =
      fmt::format("/* {}. */\nstatic void {}({}{} *output)\n{{\n{}}}\n\n", layer.summary,
                  layer_fillings(plan, step)["layer"], parameters, type, body);
  return layer;
}

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

COperator c_forms::strided_slice() {
  return {.reads_all_inputs = false, .make = make_strided_slice_layer};
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
COperator c_forms::split() { return {.reads_all_inputs = false, .make = make_split_layer}; }

/// Quantized values are moved as they are.
void onnx_forms::transpose(OnnxNodes& nodes, const Operands& o) {
  const auto axes = permutation_of(o);
  nodes.node_to("Transpose", {nodes.values().value(o.op.inputs[0])}, o.op.outputs[0],
                {{"perm", Extents(axes.begin(), axes.end())}});
}
COperator c_forms::transpose() { return {.reads_all_inputs = false, .make = make_transpose_layer}; }

void onnx_forms::reshape(OnnxNodes& nodes, const Operands& o) { write_reshape(nodes, o); }

/// No step: nothing moves.
COperator c_forms::reshape() { return {.reads_all_inputs = false, .make = nullptr}; }

void onnx_forms::squeeze(OnnxNodes& nodes, const Operands& o) { write_reshape(nodes, o); }

/// No step: nothing moves.
COperator c_forms::squeeze() { return {.reads_all_inputs = false, .make = nullptr}; }

void onnx_forms::pad(OnnxNodes& nodes, const Operands& o) { write_pad(nodes, o); }
COperator c_forms::pad() { return {.reads_all_inputs = false, .make = make_pad_layer}; }

void onnx_forms::padv2(OnnxNodes& nodes, const Operands& o) { write_pad(nodes, o); }
COperator c_forms::padv2() { return {.reads_all_inputs = false, .make = make_pad_layer}; }

/// Codes are copied, so that there is no way between codes and reals.
void onnx_forms::concatenation(OnnxNodes& nodes, const Operands& o) {
  OnnxNodes::Names inputs;
  for (const std::int32_t i : o.op.inputs) inputs.push_back(nodes.values().value(i));
  nodes.node_to("Concat", inputs, o.op.outputs[0],
                {{"axis", static_cast<std::int64_t>(concatenation_axis(o))}});
}

COperator c_forms::concatenation() {
  return {.reads_all_inputs = true, .make = make_concatenation_layer};
}

}  // namespace octet::detail
