#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/core/quant/requantize.h>
#include <octet/deploy/onnx/operators.h>
#include <octet/deploy/onnx/operators/images.h>
#include <octet/runtime/operators/depthwise_conv_2d.h>

#include <utility>

namespace octet::detail {
namespace {

using Names = OnnxNodes::Names;
using Extents = OnnxNodes::Extents;

/// The factors of contract fp32: one, or one per unit.
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

/// Rescales, clamps and rounds sums under a name that begins with `name`.
void finish_sums(OnnxNodes& nodes, const Operands& o, std::string sums, const std::string& name) {
  if (nodes.exact() && o.input().is_quantized()) {
    const std::string factors = nodes.values().constant(name + "/factor", rescaling_factors(o));
    sums = nodes.values().node("Mul", {sums, factors}, name + "/rescaled");
  }
  nodes.finish_clamped(sums, o.op.outputs[0], o.op.activation());
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
  if (o.output().shape.size() != 2) {
    y = values.node("Reshape", {y, nodes.shape_of(out)}, name + "/shaped");
  }
  finish_sums(nodes, o, std::move(y), name);
}

/// ONNX convolves images [n, channels, height, width] with filters [units, channels of a group,
/// height, width]: both are transposed to that, the filters in `order`, and the sums back.
void write_conv(OnnxNodes& nodes, const Operands& o, const Conv2DGeometry& geometry,
                const Extents& order) {
  OnnxValues& values = nodes.values();
  const Window& w = geometry.window;
  const std::string name = nodes.base_name(o.op.outputs[0]);
  const std::string filters = values.node("Transpose", {values.terms(o.op.inputs[1])},
                                          name + "/filters", {{"perm", order}});
  Names operands{channels_first(nodes, values.terms(o.op.inputs[0]), name), filters};
  if (o.has_input(2)) operands.push_back(dense_bias(nodes, o));
  auto attributes = window_attributes(w);
  attributes.push_back({"dilations", Extents{w.y.dilation, w.x.dilation}});
  attributes.push_back({"group", geometry.groups});
  const std::string sums = values.node("Conv", operands, name + "/sum", attributes);
  finish_sums(nodes, o, channels_last(nodes, sums, name), name);
}

void write_conv_2d(OnnxNodes& nodes, const Operands& o) {
  const Conv2DGeometry geometry = conv_2d_geometry(o);
  if (geometry.is_matrix_product()) return write_dense(nodes, o);
  write_conv(nodes, o, geometry, {0, 3, 1, 2});
}

void write_depthwise(OnnxNodes& nodes, const Operands& o) {
  if (nodes.exact() && o.input().is_quantized() && !o.has_input(2)) {
    throw InvalidArgument(fmt::format(
        "to_onnx: DEPTHWISE_CONV_2D '{}': style exact computes contract fp32, under which a sum "
        "without bias is rounded twice, which ONNX's operators don't do; give it a bias of zeros, "
        "or use style standard",
        o.output().name));
  }
  write_conv(nodes, o, depthwise_geometry(o), {3, 0, 1, 2});
}

}  // namespace

OnnxOperator onnx_forms::fully_connected() { return {write_dense}; }
OnnxOperator onnx_forms::conv_2d() { return {write_conv_2d}; }
OnnxOperator onnx_forms::depthwise_conv_2d() { return {write_depthwise}; }

}  // namespace octet::detail
