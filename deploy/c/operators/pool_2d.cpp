#include <octet/deploy/c/operators.h>
#include <octet/deploy/c/operators/images.h>
#include <octet/runtime/operators/pool_2d.h>

namespace octet::detail {
namespace {

constexpr std::string_view kPool = R"(/* @summary@. */
static void @layer@(const int8_t *input, int8_t *output)
{
    for (int32_t row = 0; row < @rows@; ++row) {
        const int8_t *image = input + row / @output_height@ * @image@;
        const int32_t top = row % @output_height@ * @stride_y@ - @before_y@;
        const int32_t y0 = top < 0 ? 0 : top;
        const int32_t y1 = top > @last_y@ ? @height@ : top + @kernel_y@;
        for (int32_t column = 0; column < @output_width@; ++column) {
            const int32_t left = column * @stride_x@ - @before_x@;
            const int32_t x0 = left < 0 ? 0 : left;
            const int32_t x1 = left > @last_x@ ? @width@ : left + @kernel_x@;
@reduction@        }
    }
}

)";

constexpr std::string_view kMean = R"(            const int32_t count = (y1 - y0) * (x1 - x0);
            for (int32_t c = 0; c < @channels@; ++c) {
                int32_t sum = 0;
                int32_t code;
                for (int32_t y = y0; y < y1; ++y) {
                    for (int32_t x = x0; x < x1; ++x) {
                        sum += image[(y * @width@ + x) * @channels@ + c];
                    }
                }
                code = (sum > 0 ? sum + count / 2 : sum - count / 2) / count;
                *output++ = (int8_t)(code < @lo@ ? @lo@ : code > @hi@ ? @hi@ : code);
            }
)";

constexpr std::string_view kMaximum = R"(            for (int32_t c = 0; c < @channels@; ++c) {
                int32_t code = @lo@;
                for (int32_t y = y0; y < y1; ++y) {
                    for (int32_t x = x0; x < x1; ++x) {
                        const int32_t other = image[(y * @width@ + x) * @channels@ + c];
                        code = other > code ? other : code;
                    }
                }
                *output++ = (int8_t)(code > @hi@ ? @hi@ : code);
            }
)";

CLayer make_pool_layer(const CPlan& plan, const CStep& step) {
  const Window window = pool_window(step.source);
  const ActivationRange range = pool_range(step.source);
  const FusedActivation activation = step.source.op.activation();
  std::string detail = window_text(window, step.source.input().shape[3]);
  if (activation != FusedActivation::none) detail += fmt::format(", {}", to_string(activation));
  CLayer layer;
  layer.summary = summary_of(step, detail);
  Fillings f = window_fillings(window, step.source, layer_fillings(plan, step));
  f["summary"] = layer.summary;
  f["lo"] = std::to_string(range.lo);
  f["hi"] = std::to_string(range.hi);
  const bool is_mean = step.source.op.code == OpCode::average_pool_2d;
  f["reduction"] = fill(is_mean ? kMean : kMaximum, f);
  layer.function = fill(kPool, f);
  return layer;
}

}  // namespace

COperator c_forms::average_pool_2d() { return {.reads_all_inputs = true, .make = make_pool_layer}; }
COperator c_forms::max_pool_2d() { return {.reads_all_inputs = true, .make = make_pool_layer}; }

}  // namespace octet::detail
