#include <fmt/core.h>
#include <octet/runtime/operators/float_clamp.h>
#include <octet/runtime/operators/image_window.h>
#include <octet/runtime/operators/pool_2d.h>
#include <octet/runtime/operators/pool_kernel.h>

#include <algorithm>

namespace octet::detail {
namespace {

/// The mean of codes: their sum divided by their number, ties away from 0. Both zero points cancel.
auto mean_of_codes(const KernelSource& source) {
  return [range = pool_range(source)](std::int32_t sum, Index pixels) {
    const auto n = static_cast<std::int32_t>(pixels);
    const std::int32_t mean = sum > 0 ? (sum + n / 2) / n : (sum - n / 2) / n;
    return static_cast<std::int8_t>(std::clamp(mean, range.lo, range.hi));
  };
}

auto clamp_of_codes(const KernelSource& source) {
  return [range = pool_range(source)](std::int8_t code) {
    return static_cast<std::int8_t>(std::clamp<std::int32_t>(code, range.lo, range.hi));
  };
}

std::unique_ptr<Kernel> make_average_pool(const KernelSource& source) {
  const Window window = pool_window(source);
  if (source.input().dtype != DType::float32) {
    return make_code_means(source, window, mean_of_codes(source));
  }
  return make_clamped_pool<float>(source, window, average_pool, FloatClamp(source.op.activation()));
}

std::unique_ptr<Kernel> make_max_pool(const KernelSource& source) {
  const Window window = pool_window(source);
  if (source.input().dtype != DType::float32) {
    return make_clamped_pool<std::int8_t>(source, window, max_pool, clamp_of_codes(source));
  }
  return make_clamped_pool<float>(source, window, max_pool, FloatClamp(source.op.activation()));
}

// ---- Rules

/// Everything but the grids.
Window check_pool(const OperatorView& view) {
  const auto& a = view.op.as<PoolAttributes>();
  const auto& shape = view.input().shape;
  const std::int32_t channels = shape.empty() ? 1 : shape.back();
  const Window window = require_window(view, a, a.filter_h, a.filter_w, channels);
  view.require_known(view.op.activation());
  if (view.input().dtype != view.output().dtype) view.fail_types();
  if (view.input().dtype == DType::float32) return window;
  if (view.input().dtype != DType::int8) view.fail_types();
  view.require_per_tensor(view.input(), "input");
  view.require_per_tensor(view.output(), "output");
  return window;
}

/// TFLite Micro accepts scales that differ by this much; other runtimes do not look.
constexpr double kAverageScaleTolerance = 1e-6;

void require_one_grid(const OperatorView& view, double tolerance) {
  if (view.input().dtype == DType::float32) return;
  const QuantParams& in = view.input().quantization;
  const QuantParams& out = view.output().quantization;
  if (is_close(double{out.scale()}, double{in.scale()}, tolerance) &&
      in.zero_point() == out.zero_point()) {
    return;
  }
  view.fail(
      fmt::format("expected the output on its input's scale {} and zero point {}, found {} and {}; "
                  "pooling does "
                  "not rescale",
                  in.scale(), in.zero_point(), out.scale(), out.zero_point()));
}

void check_average_pool_2d(const OperatorView& view) {
  const Window window = check_pool(view);
  require_one_grid(view, kAverageScaleTolerance);
  const Index pixels =
      std::min(window.y.kernel, window.y.input) * std::min(window.x.kernel, window.x.input);
  // Codes reach 2^7.
  constexpr Index kMostPixels = Index{1} << 24;
  if (pixels >= kMostPixels && view.input().dtype == DType::int8) {
    view.fail(fmt::format("a window of {} pixels, whose sum could be beyond int32", pixels));
  }
}

void check_max_pool_2d(const OperatorView& view) {
  check_pool(view);
  require_one_grid(view, 0.0);
}

}  // namespace

Window pool_window(const Operands& operands) {
  const auto& a = operands.op.as<PoolAttributes>();
  return window_of(operands, a, a.filter_h, a.filter_w);
}

ActivationRange pool_range(const KernelSource& source) {
  const auto& a = source.op.as<PoolAttributes>();
  // What XNNPACK does not take, TensorFlow Lite's own kernel computes: means of codes, and windows
  // with pixels between them.
  const bool of_xnnpack =
      source.op.code == OpCode::max_pool_2d && a.stride_h <= a.filter_h && a.stride_w <= a.filter_w;
  return activation_range(a.activation, stored_params(source.output()),
                          of_xnnpack ? source.rounding : Rounding::double_rounding);
}

OperatorDefinition definitions::average_pool_2d() {
  return checked({.name = "AVERAGE_POOL_2D",
                  .releases = {10500, 11400, 11400},
                  .required_version = version_by_type<>,
                  .least_inputs = 1,
                  .most_inputs = 1,
                  .output_grid = OutputGrid::same_as_input,
                  .check = check_average_pool_2d,
                  .make_kernel = make_average_pool});
}

OperatorDefinition definitions::max_pool_2d() {
  return checked({.name = "MAX_POOL_2D",
                  .releases = {10500, 11400, 11400},
                  .required_version = version_by_type<>,
                  .least_inputs = 1,
                  .most_inputs = 1,
                  .output_grid = OutputGrid::same_as_input,
                  .check = check_max_pool_2d,
                  .make_kernel = make_max_pool});
}

}  // namespace octet::detail
