#include <octet/deploy/c/operators.h>
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

}  // namespace

COperator c_forms::arg_max() { return {.reads_all_inputs = false, .make = make_arg_max_layer}; }

// The plan refuses what they read: float32 and int32.

COperator c_forms::detection_post_process() { return {.reads_all_inputs = false, .make = nullptr}; }
COperator c_forms::cast() { return {.reads_all_inputs = false, .make = nullptr}; }
COperator c_forms::gather() { return {.reads_all_inputs = false, .make = nullptr}; }

}  // namespace octet::detail
