#include <fmt/core.h>
#include <octet/runtime/operators/pool_2d.h>
#include <octet/runtime/operators/window_reduction.h>

#include <algorithm>
#include <limits>

namespace octet::detail {
namespace {

/// The mean of codes: their sum divided by their number, ties away from 0. Both zero points cancel.
class Int8Mean {
 public:
  using Code = std::int8_t;
  using Sum = std::int32_t;

  explicit Int8Mean(const KernelSource& source) : range_(pool_range(source)) {}

  static constexpr Sum start() { return 0; }
  static Sum take(Sum sum, Code code) { return sum + code; }
  Code finish(Sum sum, Index count) const {
    const auto n = static_cast<Sum>(count);
    const Sum mean = sum > 0 ? (sum + n / 2) / n : (sum - n / 2) / n;
    return static_cast<Code>(std::clamp(mean, range_.lo, range_.hi));
  }

 private:
  ActivationRange range_;
};

class Int8Maximum {
 public:
  using Code = std::int8_t;
  using Sum = std::int8_t;

  explicit Int8Maximum(const KernelSource& source) : range_(pool_range(source)) {}

  static constexpr Sum start() { return -128; }
  static Sum take(Sum most, Code code) { return std::max(most, code); }
  Code finish(Sum most, Index /*count*/) const {
    return static_cast<Code>(std::clamp<std::int32_t>(most, range_.lo, range_.hi));
  }
  /// Whether finish() changes nothing.
  bool keeps_all() const { return range_ == ActivationRange{}; }

 private:
  ActivationRange range_;
};

class FloatMaximum {
 public:
  using Code = float;
  using Sum = float;

  explicit FloatMaximum(const KernelSource& source) : clamp_(source.op.activation()) {}

  static constexpr Sum start() { return -std::numeric_limits<float>::infinity(); }
  static Sum take(Sum most, Code value) { return std::max(most, value); }
  Code finish(Sum most, Index /*count*/) const { return clamp_(most); }

 private:
  FloatClamp clamp_;
};

template <class OfCodes, class OfReals>
std::unique_ptr<Kernel> make_pool(const KernelSource& source) {
  const Window window = pool_window(source);
  if (source.input().dtype == DType::float32) {
    return std::make_unique<WindowReduction<OfReals>>(source, window);
  }
  return std::make_unique<WindowReduction<OfCodes>>(source, window);
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
  const Index pixels = most_pixels(window);
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
                  .default_attributes = default_of<PoolAttributes>,
                  .least_inputs = 1,
                  .most_inputs = 1,
                  .output_grid = OutputGrid::same_as_input,
                  .check = check_average_pool_2d,
                  .make_kernel = make_pool<Int8Mean, FloatMean>});
}

OperatorDefinition definitions::max_pool_2d() {
  return checked({.name = "MAX_POOL_2D",
                  .default_attributes = default_of<PoolAttributes>,
                  .least_inputs = 1,
                  .most_inputs = 1,
                  .output_grid = OutputGrid::same_as_input,
                  .check = check_max_pool_2d,
                  .make_kernel = make_pool<Int8Maximum, FloatMaximum>});
}

}  // namespace octet::detail
