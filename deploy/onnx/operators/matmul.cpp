#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/deploy/onnx/operators.h>
#include <octet/runtime/operators/batch_matmul.h>
#include <octet/runtime/operators/fully_connected.h>

#include <numeric>
#include <string>
#include <utility>

namespace octet::detail {
namespace {

/// Throws InvalidArgument where nodes of floats do not give the integers of contract fp32.
void require_exact(const Operands& o, const Requantizer& requantizer) {
  if (requantizer.rounding() != Rounding::fp32) {
    throw InvalidArgument(fmt::format(
        "expected a second operand of zero point 0, found {}, whose products LiteRT rescales as "
        "in rounding mode double; write style standard, or quantize the operand symmetrically",
        o.input(1).quantization.zero_point()));
  }
  constexpr std::int64_t kMostSum = std::int64_t{1} << 24;
  const std::int64_t largest = matmul_geometry(o).depth *
                               farthest_from_zero_point(stored_params(o.input(0))) *
                               farthest_from_zero_point(stored_params(o.input(1)));
  if (largest <= kMostSum) return;
  throw InvalidArgument(fmt::format(
      "expected sums of at most {}, which float32 holds, found {} products of up to {} in all; "
      "write style standard",
      kMostSum, matmul_geometry(o).depth, largest));
}

/// The terms of operand i, its last two axes exchanged where the attributes say so.
std::string matrices(OnnxNodes& nodes, const Operands& o, std::size_t i, bool adjoint,
                     const std::string& name) {
  const std::string terms = nodes.values().terms(o.op.inputs[i]);
  if (!adjoint) return terms;
  OnnxNodes::Extents axes(o.input(i).shape.size());
  std::iota(axes.begin(), axes.end(), std::int64_t{0});
  std::swap(axes[axes.size() - 2], axes.back());
  return nodes.values().node("Transpose", {terms}, name, {{"perm", axes}});
}

}  // namespace

void onnx_forms::batch_matmul(OnnxNodes& nodes, const Operands& o) {
  OnnxValues& values = nodes.values();
  const std::int32_t out = o.op.outputs[0];
  const std::string name = nodes.base_name(out);
  const auto& a = o.op.as<BatchMatmulAttributes>();
  std::string y = values.node("MatMul",
                              {matrices(nodes, o, 0, a.adj_x, name + "/first"),
                               matrices(nodes, o, 1, a.adj_y, name + "/second")},
                              name + "/product");
  if (nodes.exact() && o.output().is_quantized()) {
    const Requantizer requantizer = matmul_requantizer({o.model, o.op, Rounding::fp32});
    require_exact(o, requantizer);
    const std::string factor = values.constant(name + "/factor", {requantizer.factors()[0]});
    y = values.node("Mul", {y, factor}, name + "/rescaled");
  }
  nodes.finish_clamped(y, out, FusedActivation::none);
}

}  // namespace octet::detail
