#include <octet/deploy/c/operators.h>
#include <octet/runtime/operators/pad.h>
#include <octet/runtime/operators/resize_nearest_neighbor.h>
#include <octet/runtime/operators/split.h>
#include <octet/runtime/operators/strided_slice.h>
#include <octet/runtime/operators/transpose.h>

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

/// `statement` inside a loop over i0, i1, ... for each of the extents.
std::string nested_loops(std::span<const Index> extents, std::string_view statement) {
  std::string text = indented(fmt::format("{}\n", statement), extents.size() + 1);
  for (std::size_t k = extents.size(); k-- > 0;) {
    const std::string head =
        fmt::format("for (int32_t i{0} = 0; i{0} < {1}; ++i{0}) {{\n", k, extents[k]);
    text.insert(0, indented(head, k + 1)).append(indented("}\n", k + 1));
  }
  return text;
}

CLayer make_pad_layer(const CPlan& plan, const CStep& step) {
  CLayer layer;
  const std::int64_t size = step.source.output().size();
  layer.summary = summary_of(step, fmt::format("{} -> {} codes", step.source.input().size(), size));
  std::vector<Index> extents;
  std::string place = "0";
  for (const PadAxis& axis : pad_axes(step.source)) {
    const std::size_t i = extents.size();
    place = i == 0 ? fmt::format("i{} + {}", i, axis.before)
                   : fmt::format("({}) * {} + i{} + {}", place, axis.output, i, axis.before);
    extents.push_back(axis.input);
  }
  Fillings f = layer_fillings(plan, step);
  f["summary"] = layer.summary;
  f["output_size"] = std::to_string(size);
  f["border"] = std::to_string(static_cast<int>(pad_border(step.source)));
  f["loops"] = nested_loops(extents, fmt::format("output[{}] = *input++;", place));
  layer.function = fill(kPad, f);
  return layer;
}

constexpr std::string_view kMove = R"(/* @summary@. */
static void @layer@(const int8_t *input, int8_t *output)
{
@loops@}

)";

CLayer make_strided_copy_layer(const CPlan& plan, const CStep& step, const StridedCopy& copy) {
  CLayer layer;
  layer.summary = summary_of(
      step, fmt::format("{} -> {} codes", step.source.input().size(), step.source.output().size()));
  std::vector<Index> extents;
  std::string place = std::to_string(copy.first);
  for (const Axis<1>& axis : merge_axes(copy.axes)) {
    place += fmt::format(" + i{} * {}", extents.size(), axis.strides[0]);
    extents.push_back(axis.extent);
  }
  Fillings f = layer_fillings(plan, step);
  f["summary"] = layer.summary;
  f["loops"] = nested_loops(extents, fmt::format("*output++ = input[{}];", place));
  layer.function = fill(kMove, f);
  return layer;
}

/// One of the parts.
CLayer make_split_layer(const CPlan& plan, const CStep& step) {
  return make_strided_copy_layer(plan, step, split_copies(step.source)[step.result]);
}

CLayer make_strided_slice_layer(const CPlan& plan, const CStep& step) {
  return make_strided_copy_layer(plan, step, slice_copy(step.source));
}

CLayer make_transpose_layer(const CPlan& plan, const CStep& step) {
  return make_strided_copy_layer(plan, step, transpose_copy(step.source));
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

COperator c_forms::split() { return {.reads_all_inputs = false, .make = make_split_layer}; }

COperator c_forms::strided_slice() {
  return {.reads_all_inputs = false, .make = make_strided_slice_layer};
}

COperator c_forms::transpose() { return {.reads_all_inputs = false, .make = make_transpose_layer}; }

COperator c_forms::resize_nearest_neighbor() {
  return {.reads_all_inputs = false, .make = make_resize_layer};
}

}  // namespace octet::detail
