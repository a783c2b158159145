#include <octet/core/quant/requantize.h>
#include <octet/deploy/onnx/operators.h>

namespace octet::detail {
namespace {

using Names = OnnxNodes::Names;

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
  if (nodes.exact() && o.input().is_quantized()) {
    const std::string factors = values.constant(name + "/factor", rescaling_factors(o));
    y = values.node("Mul", {y, factors}, name + "/rescaled");
  }
  if (o.output().shape.size() != 2) {
    y = values.node("Reshape", {y, nodes.shape_of(out)}, name + "/shaped");
  }
  nodes.finish_clamped(y, out, o.op.activation());
}

}  // namespace

OnnxOperator onnx_forms::fully_connected() { return {write_dense}; }
OnnxOperator onnx_forms::conv_2d() { return {write_dense}; }

}  // namespace octet::detail
