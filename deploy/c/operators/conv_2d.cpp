#include <fmt/format.h>
#include <octet/deploy/c/operators/dense.h>
#include <octet/runtime/operators/depthwise_conv_2d.h>
#include <octet/runtime/operators/transpose_conv.h>

namespace octet::detail {
namespace {

constexpr std::string_view kLoops = R"(    for (int32_t row = 0; row < @outputs@; ++row) {
        const int8_t *image = input + row / @image_outputs@ * @image_size@;
@place@        for (int32_t unit = 0; unit < @units@; ++unit) {
            const int8_t *weights = @layer@_weights[unit];
            int32_t sum = @bias@;
            for (int32_t tap = 0; tap < @taps@; ++tap) {
@tap@                    for (int32_t i = 0; i < @read@; ++i) {
                        sum += (pixel[i] - input_zero_point) * weights[i];
                    }
                }
                weights += @read@;
            }
            output[unit] = @name@_to_code(
                @name@_@rescale@(sum, @multiplier@, @shift@),
                output_zero_point, @lo@, @hi@);
        }
        output += @units@;
    }
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

std::string loops_text(const Taps& taps, Fillings f) {
  f["place"] = fill(taps.place, f);
  f["tap"] = fill(taps.tap, f);
  return fill(kLoops, f);
}

/// The window is that from the output back to the input.
std::string transposed_text(Fillings f, const Conv2DGeometry& geometry) {
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
  return loops_text(kTransposed, std::move(f));
}

std::string conv_text(Fillings f, const Conv2DGeometry& geometry) {
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
  return loops_text(kImages, std::move(f));
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

CLayer make_conv_layer(const CPlan& plan, const CStep& step, const Conv2DGeometry& geometry,
                       const FullyConnectedNumbers& n) {
  return make_sums_layer(plan, step, n, conv_detail(step.source, geometry),
                         [&](Fillings f) { return conv_text(std::move(f), geometry); });
}

CLayer make_conv_2d_layer(const CPlan& plan, const CStep& step) {
  const Conv2DGeometry geometry = conv_2d_geometry(step.source);
  const FullyConnectedNumbers n = conv_2d_numbers(step.source);
  if (geometry.is_matrix_product()) return make_fully_connected_layer(plan, step, n);
  return make_conv_layer(plan, step, geometry, n);
}

CLayer make_depthwise_layer(const CPlan& plan, const CStep& step) {
  std::vector<std::int8_t> weights;
  const FullyConnectedNumbers n = depthwise_numbers(step.source, weights);
  return make_conv_layer(plan, step, depthwise_geometry(step.source), n);
}

CLayer make_transpose_conv_layer(const CPlan& plan, const CStep& step) {
  const Conv2DGeometry geometry = transpose_conv_geometry(step.source);
  return make_sums_layer(plan, step, transpose_conv_numbers(step.source),
                         conv_detail(step.source, geometry),
                         [&](Fillings f) { return transposed_text(std::move(f), geometry); });
}

}  // namespace

COperator c_forms::conv_2d() { return {.reads_all_inputs = false, .make = make_conv_2d_layer}; }
COperator c_forms::depthwise_conv_2d() {
  return {.reads_all_inputs = false, .make = make_depthwise_layer};
}
COperator c_forms::transpose_conv() {
  return {.reads_all_inputs = false, .make = make_transpose_conv_layer};
}

}  // namespace octet::detail
