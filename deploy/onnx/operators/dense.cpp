#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/quant/requantize.h>
#include <octet/deploy/onnx/operators.h>
#include <octet/deploy/onnx/operators/images.h>
#include <octet/runtime/operators/depthwise_conv_2d.h>
#include <octet/runtime/operators/transpose_conv.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace octet::detail {
namespace {

using Extents = OnnxNodes::Extents;
using Names = OnnxNodes::Names;

/// The factors of contract fp32: one, or one per unit.
std::vector<float> rescaling_factors(const Operands& o) {
  if (contract_of_weights({o.model, o.op, Rounding::fp32}) != Rounding::fp32) {
    throw InvalidArgument(
        fmt::format("expected weights whose sums runtimes rescale in rounding mode fp32, found "
                    "weights stored in "
                    "{} bits, which they rescale otherwise; store them in 8",
                    o.input(1).stored_bits));
  }
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

/// Sums in steps of the output, under a name that begins with `name`: along their axis 1, behind
/// which are as many axes as `behind`.
std::string rescaled(OnnxNodes& nodes, const Operands& o, std::string sums, std::size_t behind,
                     const std::string& name) {
  if (!nodes.exact() || !o.input().is_quantized()) return sums;
  const std::vector<float> factors = rescaling_factors(o);
  Extents shape;
  if (factors.size() > 1) {
    shape.assign(1 + behind, 1);
    shape[0] = std::ssize(factors);
  }
  const std::string by =
      nodes.values().constant(name + "/factor", OnnxType::float32, shape, factors);
  return nodes.values().node("Mul", {std::move(sums), by}, name + "/rescaled");
}

/// A matrix [units, depth] as [depth, units].
std::vector<std::uint8_t> transposed(const ModelTensor& matrix) {
  const auto units = static_cast<std::size_t>(matrix.shape[0]);
  const auto depth = static_cast<std::size_t>(matrix.shape[1]);
  const std::size_t bytes = matrix.data.size() / (units * depth);
  std::vector<std::uint8_t> result;
  result.reserve(matrix.data.size());
  for (std::size_t i = 0; i < depth; ++i) {
    for (std::size_t u = 0; u < units; ++u) {
      const auto from = matrix.data.begin() + static_cast<std::ptrdiff_t>((u * depth + i) * bytes);
      result.insert(result.end(), from, from + static_cast<std::ptrdiff_t>(bytes));
    }
  }
  return result;
}

/// MatMul keeps all axes but the last, as FULLY_CONNECTED with keep_num_dims does.
void write_mat_mul(OnnxNodes& nodes, const Operands& o) {
  OnnxValues& values = nodes.values();
  const std::int32_t out = o.op.outputs[0];
  const std::string name = nodes.base_name(out);
  const ModelTensor& matrix = o.input(1);
  const std::string columns =
      values.weight_terms(o.op.inputs[1], "/columns", {matrix.shape[1], matrix.shape[0]},
                          transposed(matrix), /*units_axis=*/1);
  std::string sums =
      values.node("MatMul", {values.terms(o.op.inputs[0]), columns}, name + "/product");
  if (o.has_input(2)) sums = values.node("Add", {sums, dense_bias(nodes, o)}, name + "/sum");
  nodes.finish_clamped(rescaled(nodes, o, sums, 0, name), out, o.op.activation());
}

void write_dense(OnnxNodes& nodes, const Operands& o) {
  OnnxValues& values = nodes.values();
  const std::int32_t weights = o.op.inputs[1];
  const std::int32_t out = o.op.outputs[0];
  const std::int64_t depth = o.input(1).shape.back();
  const std::string name = nodes.base_name(out);
  const ModelTensor& matrix = o.input(1);
  Names operands{
      nodes.rows(o.op.inputs[0], depth, name),
      values.weight_terms(weights, "/matrix", {matrix.size() / depth, depth}, matrix.data)};
  if (o.has_input(2)) operands.push_back(dense_bias(nodes, o));
  const std::string sums =
      values.node("Gemm", operands, name + "/sum", {{"transB", std::int64_t{1}}});
  const std::string y = rescaled(nodes, o, sums, 0, name);
  if (o.output().shape.size() == 2) return nodes.finish_clamped(y, out, o.op.activation());
  const std::string result = nodes.finish_rearranged(y, out, o.op.activation());
  nodes.node_to("Reshape", {result, nodes.shape_of(out)}, out);
}

struct Filters {
  Extents shape;
  std::vector<std::uint8_t> data;
};

/// The numbers of a tensor of four axes with its axes in `order`.
Filters in_order(const ModelTensor& t, const std::array<std::size_t, 4>& order) {
  std::array<std::size_t, 4> strides{};
  std::size_t stride = t.data.size() / static_cast<std::size_t>(t.size());
  const std::size_t bytes = stride;
  for (std::size_t axis = 4; axis-- > 0;) {
    strides[axis] = stride;
    stride *= static_cast<std::size_t>(t.shape[axis]);
  }
  Filters filters;
  filters.data.reserve(t.data.size());
  for (const std::size_t axis : order) filters.shape.push_back(t.shape[axis]);
  const auto extent = [&](std::size_t k) { return static_cast<std::size_t>(filters.shape[k]); };
  for (std::size_t u = 0; u < extent(0); ++u) {
    for (std::size_t c = 0; c < extent(1); ++c) {
      for (std::size_t y = 0; y < extent(2); ++y) {
        for (std::size_t x = 0; x < extent(3); ++x) {
          const auto from = t.data.begin() + static_cast<std::ptrdiff_t>(
                                                 u * strides[order[0]] + c * strides[order[1]] +
                                                 y * strides[order[2]] + x * strides[order[3]]);
          filters.data.insert(filters.data.end(), from, from + static_cast<std::ptrdiff_t>(bytes));
        }
      }
    }
  }
  return filters;
}

/// ONNX convolves images [n, channels, height, width] with filters of four axes: the codes are
/// transposed to that for the node `function` and back, and the filters are written with their axes
/// in `order`. A runtime finds nothing between DequantizeLinear, Conv and QuantizeLinear, which it
/// makes one operator of integers.
void write_convolution(OnnxNodes& nodes, const Operands& o, std::string_view function,
                       const std::vector<OnnxAttribute>& attributes, std::string_view suffix,
                       const std::array<std::size_t, 4>& order) {
  OnnxValues& values = nodes.values();
  const std::string name = nodes.base_name(o.op.outputs[0]);
  const std::int32_t in = o.op.inputs[0];
  const std::int32_t out = o.op.outputs[0];
  const Filters filters = in_order(o.input(1), order);
  const auto units = static_cast<std::size_t>(o.input(1).quantization.quantized_dimension);
  const auto units_axis = static_cast<int>(std::ranges::find(order, units) - order.begin());
  Names operands{
      values.terms_of(in, channels_first(nodes, values.value(in), name), name),
      values.weight_terms(o.op.inputs[1], suffix, filters.shape, filters.data, units_axis)};
  if (o.has_input(2)) operands.push_back(dense_bias(nodes, o));
  const std::string sums = values.node(function, operands, name + "/sum", attributes);
  const std::string result =
      nodes.finish_rearranged(rescaled(nodes, o, sums, 2, name), out, o.op.activation());
  channels_last_to(nodes, result, out);
}

/// Filters [units, channels of a group, height, width].
void write_conv(OnnxNodes& nodes, const Operands& o, const Conv2DGeometry& geometry,
                std::string_view suffix, const std::array<std::size_t, 4>& order) {
  const Window& w = geometry.window;
  auto attributes = window_attributes(w);
  attributes.push_back({"dilations", Extents{w.y.dilation, w.x.dilation}});
  attributes.push_back({"group", geometry.groups});
  write_convolution(nodes, o, "Conv", attributes, suffix, order);
}

}  // namespace

void onnx_forms::fully_connected(OnnxNodes& nodes, const Operands& o) {
  const bool keeps_axes = o.op.as<FullyConnectedAttributes>().keep_num_dims;
  if (keeps_axes && o.output().shape.size() > 2) return write_mat_mul(nodes, o);
  write_dense(nodes, o);
}

void onnx_forms::conv_2d(OnnxNodes& nodes, const Operands& o) {
  const Conv2DGeometry geometry = conv_2d_geometry(o);
  if (geometry.is_matrix_product()) return write_dense(nodes, o);
  write_conv(nodes, o, geometry, "/filters", {0, 3, 1, 2});
}

void onnx_forms::depthwise_conv_2d(OnnxNodes& nodes, const Operands& o) {
  if (nodes.exact() && o.input().is_quantized() && !o.has_input(2)) {
    throw InvalidArgument(fmt::format(
        "to_onnx: DEPTHWISE_CONV_2D '{}': style exact computes rounding mode fp32, in which a sum "
        "without bias is rounded twice, which ONNX's operators don't do; give it a bias of zeros, "
        "or use style standard",
        o.output().name));
  }
  write_conv(nodes, o, depthwise_geometry(o), "/planes", {3, 0, 1, 2});
}

/// Filters [channels, units, height, width]. Rows and columns that no pixel reaches, behind the
/// last, are "output_padding".
void onnx_forms::transpose_conv(OnnxNodes& nodes, const Operands& o) {
  const Window w = transpose_conv_geometry(o).window;
  if (nodes.exact() && o.input().is_quantized() && !xnnpack_takes_transpose_conv(o)) {
    throw InvalidArgument(fmt::format(
        "to_onnx: TRANSPOSE_CONV '{}': padding same with a stride larger than the kernel, or a "
        "bias "
        "without a scale: its sums are rounded twice, which ONNX's operators do not do in style "
        "exact; use style standard",
        o.output().name));
  }
  const auto beyond = [](const WindowAxis& axis) {
    return axis.input - (axis.first(axis.output - 1) + axis.kernel) + axis.after();
  };
  auto attributes = window_attributes(w);
  attributes.push_back({"dilations", Extents{1, 1}});
  attributes.push_back({"group", std::int64_t{1}});
  attributes.push_back({"output_padding", Extents{beyond(w.y), beyond(w.x)}});
  write_convolution(nodes, o, "ConvTranspose", attributes, "/transposed", {3, 0, 1, 2});
}

}  // namespace octet::detail
