#include <octet/deploy/c/operators.h>
#include <octet/deploy/onnx/operators.h>
#include <octet/runtime/operators/arg_max.h>

namespace octet::detail {
namespace {

constexpr std::string_view kArgMax = R"(/* @summary@. */
static void @layer@(const @from_type@ *input, @to_type@ *output)
{
    for (int32_t outer = 0; outer < @outer@; ++outer) {
        for (int32_t inner = 0; inner < @inner@; ++inner) {
            const @from_type@ *values = input + outer * @extent@ * @inner@ + inner;
            int32_t best = 0;
            for (int32_t i = 1; i < @extent@; ++i) {
                if (values[i * @inner@] > values[best * @inner@]) {
                    best = i;
                }
            }
            *output++ = best;
        }
    }
}

)";

CLayer make_arg_max_layer(const CPlan& plan, const CStep& step) {
  const AxisSplit axis = reduced_axis(step.source);
  CLayer layer;
  layer.summary = summary_of(step, fmt::format("the first of the largest of {} values, {} times",
                                               axis.channels, axis.outer * axis.inner));
  Fillings f = layer_fillings(plan, step);
  f["summary"] = layer.summary;
  f["outer"] = std::to_string(axis.outer);
  f["extent"] = std::to_string(axis.channels);
  f["inner"] = std::to_string(axis.inner);
  layer.function = fill(kArgMax, f);
  return layer;
}

constexpr std::string_view kGather = R"(/* @summary@. */
static void @layer@(const int32_t *input, @to_type@ *output)
{
    for (int32_t i = 0; i < @count@; ++i) {
        for (int32_t k = 0; k < @row@; ++k) {
            *output++ = @layer@_table[input[i] * @row@ + k];
        }
    }
}

)";

CLayer make_gather_layer(const CPlan& plan, const CStep& step) {
  const ModelTensor& table = step.source.input(1);
  const std::int64_t count = step.source.input().size();
  const std::int64_t row = table.size() / table.shape[0];
  CLayer layer;
  layer.summary = summary_of(step, fmt::format("{} of {} rows of {}", count, table.shape[0], row));
  Fillings f = layer_fillings(plan, step);
  f["summary"] = layer.summary;
  f["count"] = std::to_string(count);
  f["row"] = std::to_string(row);
  layer.constants =
      array_text(f["to_type"], f["layer"] + "_table", codes_of(table.dtype, table.data));
  layer.function = fill(kGather, f);
  layer.flash_bytes = table.size();
  return layer;
}

}  // namespace

/// Compares quantized values, the larger of which stand for larger numbers. ArgMax gives int64.
void onnx_forms::arg_max(OnnxNodes& nodes, const Operands& o) {
  OnnxValues& values = nodes.values();
  const std::int32_t out = o.op.outputs[0];
  const std::string place =
      values.node("ArgMax", {values.value(o.op.inputs[0])}, nodes.base_name(out) + "/int64",
                  {{"axis", static_cast<std::int64_t>(constant_axis(o))},
                   {"keepdims", std::int64_t{0}},
                   {"select_last_index", std::int64_t{0}}});
  nodes.node_to("Cast", {place}, out, {{"to", static_cast<std::int64_t>(values.type_of(out))}});
}
COperator c_forms::arg_max() { return {.reads_all_inputs = false, .make = make_arg_max_layer}; }

void onnx_forms::cast(OnnxNodes& nodes, const Operands& o) {
  const std::int32_t out = o.op.outputs[0];
  nodes.node_to("Cast", {nodes.values().value(o.op.inputs[0])}, out,
                {{"to", static_cast<std::int64_t>(nodes.values().type_of(out))}});
}

/// The plan refuses the float32 and int32 that CAST reads.
COperator c_forms::cast() { return {.reads_all_inputs = false, .make = nullptr}; }

/// Rows of quantized values are copied.
void onnx_forms::gather(OnnxNodes& nodes, const Operands& o) {
  OnnxValues& values = nodes.values();
  const std::string table = values.value(o.op.inputs[1]);
  nodes.node_to("Gather", {table, values.value(o.op.inputs[0])}, o.op.outputs[0],
                {{"axis", std::int64_t{0}}});
}

/// GATHER reads indices that are an input, which invoke() holds against the rows of the table.
COperator c_forms::gather() { return {.reads_all_inputs = false, .make = make_gather_layer}; }

}  // namespace octet::detail
