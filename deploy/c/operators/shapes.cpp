#include <octet/deploy/c/operators.h>
#include <octet/runtime/operators/pad.h>
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
  layer.summary =
      summary_of(step, fmt::format("{} -> {} values", step.source.input().size(), size));
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
  layer.summary = summary_of(step, fmt::format("{} -> {} values", step.source.input().size(),
                                               step.source.output().size()));
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

}  // namespace octet::detail
