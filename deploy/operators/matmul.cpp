#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/deploy/c/operators.h>
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
  std::string terms = nodes.values().terms(o.op.inputs[i]);
  if (!adjoint) return terms;
  OnnxNodes::Extents axes(o.input(i).shape.size());
  std::iota(axes.begin(), axes.end(), std::int64_t{0});
  std::swap(axes[axes.size() - 2], axes.back());
  return nodes.values().node("Transpose", {terms}, name, {{"perm", axes}});
}

constexpr std::string_view kMatmul = R"(/* @summary@. */
static void @layer@(const int8_t *first, const int8_t *second, int8_t *output)
{
    const int32_t first_zero_point = @first_zero_point@;
    const int32_t second_zero_point = @second_zero_point@;
    const int32_t output_zero_point = @output_zero_point@;
@loops@}

)";

constexpr std::string_view kMatrixProduct = R"(const int8_t *left = first@first_place@;
const int8_t *right = second@second_place@;
for (int32_t row = 0; row < @rows@; ++row) {
    for (int32_t column = 0; column < @columns@; ++column) {
        int32_t sum = 0;
        for (int32_t i = 0; i < @depth@; ++i) {
            sum += (left[row * @row_stride@ + i * @row_step@] - first_zero_point) *
                   (right[column * @column_stride@ + i * @column_step@] - second_zero_point);
        }
        *output++ = @name@_to_code(
            @name@_@rescale@(sum, @multiplier@, @shift@),
            output_zero_point, -128, 127);
    }
}
)";

/// A product of matrices in loops over the axes in front of them.
std::string matmul_loops(const MatmulGeometry& g, Fillings f) {
  for (std::size_t k = 0; k < g.matrices.size(); ++k) {
    for (const auto& [place, stride] : {std::pair{"first_place", g.matrices[k].strides[0]},
                                        std::pair{"second_place", g.matrices[k].strides[1]}}) {
      if (stride != 0) f[place] += fmt::format(" + i{} * {}", k, stride);
    }
  }
  std::string text = indented(fill(kMatrixProduct, f), g.matrices.size() + 1);
  for (std::size_t k = g.matrices.size(); k-- > 0;) {
    const std::string head =
        fmt::format("for (int32_t i{0} = 0; i{0} < {1}; ++i{0}) {{\n", k, g.matrices[k].extent);
    text.insert(0, indented(head, k + 1)).append(indented("}\n", k + 1));
  }
  return text;
}

CLayer make_batch_matmul_layer(const CPlan& plan, const CStep& step) {
  const MatmulGeometry g = matmul_geometry(step.source);
  const Requantizer requantizer = matmul_requantizer(step.source);
  const bool in_float = requantizer.rounding() == Rounding::fp32;
  const bool twice = requantizer.rounding() == Rounding::double_rounding;
  const std::int64_t largest_sum = g.depth *
                                   farthest_from_zero_point(stored_params(step.source.input(0))) *
                                   farthest_from_zero_point(stored_params(step.source.input(1)));
  const CFactor factor = in_float ? c_factor(requantizer.factors()[0], largest_sum)
                                  : CFactor{requantizer.multipliers()[0].multiplier,
                                            c_shift(requantizer.multipliers()[0])};
  CLayer layer;
  layer.summary =
      summary_of(step, fmt::format("{} products of {} x {} and {} x {}", count_of<2>(g.matrices),
                                   g.rows, g.depth, g.depth, g.columns));
  layer.calls = {twice ? CFunction::rescale_twice : CFunction::rescale, CFunction::to_code};
  layer.macs = definition(step.source.op.code).multiply_adds(step.source);
  layer.largest_sum = largest_sum;
  Fillings f = layer_fillings(plan, step);
  f["summary"] = layer.summary;
  f["first_place"] = f["second_place"] = "";
  f["rows"] = std::to_string(g.rows);
  f["columns"] = std::to_string(g.columns);
  f["depth"] = std::to_string(g.depth);
  f["row_stride"] = std::to_string(g.row_stride);
  f["row_step"] = std::to_string(g.row_step);
  f["column_stride"] = std::to_string(g.column_stride);
  f["column_step"] = std::to_string(g.column_step);
  f["rescale"] = twice ? c_rescale_twice(plan) : "rescale";
  f["multiplier"] = std::to_string(factor.multiplier);
  f["shift"] = operand_text(factor.shift);
  f["first_zero_point"] = std::to_string(step.source.input(0).quantization.zero_point());
  f["second_zero_point"] = std::to_string(step.source.input(1).quantization.zero_point());
  f["output_zero_point"] = std::to_string(step.source.output().quantization.zero_point());
  f["loops"] = matmul_loops(g, f);
  layer.function = fill(kMatmul, f);
  return layer;
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

COperator c_forms::batch_matmul() {
  return {.reads_all_inputs = true, .make = make_batch_matmul_layer};
}

}  // namespace octet::detail
