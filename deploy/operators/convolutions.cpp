#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/deploy/onnx/images.h>
#include <octet/deploy/operators/dense.h>
#include <octet/runtime/operators/depthwise_conv_2d.h>
#include <octet/runtime/operators/transpose_conv.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace octet::detail {
namespace {

using Extents = OnnxNodes::Extents;

/// ONNX convolves images [n, channels, height, width] with filters of four axes: the codes are
/// transposed to that for the node `function` and back, and the filters are written with their axes
/// in `order`. A runtime finds nothing between DequantizeLinear, Conv and QuantizeLinear, which it
/// makes one operator of integers.
void write_convolution(OnnxNodes& nodes, const Operands& o, std::string_view function,
                       const std::vector<OnnxAttribute>& attributes, std::string_view suffix,
                       const std::array<std::size_t, 4>& order) {
  OnnxValues& values = nodes.values();
  const std::string name = nodes.base_name(o.op.outputs[0]);
  const std::int32_t in = o.op.inputs[0];
  const std::int32_t out = o.op.outputs[0];
  const Filters filters = in_order(o.input(1), order);
  const auto units = static_cast<std::size_t>(o.input(1).quantization.quantized_dimension);
  const auto units_axis = static_cast<int>(std::ranges::find(order, units) - order.begin());
  OnnxNodes::Names operands{
      values.terms_of(in, channels_first(nodes, values.value(in), name), name),
      values.weight_terms(o.op.inputs[1], suffix, filters.shape, filters.data, units_axis)};
  if (o.has_input(2)) operands.push_back(dense_bias(nodes, o));
  const std::string sums = values.node(function, operands, name + "/sum", attributes);
  const std::string result =
      nodes.finish_rearranged(rescaled(nodes, o, sums, 2, name), out, o.op.activation());
  channels_last_to(nodes, result, out);
}

/// Filters [units, channels of a group, height, width].
void write_conv(OnnxNodes& nodes, const Operands& o, const Conv2DGeometry& geometry,
                std::string_view suffix, const std::array<std::size_t, 4>& order) {
  const Window& w = geometry.window;
  auto attributes = window_attributes(w);
  attributes.push_back({"dilations", Extents{w.y.dilation, w.x.dilation}});
  attributes.push_back({"group", geometry.groups});
  write_convolution(nodes, o, "Conv", attributes, suffix, order);
}

constexpr std::string_view kConvRows = R"(    for (int32_t row = 0; row < @outputs@; ++row) {
@place@        for (int32_t unit = 0; unit < @units@; ++unit) {
            @weights@
@sum@        }
        output += @units@;
    }
)";

constexpr std::string_view kConvUnits = R"(    for (int32_t unit = 0; unit < @units@; ++unit) {
        @weights@
        for (int32_t row = 0; row < @outputs@; ++row) {
            const int8_t *codes = weights;
@place@@sum@        }
    }
)";

constexpr std::string_view kPlace =
    R"(        const int8_t *image = input + row / @image_outputs@ * @image_size@;
)";

constexpr std::string_view kConvSum = R"(            int32_t sum = @bias@;
            for (int32_t tap = 0; tap < @taps@; ++tap) {
@tap@                    for (int32_t i = 0; i < @read@; ++i) {
                        sum += (pixel[i] - input_zero_point) * @tap_weight@;
                    }
                }
                @codes@ += @read@;
            }
            output[@at@] = @name@_to_code(
                @name@_@rescale@(sum, @multiplier@, @shift@),
                output_zero_point, @lo@, @hi@);
)";

/// What differs between both kinds of convolution: the place of an output, and the pixel of a tap.
struct Taps {
  std::string_view place;
  std::string_view tap;
};

constexpr Taps kImages = {
    R"(        const int32_t top = row / @width_out@ % @height_out@ * @stride_h@ - @top@;
        const int32_t left = row % @width_out@ * @stride_w@ - @left@;
)",
    R"(                const int32_t y = top + tap / @kernel_w@ * @dilation_h@;
                const int32_t x = left + tap % @kernel_w@ * @dilation_w@;
                if (y >= 0 && y < @height@ && x >= 0 && x < @width@) {
                    const int8_t *pixel = image + (y * @width@ + x) * @channels@@first@;
)"};

