#include <octet/deploy/c/operators.h>
#include <octet/runtime/operators/pad.h>

namespace octet::detail {
namespace {

constexpr std::string_view kPad = R"(/* @summary@. */
static void @layer@(const int8_t *input, int8_t *output)
{
    for (int32_t i = 0; i < @output_size@; ++i) {
        output[i] = @border@;
    }
@loops@}

)";

CLayer make_pad_layer(const CPlan& plan, const CStep& step) {
  CLayer layer;
  const std::int64_t size = step.source.output().size();
  layer.summary = summary_of(step, fmt::format("{} -> {} codes", step.source.input().size(), size));
  // A loop per axis; `place` is where the element goes.
  std::string loops;
  std::string place = "0";
  std::string indent(4, ' ');
  std::size_t number = 0;
  for (const PadAxis& axis : pad_axes(step.source)) {
    const std::string i = fmt::format("i{}", number++);
    loops += fmt::format("{}for (int32_t {} = 0; {} < {}; ++{}) {{\n", indent, i, i, axis.input, i);
    indent.append(4, ' ');
    place = number == 1 ? fmt::format("{} + {}", i, axis.before)
                        : fmt::format("({}) * {} + {} + {}", place, axis.output, i, axis.before);
  }
  loops += fmt::format("{}output[{}] = *input++;\n", indent, place);
  while (number-- > 0) {
    indent.resize(indent.size() - 4);
    loops += indent + "}\n";
  }
  Fillings f = layer_fillings(plan, step);
  f["summary"] = layer.summary;
  f["output_size"] = std::to_string(size);
  f["border"] = std::to_string(static_cast<int>(pad_border(step.source)));
  f["loops"] = loops;
  layer.function = fill(kPad, f);
  return layer;
}

}  // namespace

COperator c_forms::pad() { return {.reads_all_inputs = false, .make = make_pad_layer}; }
COperator c_forms::padv2() { return {.reads_all_inputs = false, .make = make_pad_layer}; }

}  // namespace octet::detail
