#include <octet/core/quant/fake_quant.h>

#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include <fmt/core.h>

#include <octet/core/error.h>
#include <octet/core/quant/round.h>

namespace octet {
namespace {

// Names the tensor, or one channel of it, in a message.
struct Where {
  std::string_view name;
  std::optional<std::size_t> channel;
  [[nodiscard]] std::string text() const {
    return channel ? fmt::format("{}, channel {}", name, *channel) : std::string(name);
  }
};

void check_num_bits(int num_bits, std::string_view name) {
  if (!in_range(num_bits, 2, 16)) {
    throw InvalidArgument(
        fmt::format("{}: num_bits must be between 2 and 16, inclusive, found {}", name, num_bits));
  }
}

void check_range(float min, float max, const Where& where) {
  if (!std::isfinite(min) || !std::isfinite(max)) {
    throw NumericError(fmt::format(
        "{}: the range [{}, {}] is not finite; did the training diverge?", where.text(), min, max));
  }
  if (min > max) {
    throw InvalidArgument(
        fmt::format("{}: the range [{}, {}] is upside down: min > max", where.text(), min, max));
  }
  if (min == max && min != 0.0F) {
    throw InvalidArgument(fmt::format(
        "{}: the range [{}, {}] has no width; a range should include 0", where.text(), min, max));
  }
}

void check_same_size(std::size_t in, std::size_t out, std::string_view what) {
  if (in != out) {
    throw InvalidArgument(fmt::format("fake_quant: {} elements in, {} {}", in, out, what));
  }
}

std::size_t rows_of(std::size_t size, std::size_t channels) {
  if (channels == 0 || size % channels != 0) {
    throw InvalidArgument(fmt::format(
        "fake_quant: {} elements are no whole number of rows of {} channels", size, channels));
  }
  return size / channels;
}

// The order of the comparisons propagates NaN, and matches the processor's min and max.
inline float clip(float x, float min, float max) noexcept {
  const float below = max < x ? max : x;
  return below < min ? min : below;
}

// `position` is the distance from the nudged minimum in steps: 0..65535 plus at most a rounding
// error, which is in the domain of the vectorisable floor.
inline float snap(float position, float quant_zero, float scale) noexcept {
  return small::floor(position - quant_zero + 0.5F) * scale;
}

NudgedRange nudge_at(float min, float max, int num_bits, bool narrow_range, const Where& where) {
  check_range(min, max, where);
  const float qmin = narrow_range ? 1.0F : 0.0F;
  const auto qmax = static_cast<float>((std::int32_t{1} << num_bits) - 1);
  const float steps = qmax - qmin;
  NudgedRange range;
  range.scale = (max - min) / steps;
  if (range.scale < std::numeric_limits<float>::min()) {
    return {.is_zero = true};  // subnormal: 1 / scale would be infinite
  }
  range.inv_scale = steps / (max - min);
  const float zero_point = qmin - min / range.scale;
  range.zero_point =
      clamp_to<std::int32_t>(round_half_away(zero_point), static_cast<std::int32_t>(qmin),
                             static_cast<std::int32_t>(qmax));
  const auto zero = static_cast<float>(range.zero_point);
  range.min = (qmin - zero) * range.scale;
  range.max = (qmax - zero) * range.scale;
  if (!std::isfinite(range.min) || !std::isfinite(range.max)) {  // NaN where the scale is infinite
    throw NumericError(
        fmt::format("{}: the range [{}, {}] is too wide for float32", where.text(), min, max));
  }
  range.quant_zero = std::floor(-range.min * range.inv_scale + 0.5F);
  return range;
}

}  // namespace

NudgedRange nudge(float min, float max, int num_bits, bool narrow_range, std::string_view name) {
  check_num_bits(num_bits, name);
  return nudge_at(min, max, num_bits, narrow_range, {name, std::nullopt});
}

NudgedRanges nudge_per_channel(std::span<const float> min, std::span<const float> max, int num_bits,
                               bool narrow_range, std::string_view name) {
  if (min.size() != max.size()) {
    throw InvalidArgument(fmt::format("{}: max has incorrect size, expected {} was {}", name,
                                      min.size(), max.size()));
  }
  check_num_bits(num_bits, name);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  NudgedRanges ranges;
  for (std::size_t c = 0; c < min.size(); ++c) {
    const NudgedRange range = nudge_at(min[c], max[c], num_bits, narrow_range, {name, c});
    ranges.min.push_back(range.min);
    ranges.max.push_back(range.max);
    ranges.scale.push_back(range.scale);
    ranges.inv_scale.push_back(range.inv_scale);
    ranges.quant_zero.push_back(range.quant_zero);
    ranges.pass_min.push_back(range.is_zero ? -kInfinity : range.min);
    ranges.pass_max.push_back(range.is_zero ? kInfinity : range.max);
  }
  return ranges;
}

void fake_quant_multiply(std::span<const float> in, const NudgedRange& range,
                         std::span<float> out) {
  check_same_size(in.size(), out.size(), "out");
  const NudgedRange r = range;  // a copy, because writing to `out` might change `range`
  const float* x = in.data();
  float* y = out.data();
  for (std::size_t i = 0; i < in.size(); ++i) {
    y[i] = snap((clip(x[i], r.min, r.max) - r.min) * r.inv_scale, r.quant_zero, r.scale);
  }
}

void fake_quant_divide(std::span<const float> in, const NudgedRange& range, std::span<float> out) {
  check_same_size(in.size(), out.size(), "out");
  if (range.is_zero) {
    fake_quant_multiply(in, range, out);  // 0 / 0 would be NaN
    return;
  }
  const NudgedRange r = range;
  const float* x = in.data();
  float* y = out.data();
  for (std::size_t i = 0; i < in.size(); ++i) {
    y[i] = snap((clip(x[i], r.min, r.max) - r.min) / r.scale, r.quant_zero, r.scale);
  }
}

void fake_quant_multiply(std::span<const float> in, const NudgedRanges& ranges,
                         std::span<float> out) {
  check_same_size(in.size(), out.size(), "out");
  const std::size_t channels = ranges.scale.size();
  const std::size_t rows = rows_of(in.size(), channels);
  const float* min = ranges.min.data();
  const float* max = ranges.max.data();
  const float* scale = ranges.scale.data();
  const float* inv_scale = ranges.inv_scale.data();
  const float* quant_zero = ranges.quant_zero.data();
  for (std::size_t row = 0; row < rows; ++row) {
    const float* x = in.data() + row * channels;
    float* y = out.data() + row * channels;
    for (std::size_t c = 0; c < channels; ++c) {
      y[c] = snap((clip(x[c], min[c], max[c]) - min[c]) * inv_scale[c], quant_zero[c], scale[c]);
    }
  }
}

void check_fake_quant_args_range(float min, float max, std::string_view name) {
  if (min >= max) {
    throw InvalidArgument(
        fmt::format("{}: min has to be smaller than max, was: {} >= {}", name, min, max));
  }
}

void check_fake_quant_vars_shapes(std::span<const std::int64_t> min_shape,
                                  std::span<const std::int64_t> max_shape, std::string_view name) {
  if (!min_shape.empty() || !max_shape.empty()) {
    throw InvalidArgument(fmt::format("{}: `{}` must be rank 0 but is rank {}", name,
                                      min_shape.empty() ? "max" : "min",
                                      min_shape.empty() ? max_shape.size() : min_shape.size()));
  }
}

void check_fake_quant_per_channel_shapes(std::span<const std::int64_t> in_shape,
                                         std::span<const std::int64_t> min_shape,
                                         std::span<const std::int64_t> max_shape,
                                         std::string_view name) {
  if (in_shape.empty()) {
    throw InvalidArgument(fmt::format("{}: the input must be at least rank 1", name));
  }
  const auto check = [&](std::span<const std::int64_t> shape, std::string_view operand) {
    if (shape.size() != 1) {
      throw InvalidArgument(
          fmt::format("{}: `{}` must be rank 1 but is rank {}", name, operand, shape.size()));
    }
    if (shape[0] != in_shape.back()) {
      throw InvalidArgument(fmt::format("{}: {} has incorrect size, expected {} was {}", name,
                                        operand, in_shape.back(), shape[0]));
    }
  };
  check(min_shape, "min");
  check(max_shape, "max");
}

}  // namespace octet