// Tap `tap` of an output lies on the pixel at its place divided by the strides, where that is
// whole.
constexpr Taps kTransposed = {
    R"(        const int32_t bottom = row / @width_out@ % @height_out@ + @top@;
        const int32_t right = row % @width_out@ + @left@;
)",
    R"(                const int32_t y = bottom - tap / @kernel_w@;
                const int32_t x = right - tap % @kernel_w@;
                if (y >= 0 && y < @below@ && y % @stride_h@ == 0 &&
                    x >= 0 && x < @beyond@ && x % @stride_w@ == 0) {
                    const int8_t *pixel =
                        image + (y / @stride_h@ * @width@ + x / @stride_w@) * @read@;
)"};

std::string loops_text(const Taps& taps, Fillings f, bool units_outside) {
  f["place"] = fill(kPlace, f) + fill(taps.place, f);
  f["tap"] = fill(taps.tap, f);
  f["codes"] = units_outside ? "codes" : "weights";
  const std::string weight = f["codes"] + "[i]";
  const std::string& less = f["less_zero_point"];
  f["tap_weight"] = less.empty() ? weight : fmt::format("({}{})", weight, less);
  f["at"] = units_outside ? fmt::format("row * {} + unit", f["units"]) : "unit";
  f["sum"] = fill(kConvSum, f);
  if (units_outside) f["place"] = indented(f["place"]);
  return fill(units_outside ? kConvUnits : kConvRows, f);
}

/// The window is that from the output back to the input.
std::string transposed_text(Fillings f, const Conv2DGeometry& geometry, bool units_outside) {
  const WindowAxis& y = geometry.window.y;
  const WindowAxis& x = geometry.window.x;
  const auto set = [&](const char* name, Index value) { f[name] = std::to_string(value); };
  set("outputs", geometry.images * geometry.window.inputs());
  set("image_outputs", geometry.window.inputs());
  set("image_size", geometry.window.outputs() * geometry.filters);
  set("height_out", y.input);
  set("width_out", x.input);
  set("stride_h", y.stride);
  set("stride_w", x.stride);
  set("top", y.before);
  set("left", x.before);
  set("taps", geometry.window.taps());
  set("kernel_w", x.kernel);
  set("below", y.output * y.stride);
  set("beyond", x.output * x.stride);
  set("width", x.output);
  set("read", geometry.filters);
  return loops_text(kTransposed, std::move(f), units_outside);
}

std::string conv_text(Fillings f, const CStep& step, const Conv2DGeometry& geometry,
                      bool units_outside) {
  const WindowAxis& y = geometry.window.y;
  const WindowAxis& x = geometry.window.x;
  const auto set = [&](const char* name, Index value) { f[name] = std::to_string(value); };
  set("outputs", geometry.rows());
  set("image_outputs", geometry.window.outputs());
  set("image_size", geometry.window.inputs() * geometry.channels);
  set("height_out", y.output);
  set("width_out", x.output);
  set("stride_h", y.stride);
  set("stride_w", x.stride);
  set("top", y.before);
  set("left", x.before);
  set("taps", geometry.window.taps());
  set("kernel_w", x.kernel);
  set("dilation_h", y.dilation);
  set("dilation_w", x.dilation);
  set("height", y.input);
  set("width", x.input);
  set("channels", geometry.channels);
  set("read", geometry.channels_per_group());
  f["first"] = geometry.groups == 1 ? ""
                                    : fmt::format(" + unit / {} * {}", geometry.filters_per_group(),
                                                  geometry.channels_per_group());
  if (step.rows) {
    f["outputs"] = f["image_outputs"] = fmt::format("(band_rows * {})", x.output);
    f["height_out"] = "band_rows";
    f["height"] = "band_height";
    f["top"] = "band_top";
  }
  return loops_text(kImages, std::move(f), units_outside);
}

std::string conv_detail(const Operands& o, const Conv2DGeometry& geometry) {
  const Window& w = geometry.window;
  const auto image = [](const ModelTensor& t) {
    return fmt::format("{} x {} x {}", t.shape[1], t.shape[2], t.shape[3]);
  };
  std::string text = fmt::format("{} -> {}, filters {} x {}", image(o.input()), image(o.output()),
                                 w.y.kernel, w.x.kernel);
  if (w.y.stride > 1 || w.x.stride > 1) {
    text += fmt::format(", stride {} x {}", w.y.stride, w.x.stride);
  }
  if (w.y.dilation > 1 || w.x.dilation > 1) {
    text += fmt::format(", dilation {} x {}", w.y.dilation, w.x.dilation);
  }
  if (geometry.groups > 1) text += fmt::format(", {} groups", geometry.groups);
  if (o.op.activation() != FusedActivation::none) {
    text += fmt::format(", {}", to_string(o.op.activation()));
  }
  return text;
}

