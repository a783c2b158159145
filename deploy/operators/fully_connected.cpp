#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/core/quant/requantize.h>
#include <octet/deploy/operators/dense.h>

#include <algorithm>
#include <utility>

// FULLY_CONNECTED, and convolutions that are one.

namespace octet::detail {
namespace {

using Extents = OnnxNodes::Extents;

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

constexpr std::string_view kDenseSum = R"(        int32_t sum = @bias@;
        for (int32_t i = 0; i < @depth@; ++i) {
            sum += (@x@ - input_zero_point) * @weight@;
        }
        output[@place@] = @name@_to_code(
            @name@_@rescale@(sum, @multiplier@, @shift@),
            output_zero_point, @lo@, @hi@);
)";

constexpr std::string_view kDenseUnits = R"(    for (int32_t unit = 0; unit < @units@; ++unit) {
        @weights@
@sum@    }
)";

constexpr std::string_view kDenseRows = R"(    for (int32_t row = 0; row < @rows@; ++row) {
@loop@        input += @depth@;
        output += @units@;
    }
)";

constexpr std::string_view kDenseRowsOfUnit =
    R"(        for (int32_t row = 0; row < @rows@; ++row) {
@sum@        }
)";

/// The loop over units, and one over rows where there are several: inside it, or around it.
std::string loop_text(Fillings f, const std::string& rows, bool units_outside) {
  f["rows"] = rows;
  f["x"] = units_outside ? fmt::format("input[row * {} + i]", f["depth"]) : "input[i]";
  f["place"] = units_outside ? fmt::format("row * {} + unit", f["units"]) : "unit";
  f["sum"] = fill(kDenseSum, f);
  if (units_outside) {
    f["sum"] = indented(f["sum"]);
    f["sum"] = fill(kDenseRowsOfUnit, f);
  }
  f["loop"] = fill(kDenseUnits, f);
  if (rows == "1" || units_outside) return f["loop"];
  f["loop"] = indented(f["loop"]);
  return fill(kDenseRows, f);
}

std::string fully_connected_detail(const FullyConnectedNumbers& n, FusedActivation activation) {
  std::string text = n.rows == 1 ? "" : fmt::format("{} rows of ", n.rows);
  text += fmt::format("{} -> {}", n.depth, n.units);
  if (activation != FusedActivation::none) text += fmt::format(", {}", to_string(activation));
  return text;
}

CLayer make_fully_connected_layer(const CPlan& plan, const CStep& step) {
  return make_fully_connected_layer(plan, step, fully_connected_numbers(step.source));
}

}  // namespace

std::string dense_bias(OnnxNodes& nodes, const Operands& o) {
  const std::int32_t i = o.op.inputs[2];
  if (o.input(2).dtype == DType::float32) return nodes.values().value(i);
  if (nodes.exact()) return nodes.values().bias_terms(i, {1.0F});
  // A bias has the scale input * weight, whatever its tensor says.
  std::vector<float> scales = o.input(1).quantization.scales;
  for (float& scale : scales) scale *= o.input().quantization.scale();
  return nodes.values().bias_terms(i, scales);
}

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

void write_dense(OnnxNodes& nodes, const Operands& o) {
  OnnxValues& values = nodes.values();
  const std::int32_t weights = o.op.inputs[1];
  const std::int32_t out = o.op.outputs[0];
  const std::int64_t depth = o.input(1).shape.back();
  const std::string name = nodes.base_name(out);
  const ModelTensor& matrix = o.input(1);
  OnnxNodes::Names operands{
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

CLayer make_fully_connected_layer(const CPlan& plan, const CStep& step,
                                  const FullyConnectedNumbers& n) {
  const CSums sums{.numbers = n,
                   .detail = fully_connected_detail(n, step.source.op.activation()),
                   .reads_once = n.rows == 1};
  const auto kernel = c_kernel_of(plan, sums, n.rows == 1 ? CKernel::row : CKernel::rows);
  if (kernel) return make_kernel_layer(plan, step, sums, *kernel);
  return make_sums_layer(plan, step, sums, [&](Fillings f, bool units_outside) {
    return loop_text(std::move(f), c_rows(step, n), units_outside);
  });
}

std::int64_t fully_connected_scratch(const CPlan& plan, const FullyConnectedNumbers& n) {
  const CSums sums{.numbers = n, .detail = {}};
  const auto kernel = c_kernel_of(plan, sums, n.rows == 1 ? CKernel::row : CKernel::rows);
  return kernel ? c_scratch_bytes(plan, *kernel, n.depth, {}) : 0;
}

std::optional<COverlap> fully_connected_overlap(const CPlan& plan, const FullyConnectedNumbers& n) {
  if (fully_connected_scratch(plan, n) == 0) return std::nullopt;
  // Each row is copied before its outputs are written.
  return COverlap{.lead = (n.rows - 1) * std::max<std::int64_t>(n.units - n.depth, 0)};
}

void onnx_forms::fully_connected(OnnxNodes& nodes, const Operands& o) {
  const bool keeps_axes = o.op.as<FullyConnectedAttributes>().keep_num_dims;
  if (keeps_axes && o.output().shape.size() > 2) return write_mat_mul(nodes, o);
  write_dense(nodes, o);
}

COperator c_forms::fully_connected() {
  return {.reads_all_inputs = false,
          .make = make_fully_connected_layer,
          .scratch_bytes =
              [](const CPlan& plan, const KernelSource& source, std::int64_t /*rows*/) {
                return fully_connected_scratch(plan, fully_connected_numbers(source));
              },
          .overlap =
              [](const CPlan& plan, const KernelSource& source, std::size_t /*input*/) {
                return fully_connected_overlap(plan, fully_connected_numbers(source));
              }};
}

}  // namespace octet::detail
