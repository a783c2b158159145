#include <octet/deploy/c/operators.h>
#include <octet/runtime/operators/pad.h>
#include <octet/runtime/operators/resize_nearest_neighbor.h>

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

constexpr std::string_view kResize = R"(/* @summary@. */
static void @layer@(const int8_t *input, int8_t *output)
{
    for (int32_t row = 0; row < @rows@; ++row) {
        const int32_t y = row % @output_height@;
        const int8_t *line =
            input + (row / @output_height@ * @height@ + @from_y@) * @line@;
        for (int32_t x = 0; x < @output_width@; ++x) {
            const int8_t *pixel = line + @from_x@ * @channels@;
            for (int32_t c = 0; c < @channels@; ++c) {
                *output++ = pixel[c];
            }
        }
    }
}

)";

/// The row or column from which `counter` comes; a table where it is no plain fraction.
std::string source_text(const NearestAxis& axis, std::string_view counter, const std::string& table,
                        CLayer& layer) {
  const std::int32_t repeats = axis.repeats();
  if (repeats == 1) return std::string(counter);
  if (repeats > 1) return fmt::format("{} / {}", counter, repeats);
  std::vector<std::int32_t> sources;
  sources.reserve(static_cast<std::size_t>(axis.output()));
  for (std::int32_t i = 0; i < axis.output(); ++i) sources.push_back(axis.source(i));
  layer.constants += array_text("int32_t", table, sources);
  layer.flash_bytes += axis.output() * std::int64_t{4};
  return fmt::format("{}[{}]", table, counter);
}

CLayer make_resize_layer(const CPlan& plan, const CStep& step) {
  const auto axes = nearest_axes(step.source);
  const auto& shape = step.source.input().shape;
  CLayer layer;
  layer.summary =
      summary_of(step, fmt::format("{} x {} x {} -> {} x {}", axes[0].input(), axes[1].input(),
                                   shape[3], axes[0].output(), axes[1].output()));
  Fillings f = layer_fillings(plan, step);
  f["summary"] = layer.summary;
  f["rows"] = std::to_string(std::int64_t{shape[0]} * axes[0].output());
  f["height"] = std::to_string(axes[0].input());
  f["output_height"] = std::to_string(axes[0].output());
  f["output_width"] = std::to_string(axes[1].output());
  f["channels"] = std::to_string(shape[3]);
  f["line"] = std::to_string(std::int64_t{axes[1].input()} * shape[3]);
  f["from_y"] = source_text(axes[0], "y", f["layer"] + "_rows", layer);
  f["from_x"] = source_text(axes[1], "x", f["layer"] + "_columns", layer);
  layer.function = fill(kResize, f);
  return layer;
}

}  // namespace

// They move nothing.

COperator c_forms::reshape() { return {.reads_all_inputs = false, .make = nullptr}; }
COperator c_forms::squeeze() { return {.reads_all_inputs = false, .make = nullptr}; }

COperator c_forms::pad() { return {.reads_all_inputs = false, .make = make_pad_layer}; }
COperator c_forms::padv2() { return {.reads_all_inputs = false, .make = make_pad_layer}; }

COperator c_forms::resize_nearest_neighbor() {
  return {.reads_all_inputs = false, .make = make_resize_layer};
}

}  // namespace octet::detail