/// The numbers of a window in the order of the C structure.
std::array<Index, 16> window_numbers(const Conv2DGeometry& geometry, std::int32_t zero_point) {
  const WindowAxis& y = geometry.window.y;
  const WindowAxis& x = geometry.window.x;
  return {geometry.images, y.input,  x.input,  geometry.channels, geometry.groups, y.output,
          x.output,        y.kernel, x.kernel, y.stride,          x.stride,        y.dilation,
          x.dilation,      y.before, x.before, zero_point};
}

CLayer make_conv_layer(const CPlan& plan, const CStep& step, const Conv2DGeometry& geometry,
                       const CSums& sums, CKernel kernel) {
  if (c_kernel_of(plan, sums, kernel)) {
    return make_kernel_layer(plan, step, sums, kernel,
                             window_numbers(geometry, sums.numbers.input_zero_point));
  }
  return make_sums_layer(plan, step, sums, [&](Fillings f, bool units_outside) {
    return conv_text(std::move(f), step, geometry, units_outside);
  });
}

CLayer make_conv_2d_layer(const CPlan& plan, const CStep& step) {
  const Conv2DGeometry geometry = conv_2d_geometry(step.source);
  const FullyConnectedNumbers n = conv_2d_numbers(step.source);
  if (geometry.is_matrix_product()) return make_fully_connected_layer(plan, step, n);
  const CSums sums{
      .numbers = n, .detail = conv_detail(step.source, geometry), .groups = geometry.groups};
  return make_conv_layer(plan, step, geometry, sums, CKernel::convolve);
}

std::int64_t conv_2d_scratch(const CPlan& plan, const KernelSource& source, std::int64_t /*rows*/) {
  const Conv2DGeometry geometry = conv_2d_geometry(source);
  const FullyConnectedNumbers n = conv_2d_numbers(source);
  if (geometry.is_matrix_product()) return fully_connected_scratch(plan, n);
  const CSums sums{.numbers = n, .detail = {}};
  const auto kernel = c_kernel_of(plan, sums, CKernel::convolve);
  return kernel ? c_scratch_bytes(plan, *kernel, n.depth, geometry.window) : 0;
}

std::optional<COverlap> conv_2d_overlap(const CPlan& plan, const KernelSource& source,
                                        std::size_t /*input*/) {
  const Conv2DGeometry geometry = conv_2d_geometry(source);
  if (geometry.is_matrix_product()) {
    return fully_connected_overlap(plan, conv_2d_numbers(source));
  }
  // Each group reads all over the images.
  if (geometry.groups > 1 || conv_2d_scratch(plan, source, 0) == 0) return std::nullopt;
  return window_overlap(source, geometry.window, /*windows_are_copied=*/true);
}

/// A convolution that is a product of matrices takes pixels in turn, and of a single one all at
/// once.
std::optional<CRowwise> conv_2d_rows(const KernelSource& source) {
  const Conv2DGeometry geometry = conv_2d_geometry(source);
  std::optional<CRowwise> rows = window_rows(source, geometry.window);
  if (rows && geometry.is_matrix_product()) rows->slides = false;
  if (geometry.rows() == 1) rows.reset();
  return rows;
}

std::optional<CRowwise> depthwise_rows(const KernelSource& source) {
  return window_rows(source, depthwise_geometry(source).window);
}

CLayer make_depthwise_layer(const CPlan& plan, const CStep& step) {
  std::vector<std::int8_t> weights;
  const FullyConnectedNumbers n = depthwise_numbers(step.source, weights);
  const Conv2DGeometry geometry = depthwise_geometry(step.source);
  const auto by_tap = values_of<std::int8_t>(step.source.input(1));
  const CSums sums{.numbers = n, .detail = conv_detail(step.source, geometry), .by_tap = by_tap};
  return make_conv_layer(plan, step, geometry, sums, CKernel::depthwise);
}

