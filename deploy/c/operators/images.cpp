#include <octet/deploy/c/operators/images.h>

#include <string_view>

namespace octet::detail {
namespace {

void fill_axis(const WindowAxis& axis, std::string_view name, Fillings& f) {
  const auto set = [&](std::string_view what, Index value) {
    f[fmt::format("{}_{}", what, name)] = operand_text(value);
  };
  set("stride", axis.stride);
  set("before", axis.before);
  set("kernel", axis.kernel);
  set("last", axis.input - axis.kernel);
}

}  // namespace

std::string window_text(const Window& w, std::int64_t channels) {
  return fmt::format("{} x {} x {}, window {} x {}, stride {} x {}", w.y.input, w.x.input, channels,
                     w.y.kernel, w.x.kernel, w.y.stride, w.x.stride);
}

Fillings window_fillings(const Window& window, const Operands& operands, Fillings f) {
  const std::int64_t channels = operands.input().shape[3];
  f["rows"] = std::to_string(operands.input().shape[0] * window.y.output);
  f["image"] = std::to_string(window.inputs() * channels);
  f["channels"] = std::to_string(channels);
  f["height"] = std::to_string(window.y.input);
  f["width"] = std::to_string(window.x.input);
  f["output_height"] = std::to_string(window.y.output);
  f["output_width"] = std::to_string(window.x.output);
  fill_axis(window.y, "y", f);
  fill_axis(window.x, "x", f);
  return f;
}

}  // namespace octet::detail
