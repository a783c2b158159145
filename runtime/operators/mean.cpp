#include <fmt/format.h>
#include <octet/runtime/operators/mean.h>
#include <octet/runtime/operators/window_reduction.h>

#include <cstring>
#include <set>
#include <vector>

namespace octet::detail {
namespace {

class Int8RescaledMean {
 public:
  using Code = std::int8_t;
  using Sum = std::int32_t;

  explicit Int8RescaledMean(const KernelSource& source) : mean_(code_mean(source)) {}

  static constexpr Sum start() { return 0; }
  static Sum take(Sum sum, Code code) { return sum + code; }
  Code finish(Sum sum, Index /*count*/) const { return static_cast<Code>(mean_.apply(sum)); }

 private:
  CodeMean mean_;
};

/// Fails unless the axes are those of the pixels, in any order, counted from either end.
void require_axes_of_pixels(const OperatorView& view) {
  const ModelTensor& axes = view.input(1);
  if (axes.dtype != DType::int32 || !axes.is_constant()) {
    view.fail(fmt::format("expected its axes as an int32 constant, found '{}' of {}", axes.name,
                          to_string(axes.dtype)));
  }
  std::vector<std::int32_t> found(axes.data.size() / sizeof(std::int32_t));
  std::memcpy(found.data(), axes.data.data(), axes.data.size());
  std::set<std::int32_t> counted;
  for (const std::int32_t axis : found) counted.insert(axis < 0 ? axis + 4 : axis);
  if (counted != std::set<std::int32_t>{1, 2}) {
    view.fail(fmt::format(
        "expected the axes of the pixels, [1, 2], found [{}]; means over others are not supported",
        fmt::join(found, ", ")));
  }
}

void check_mean(const OperatorView& view) {
  const auto& shape = view.input().shape;
  if (shape.size() != 4) {
    view.fail(
        fmt::format("expected images [n, height, width, channels], found shape [{}]; means "
                    "of others are not supported",
                    fmt::join(shape, ", ")));
  }
  require_axes_of_pixels(view);
  const bool keeps = view.op.as<MeanAttributes>().keep_dims;
  view.require_output_shape(keeps ? std::vector{shape[0], 1, 1, shape[3]}
                                  : std::vector{shape[0], shape[3]});
  if (view.input().dtype != view.output().dtype) view.fail_types();
  if (view.input().dtype == DType::float32) return;
  if (view.input().dtype != DType::int8) view.fail_types();
  view.require_per_tensor(view.input(), "input");
  view.require_per_tensor(view.output(), "output");
  const std::int64_t pixels = std::int64_t{shape[1]} * shape[2];
  if (pixels > CodeMean::kMostCodes) {
    view.fail(fmt::format("an image of {} pixels, whose sum could be beyond int32", pixels));
  }
}

std::unique_ptr<Kernel> make_mean(const KernelSource& source) {
  const Window window = mean_window(source);
  if (source.input().dtype == DType::float32) {
    return std::make_unique<WindowReduction<FloatMean>>(source, window);
  }
  return std::make_unique<WindowReduction<Int8RescaledMean>>(source, window);
}

}  // namespace

Window mean_window(const Operands& operands) {
  const auto& shape = operands.input().shape;
  return {slide_window(shape[1], shape[1], 1, 1, Padding::valid),
          slide_window(shape[2], shape[2], 1, 1, Padding::valid)};
}

CodeMean code_mean(const KernelSource& source) {
  const auto& shape = source.input().shape;
  return CodeMean::make(source.input().quantization, source.output().quantization,
                        shape[1] * shape[2], source.op.as<MeanAttributes>().keep_dims,
                        source.rounding);
}

OperatorDefinition definitions::mean() {
  return checked({.name = "MEAN",
                  .default_attributes = default_of<MeanAttributes>,
                  .least_inputs = 2,
                  .most_inputs = 2,
                  .output_grid = OutputGrid::measured,
                  .check = check_mean,
                  .make_kernel = make_mean});
}

}  // namespace octet::detail
