#include <octet/core/error.h>
#include <octet/deploy/c/operators.h>

#include <algorithm>
#include <cmath>

namespace octet::detail {
namespace {

constexpr std::string_view kTableLayer = R"(/* @summary@. */
static void @layer@(const @from_type@ *input, @to_type@ *output@band@)
{
    for (int32_t i = 0; i < @size@; ++i) {
        output[i] = @layer@_table[input[i]@offset@];
    }
}

)";

}  // namespace

std::vector<std::int32_t> c_values_of(const Operator& op) {
  if (c_operator(op.code).reads_all_inputs) return op.inputs;
  std::vector<std::int32_t> values = {op.inputs[0]};
  for (const std::size_t state : definition(op.code).file_states) {
    values.push_back(op.inputs[state]);
  }
  return values;
}

Fillings layer_fillings(const CPlan& plan, const CStep& step) {
  Fillings fillings = plan.fillings();
  fillings["layer"] = step.function;
  fillings["from_type"] = c_type(step.source.input().dtype);
  fillings["to_type"] = c_type(step.source.output().dtype);
  const ModelTensor& input = step.source.input();
  fillings["size"] = std::to_string(input.size());
  fillings["band"] = "";
  if (step.rows) {
    fillings["size"] = fmt::format("band_rows * {}", input.size() / input.shape[1]);
    fillings["band"] = step.rows->slides
                           ? ", int32_t band_height, int32_t band_top, int32_t band_rows"
                           : ", int32_t band_rows";
  }
  return fillings;
}

std::string summary_of(const CStep& step, std::string_view detail) {
  return fmt::format("{} \"{}\", {}", to_string(step.source.op.code),
                     comment_text(step.source.output().name), detail);
}

int c_shift(QuantizedMultiplier factor) { return std::min(factor.shift, 31); }

CFactor c_factor(float factor, std::int64_t largest_sum) {
  // No sum comes anywhere near 1/2.
  if (static_cast<double>(factor) * static_cast<double>(largest_sum) < 0.25) return {0, 0};
  // A factor this large brings every int32 but 0 beyond any quantized value.
  constexpr int kMostExponent = 110;
  int exponent = 0;
  const float fraction = std::frexp(factor, &exponent);
  return {static_cast<std::int32_t>(std::ldexp(fraction, 31)),
          std::min(exponent, kMostExponent) + 17};
}

std::int64_t c_scratch_bytes(const CPlan& plan, CKernel kernel, std::int64_t depth,
                             const Window& window) {
  // Vectors read 16 values.
  const std::int64_t row = std::max<std::int64_t>((depth + 3) / 4 * 4, 8);
  switch (kernel) {
    case CKernel::row:
      return 2 * row;
    case CKernel::rows:
      return (plan.code == CCode::fast ? 8 : 2) * row;
    case CKernel::convolve:
      return (plan.code == CCode::fast ? 9 : 3) * row;
    case CKernel::depthwise: {
      const auto extent = [](const WindowAxis& axis) {
        return (axis.output - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1;
      };
      return 2 * extent(window.y) * ((extent(window.x) + 1) / 2 * 2);
    }
  }
  throw InvalidArgument("c source: a CKernel outside the enumeration");
}

std::optional<COverlap> elementwise_overlap(const CPlan& /*plan*/, const KernelSource& source,
                                            std::size_t input) {
  if (source.input(input).size() != source.output().size()) return std::nullopt;
  return COverlap{};
}

std::optional<CRowwise> window_rows(const KernelSource& source, const Window& window) {
  if (source.input().shape.size() != 4 || source.input().shape[0] != 1) return std::nullopt;
  return CRowwise{.axis = window.y, .slides = true};
}

std::optional<CRowwise> elementwise_rows(const KernelSource& source) {
  const ModelTensor& y = source.output();
  if (y.shape.size() != 4 || y.shape[0] != 1) return std::nullopt;
  for (const std::int32_t input : c_values_of(source.op)) {
    if (source.model.tensors[static_cast<std::size_t>(input)].shape != y.shape) return std::nullopt;
  }
  const std::int64_t rows = y.shape[1];
  return CRowwise{.axis = {.input = rows, .output = rows}};
}

COverlap window_overlap(const KernelSource& source, const Window& window, bool windows_are_copied) {
  const std::int64_t channels = source.input().shape[3];
  // MEAN need not keep the axes in front.
  const std::int64_t units = source.output().shape.back();
  const auto pixel = [](const WindowAxis& axis, std::int64_t output) {
    return std::clamp<std::int64_t>(axis.first(output), 0, axis.input - 1);
  };
  COverlap overlap;
  // The first byte that is read for an output or for one behind it, from the last output up.
  std::int64_t read = source.input().size();
  for (std::int64_t output = source.input().shape[0] * window.outputs(); output-- > 0;) {
    const std::int64_t written = (output + 1) * units;
    const std::int64_t behind = read;
    const std::int64_t image = output / window.outputs();
    const std::int64_t y = pixel(window.y, output % window.outputs() / window.x.output);
    const std::int64_t x = pixel(window.x, output % window.x.output);
    read = std::min(read, (image * window.inputs() + y * window.x.input + x) * channels);
    overlap.lead = std::max(overlap.lead, written - (windows_are_copied ? behind : read));
  }
  return overlap;
}

CLayer make_byte_table_layer(const CPlan& plan, const CStep& step) {
  const ByteTable by_bits = byte_table(step.source);
  const bool from_signed = step.source.input().dtype == DType::int8;
  // By code from the lowest up, which is how a reader expects it.
  std::array<std::int32_t, 256> table{};
  for (std::size_t i = 0; i < table.size(); ++i) {
    table[i] = code_of(step.source.output().dtype, by_bits[from_signed ? i ^ 128U : i]);
  }
  CLayer layer;
  layer.summary = summary_of(step, fmt::format("{} codes", step.source.input().size()));
  Fillings f = layer_fillings(plan, step);
  f["summary"] = layer.summary;
  f["offset"] = from_signed ? " + 128" : "";
  layer.constants = fmt::format("/* By code, {} first. */\n", from_signed ? -128 : 0);
  layer.constants += array_text(f["to_type"], f["layer"] + "_table", table);
  layer.function = fill(kTableLayer, f);
  layer.flash_bytes = 256;
  return layer;
}

const COperator& c_operator(OpCode code) {
  static const std::array forms = {
#define OCTET_ROW(name, ...) c_forms::name(),
#include <octet/runtime/operators.def>
  };
  return forms[index_of(code)];
}

}  // namespace octet::detail
