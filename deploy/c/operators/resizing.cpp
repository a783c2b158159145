#include <octet/deploy/c/operators.h>
#include <octet/runtime/operators/resize_bilinear.h>
#include <octet/runtime/operators/resize_nearest_neighbor.h>

namespace octet::detail {
namespace {

constexpr std::string_view kRepeat = R"(/* @summary@. */
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

std::string resize_text(const CStep& step) {
  const auto& from = step.source.input().shape;
  const auto& to = step.source.output().shape;
  return summary_of(
      step, fmt::format("{} x {} x {} -> {} x {}", from[1], from[2], from[3], to[1], to[2]));
}

/// The sizes of both images.
Fillings resize_fillings(const CPlan& plan, const CStep& step) {
  const auto& from = step.source.input().shape;
  const auto& to = step.source.output().shape;
  Fillings f = layer_fillings(plan, step);
  f["summary"] = resize_text(step);
  f["rows"] = std::to_string(std::int64_t{from[0]} * to[1]);
  f["height"] = std::to_string(from[1]);
  f["output_height"] = std::to_string(to[1]);
  f["output_width"] = std::to_string(to[2]);
  f["channels"] = std::to_string(from[3]);
  f["line"] = std::to_string(std::int64_t{from[2]} * from[3]);
  return f;
}

CLayer make_nearest_layer(const CPlan& plan, const CStep& step) {
  const auto axes = nearest_axes(step.source);
  CLayer layer;
  layer.summary = resize_text(step);
  Fillings f = resize_fillings(plan, step);
  f["from_y"] = source_text(axes[0], "y", f["layer"] + "_rows", layer);
  f["from_x"] = source_text(axes[1], "x", f["layer"] + "_columns", layer);
  layer.function = fill(kRepeat, f);
  return layer;
}

constexpr std::string_view kInterpolate = R"(/* @summary@. */
static void @layer@(const int8_t *input, int8_t *output)
{
    for (int32_t row = 0; row < @rows@; ++row) {
        const int32_t *const y = @layer@_rows + row % @output_height@ * 3;
        const int8_t *const image = input + row / @output_height@ * (@height@ * @line@);
        const int8_t *const top = image + y[0];
        const int8_t *const bottom = image + y[1];
        for (int32_t column = 0; column < @output_width@; ++column) {
            const int32_t *const x = @layer@_columns + column * 3;
            for (int32_t c = 0; c < @channels@; ++c) {
                const int32_t tl = top[x[0] + c];
                const int32_t bl = bottom[x[0] + c];
                const int32_t t = tl * @one@ + (top[x[1] + c] - tl) * x[2];
                const int32_t b = bl * @one@ + (bottom[x[1] + c] - bl) * x[2];
                const int32_t sum = t * @one@ + (b - t) * y[2];
                *output++ = (int8_t)(@rounded@);
            }
        }
    }
}

)";

/// By tap: where the lower and the upper row or column begin, and the weight of the upper.
void append_taps(CLayer& layer, const std::string& name,
                 std::span<const QuantizedBilinear::Tap> taps, Index stride) {
  std::vector<std::int64_t> numbers;
  for (const auto& tap : taps) {
    numbers.insert(numbers.end(), {tap.lower * stride, tap.upper * stride, tap.weight});
  }
  layer.constants += array_text("int32_t", name, numbers);
  layer.flash_bytes += static_cast<std::int64_t>(numbers.size() * sizeof(std::int32_t));
}

CLayer make_bilinear_layer(const CPlan& plan, const CStep& step) {
  const auto bilinear = QuantizedBilinear::make(step.source);
  const auto& from = step.source.input().shape;
  CLayer layer;
  layer.summary = resize_text(step);
  Fillings f = resize_fillings(plan, step);
  append_taps(layer, f["layer"] + "_rows", bilinear.rows, Index{from[2]} * from[3]);
  append_taps(layer, f["layer"] + "_columns", bilinear.columns, from[3]);
  const std::int32_t one = 1 << bilinear.bits;
  const std::int32_t unit = one * one;
  f["one"] = std::to_string(one);
  // A sum is above -129 units: made positive, a division rounds it down as a shift does.
  f["rounded"] =
      bilinear.half_upwards
          ? fmt::format("(sum + {}) / {} - 128", std::int64_t{unit} * 128 + unit / 2, unit)
          : fmt::format("(sum > 0 ? sum + {0} : sum - {0}) / {1}", unit / 2, unit);
  layer.function = fill(kInterpolate, f);
  return layer;
}

}  // namespace

COperator c_forms::resize_bilinear() {
  return {.reads_all_inputs = false, .make = make_bilinear_layer};
}

COperator c_forms::resize_nearest_neighbor() {
  return {.reads_all_inputs = false, .make = make_nearest_layer};
}

}  // namespace octet::detail