std::int64_t depthwise_scratch(const CPlan& plan, const KernelSource& source, std::int64_t rows) {
  std::vector<std::int8_t> weights;
  const FullyConnectedNumbers n = depthwise_numbers(source, weights);
  const auto by_tap = values_of<std::int8_t>(source.input(1));
  const CSums sums{.numbers = n, .detail = {}, .by_tap = by_tap};
  const auto kernel = c_kernel_of(plan, sums, CKernel::depthwise);
  Window window = depthwise_geometry(source).window;
  if (rows > 0) window.y.output = std::min(window.y.output, rows);
  return kernel ? c_scratch_bytes(plan, *kernel, n.depth, window) : 0;
}

/// Paths differ: outputs come window by window, or channel by channel of which each is copied
/// before its outputs are written. Channels stay apart where they lie at multiples of a pixel.
std::optional<COverlap> depthwise_overlap(const CPlan& plan, const KernelSource& source,
                                          std::size_t /*input*/) {
  const Conv2DGeometry geometry = depthwise_geometry(source);
  if (geometry.images > 1 || geometry.filters != geometry.channels ||
      depthwise_scratch(plan, source, 0) == 0) {
    return std::nullopt;
  }
  COverlap overlap = window_overlap(source, geometry.window, /*windows_are_copied=*/false);
  overlap.unit = geometry.channels;
  return overlap;
}

CLayer make_transpose_conv_layer(const CPlan& plan, const CStep& step) {
  const Conv2DGeometry geometry = transpose_conv_geometry(step.source);
  const FullyConnectedNumbers n = transpose_conv_numbers(step.source);
  const CSums sums{.numbers = n, .detail = conv_detail(step.source, geometry)};
  return make_sums_layer(plan, step, sums, [&](Fillings f, bool units_outside) {
    return transposed_text(std::move(f), geometry, units_outside);
  });
}

}  // namespace

void onnx_forms::conv_2d(OnnxNodes& nodes, const Operands& o) {
  const Conv2DGeometry geometry = conv_2d_geometry(o);
  if (geometry.is_matrix_product()) return write_dense(nodes, o);
  write_conv(nodes, o, geometry, "/filters", {0, 3, 1, 2});
}

COperator c_forms::conv_2d() {
  return {.reads_all_inputs = false,
          .make = make_conv_2d_layer,
          .scratch_bytes = conv_2d_scratch,
          .overlap = conv_2d_overlap,
          .rows = conv_2d_rows};
}

void onnx_forms::depthwise_conv_2d(OnnxNodes& nodes, const Operands& o) {
  if (nodes.exact() && o.input().is_quantized() && !o.has_input(2)) {
    throw InvalidArgument(fmt::format(
        "to_onnx: DEPTHWISE_CONV_2D '{}': style exact computes rounding mode fp32, in which a sum "
        "without bias is rounded twice, which ONNX's operators don't do; give it a bias of zeros, "
        "or use style standard",
        o.output().name));
  }
  write_conv(nodes, o, depthwise_geometry(o), "/planes", {3, 0, 1, 2});
}

COperator c_forms::depthwise_conv_2d() {
  return {.reads_all_inputs = false,
          .make = make_depthwise_layer,
          .scratch_bytes = depthwise_scratch,
          .overlap = depthwise_overlap,
          .rows = depthwise_rows};
}

/// Filters [channels, units, height, width]. Rows and columns that no pixel reaches, behind the
/// last, are "output_padding".
void onnx_forms::transpose_conv(OnnxNodes& nodes, const Operands& o) {
  const Window w = transpose_conv_geometry(o).window;
  if (nodes.exact() && o.input().is_quantized() && !xnnpack_takes_transpose_conv(o)) {
    throw InvalidArgument(fmt::format(
        "to_onnx: TRANSPOSE_CONV '{}': padding same with a stride larger than the kernel, or a "
        "bias "
        "without a scale: its sums are rounded twice, which ONNX's operators do not do in style "
        "exact; use style standard",
        o.output().name));
  }
  const auto beyond = [](const WindowAxis& axis) {
    return axis.input - (axis.first(axis.output - 1) + axis.kernel) + axis.after();
  };
  auto attributes = window_attributes(w);
  attributes.push_back({"dilations", Extents{1, 1}});
  attributes.push_back({"group", std::int64_t{1}});
  attributes.push_back({"output_padding", Extents{beyond(w.y), beyond(w.x)}});
  write_convolution(nodes, o, "ConvTranspose", attributes, "/transposed", {3, 0, 1, 2});
}

COperator c_forms::transpose_conv() {
  return {.reads_all_inputs = false, .make = make_transpose_conv_layer};
}

}  // namespace octet::detail
