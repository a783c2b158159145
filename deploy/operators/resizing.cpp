#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/deploy/c/operators.h>
#include <octet/deploy/onnx/images.h>
#include <octet/deploy/onnx/operators.h>
#include <octet/runtime/operators/resize_bilinear.h>
#include <octet/runtime/operators/resize_nearest_neighbor.h>

#include <cmath>
#include <limits>

namespace octet::detail {
namespace {

using Extents = OnnxNodes::Extents;

/// Rows (axis 1) or columns (axis 2) by their numbers.
std::string gather_axis(OnnxNodes& nodes, const std::string& x, const Extents& sources,
                        std::int64_t axis, const std::string& name) {
  const std::string indices = nodes.values().constant(name + "/from", OnnxType::int64,
                                                      Extents{std::ssize(sources)}, sources);
  return nodes.values().node("Gather", {x, indices}, name, {{"axis", axis}});
}

std::string gather_axis(OnnxNodes& nodes, const std::string& x, const NearestAxis& along,
                        std::int64_t axis, const std::string& name) {
  Extents sources;
  for (std::int32_t i = 0; i < along.output(); ++i) sources.push_back(along.source(i));
  return gather_axis(nodes, x, sources, axis, name);
}

/// Integers `x` between those at the taps along an axis, times 2^bits.
std::string interpolate(OnnxNodes& nodes, const std::string& x,
                        std::span<const QuantizedBilinear::Tap> taps, int bits, std::int64_t axis,
                        const std::string& name) {
  OnnxValues& values = nodes.values();
  Extents lower;
  Extents upper;
  Extents weights;
  for (const auto& tap : taps) {
    lower.push_back(tap.lower);
    upper.push_back(tap.upper);
    weights.push_back(tap.weight);
  }
  const std::string low = gather_axis(nodes, x, lower, axis, name + "/lower");
  const std::string high = gather_axis(nodes, x, upper, axis, name + "/upper");
  // With room for the columns and the channels behind a row, for the channels behind a column.
  Extents shape(static_cast<std::size_t>(4 - axis), 1);
  shape[0] = std::ssize(weights);
  const std::string weight = values.constant(name + "/weights", OnnxType::int64, shape, weights);
  const std::string apart = values.node("Sub", {high, low}, name + "/apart");
  const std::string part = values.node("Mul", {apart, weight}, name + "/part");
  const std::string whole =
      nodes.with_integer("Mul", low, std::int64_t{1} << bits, name + "/whole");
  return values.node("Add", {whole, part}, name);
}

/// In integers, and rounded by a division.
void write_bilinear_integers(OnnxNodes& nodes, const Operands& o) {
  const std::int32_t out = o.op.outputs[0];
  const std::string name = nodes.base_name(out);
  const auto bilinear = QuantizedBilinear::make({o.model, o.op, Rounding::fp32});
  const std::string codes = nodes.integers(o.op.inputs[0], OnnxType::int64, name + "/codes");
  const std::string columns =
      interpolate(nodes, codes, bilinear.columns, bilinear.bits, 2, name + "/columns");
  const std::string rows =
      interpolate(nodes, columns, bilinear.rows, bilinear.bits, 1, name + "/rows");
  // Div rounds towards zero: made positive first, by whole steps, it rounds half steps upwards.
  const std::int64_t unit = std::int64_t{1} << (2 * bilinear.bits);
  constexpr std::int64_t kLowest = -128;
  const std::string positive =
      nodes.with_integer("Add", rows, unit / 2 - kLowest * unit, name + "/positive");
  const std::string steps = nodes.with_integer("Div", positive, unit, name + "/steps");
  nodes.finish_integers(nodes.with_integer("Add", steps, kLowest, name + "/integers"), out,
                        {-128, 127});
}

/// The scale of a Resize by which it makes `output` of `input` pixels: it rounds down.
float resize_scale(std::int32_t input, std::int32_t output) {
  float scale = static_cast<float>(output) / static_cast<float>(input);
  while (double{scale} * input < output) {
    scale = std::nextafter(scale, std::numeric_limits<float>::infinity());
  }
  return scale;
}

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

/// Codes are copied, so that there is no way between codes and reals. A Resize where each row and
/// column is repeated: by default it takes the pixel in which the centre of the new one lies. Other
/// sizes by the numbers of rows and columns.
void onnx_forms::resize_nearest_neighbor(OnnxNodes& nodes, const Operands& o) {
  OnnxValues& values = nodes.values();
  const std::int32_t out = o.op.outputs[0];
  const std::string name = nodes.base_name(out);
  const auto axes = nearest_axes(o);
  const std::string x = values.value(o.op.inputs[0]);
  if (axes[0].repeats() == 0 || axes[1].repeats() == 0) {
    const std::string rows = gather_axis(nodes, x, axes[0], 1, name + "/rows");
    const std::string pixels = gather_axis(nodes, rows, axes[1], 2, name + "/columns");
    return nodes.node_to("Identity", {pixels}, out);
  }
  const std::string scales = values.constant(
      name + "/scales",
      {1.0F, static_cast<float>(axes[0].repeats()), static_cast<float>(axes[1].repeats()), 1.0F});
  nodes.node_to("Resize", {x, "", scales}, out);
}

COperator c_forms::resize_nearest_neighbor() {
  return {.reads_all_inputs = false, .make = make_nearest_layer};
}

/// Style exact computes as XNNPACK does, in integers; a Resize interpolates reals.
void onnx_forms::resize_bilinear(OnnxNodes& nodes, const Operands& o) {
  const QuantParams& in = o.input().quantization;
  const QuantParams& to_grid = o.output().quantization;
  if (in.scales != to_grid.scales || in.zero_points != to_grid.zero_points) {
    throw InvalidArgument(fmt::format(
        "to_onnx: RESIZE_BILINEAR '{}': expected a result of the input's scale and zero "
        "point, found another: ONNX interpolates reals",
        o.output().name));
  }
  if (nodes.exact() && o.input().is_quantized()) return write_bilinear_integers(nodes, o);
  const std::int32_t out = o.op.outputs[0];
  const std::string name = nodes.base_name(out);
  const auto& from = o.input().shape;
  const auto& to = o.output().shape;
  const std::string x = channels_first(nodes, nodes.values().reals(o.op.inputs[0]), name);
  const std::string scales = nodes.values().constant(
      name + "/scales", {1.0F, 1.0F, resize_scale(from[1], to[1]), resize_scale(from[2], to[2])});
  const auto coordinates = resize_coordinates(o.op.as<ResizeAttributes>());
  const std::string y = nodes.values().node(
      "Resize", {x, "", scales}, name + "/resized",
      {{"mode", "linear"},
       {"coordinate_transformation_mode", std::string(to_string(coordinates))}});
  nodes.finish(channels_last(nodes, y, name), out);
}

COperator c_forms::resize_bilinear() {
  return {.reads_all_inputs = false, .make = make_bilinear_layer};
}

}  // namespace octet::detail
