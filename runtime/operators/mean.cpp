#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/core/quant/round.h>
#include <octet/runtime/operators/mean.h>
#include <octet/runtime/operators/pool_kernel.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <set>
#include <vector>

namespace octet::detail {
namespace {

/// factor / count, the quotient of the mantissas rounded towards zero.
QuantizedMultiplier divided(QuantizedMultiplier factor, std::int32_t count) {
  const int log2 = static_cast<int>(std::bit_width(static_cast<std::uint32_t>(count))) - 1;
  const int shift = std::min(log2, 31 + factor.shift);
  const std::int64_t wide = std::int64_t{factor.multiplier} * (std::int64_t{1} << shift);
  return {static_cast<std::int32_t>(wide / count), factor.shift - shift};
}

void require_finite(float computed, const QuantParams& in, const QuantParams& out) {
  if (std::isfinite(computed)) return;
  throw NumericError(
      fmt::format("MEAN: what it computes of input scale {} and output scale {} is beyond float32",
                  in.scale(), out.scale()));
}

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
  if (pixels > QuantizedMean::kMostValues) {
    view.fail(fmt::format("an image of {} pixels, whose sum could be beyond int32", pixels));
  }
}

std::unique_ptr<Kernel> make_mean(const KernelSource& source) {
  const Window window = mean_window(source);
  if (source.input().dtype == DType::float32) {
    return make_pool<float>(source, window, average_pool);
  }
  return make_code_means(source, window,
                         [mean = quantized_mean(source)](std::int32_t sum, Index /*pixels*/) {
                           return static_cast<std::int8_t>(mean.apply(sum));
                         });
}

}  // namespace

Window mean_window(const Operands& operands) {
  const auto& shape = operands.input().shape;
  return {slide_window(shape[1], shape[1], 1, 1, Padding::valid),
          slide_window(shape[2], shape[2], 1, 1, Padding::valid)};
}

QuantizedMean quantized_mean(const KernelSource& source) {
  const auto& shape = source.input().shape;
  return QuantizedMean::make(source.input().quantization, source.output().quantization,
                             shape[1] * shape[2], source.op.as<MeanAttributes>().keep_dims,
                             source.rounding);
}

QuantizedMean QuantizedMean::make(const QuantParams& in, const QuantParams& out, std::int32_t count,
                                  bool keeps_axes, Rounding rounding) {
  require_int8_operand("MEAN", in, "input");
  require_int8_operand("MEAN", out, "output");
  if (count < 1 || count > kMostValues) {
    throw InvalidArgument(
        fmt::format("MEAN: expected 1 to {} values, found {}", kMostValues, count));
  }
  const float ratio = in.scale() / out.scale();
  require_finite(ratio, in, out);
  const auto n = static_cast<float>(count);
  QuantizedMean mean;
  mean.in_float_ = rounding == Rounding::fp32;
  if (mean.in_float_) {
    mean.float_factor_ = ratio * (1.0F / n);
    const auto zero_points = static_cast<float>(count * in.zero_point());
    mean.float_offset_ = static_cast<float>(out.zero_point()) - zero_points * mean.float_factor_;
    // What apply() adds to it has at most that size.
    require_finite(128.0F * n * mean.float_factor_, in, out);
    return mean;
  }
  if (rounding == Rounding::single_rounding && keeps_axes) {
    const float zero = static_cast<float>(in.zero_point()) * in.scale() / out.scale();
    require_finite(zero, in, out);
    require_finite(n * out.scale(), in, out);
    mean.factor_ = quantize_multiplier(double{in.scale() / (n * out.scale())});
    mean.offset_ = std::int64_t{out.zero_point()} -
                   clamp_to<std::int32_t>(zero > 0.0F ? zero + 0.5F : zero - 0.5F);
    return mean;
  }
  mean.start_ = -count * in.zero_point();
  mean.factor_ = divided(quantize_multiplier(double{in.scale()} / double{out.scale()}), count);
  mean.offset_ = out.zero_point();
  return mean;
}

std::int32_t QuantizedMean::apply(std::int32_t sum) const noexcept {
  if (in_float_) {
    const float code = static_cast<float>(sum) * float_factor_ + float_offset_;
    return clamp_to<std::int32_t>(round_half_even(code), -128, 127);
  }
  const std::int64_t code =
      offset_ + multiply_by_quantized_multiplier_double(sum + start_, factor_);
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(code, -128, 127));
}

OperatorDefinition definitions::mean() {
  return checked({.name = "MEAN",
                  .releases = {10600, 11400},
                  .required_version = version_by_type<>,
                  .least_inputs = 2,
                  .most_inputs = 2,
                  .output_grid = OutputGrid::measured,
                  .check = check_mean,
                  .make_kernel = make_mean});
}

}  // namespace octet::detail
