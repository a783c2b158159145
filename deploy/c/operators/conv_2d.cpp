#include <fmt/format.h>
#include <octet/deploy/c/operators/dense.h>
#include <octet/runtime/operators/depthwise_conv_2d.h>

namespace octet::detail {
namespace {

constexpr std::string_view kImages = R"(    for (int32_t row = 0; row < @outputs@; ++row) {
        const int8_t *image = input + row / @image_outputs@ * @image_size@;
        const int32_t top = row / @width_out@ % @height_out@ * @stride_h@ - @top@;
        const int32_t left = row % @width_out@ * @stride_w@ - @left@;
        for (int32_t unit = 0; unit < @units@; ++unit) {
            const int8_t *weights = @layer@_weights[unit];
            int32_t sum = @bias@;
            for (int32_t tap = 0; tap < @taps@; ++tap) {
                const int32_t y = top + tap / @kernel_w@ * @dilation_h@;
                const int32_t x = left + tap % @kernel_w@ * @dilation_w@;
                if (y >= 0 && y < @height@ && x >= 0 && x < @width@) {
                    const int8_t *pixel = image + (y * @width@ + x) * @channels@@first@;
                    for (int32_t i = 0; i < @read@; ++i) {
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
  return fill(kImages, f);
}

std::string conv_detail(const Conv2DGeometry& geometry, const Operator& op) {
  const Window& w = geometry.window;
  std::string text = fmt::format("{} x {} x {} -> {} x {} x {}, filters {} x {}", w.y.input,
                                 w.x.input, geometry.channels, w.y.output, w.x.output,
                                 geometry.filters, w.y.kernel, w.x.kernel);
  if (w.y.stride > 1 || w.x.stride > 1) {
    text += fmt::format(", stride {} x {}", w.y.stride, w.x.stride);
  }
  if (w.y.dilation > 1 || w.x.dilation > 1) {
    text += fmt::format(", dilation {} x {}", w.y.dilation, w.x.dilation);
  }
  if (geometry.groups > 1) text += fmt::format(", {} groups", geometry.groups);
  if (op.activation() != FusedActivation::none) {
    text += fmt::format(", {}", to_string(op.activation()));
  }
  return text;
}

CLayer make_conv_layer(const CPlan& plan, const CStep& step, const Conv2DGeometry& geometry,
                       const FullyConnectedNumbers& n) {
  return make_sums_layer(plan, step, n, conv_detail(geometry, step.source.op),
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

}  // namespace

COperator c_forms::conv_2d() { return {.reads_all_inputs = false, .make = make_conv_2d_layer}; }
COperator c_forms::depthwise_conv_2d() {
  return {.reads_all_inputs = false, .make = make_depthwise_layer};
}

}  // namespace octet::detail
