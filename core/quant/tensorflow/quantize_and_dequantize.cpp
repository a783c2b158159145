#include <octet/core/quant/tensorflow/quantize_and_dequantize.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/core.h>

#include <octet/core/error.h>
#include <octet/core/quant/axis.h>
#include <octet/core/quant/round.h>

namespace octet {
namespace {

using Options = QuantizeAndDequantizeOptions;
using Scale = QuantizeAndDequantizeScale;
using Version = QuantizeAndDequantizeVersion;

constexpr float kFloatMax = std::numeric_limits<float>::max();

void check_options(const Options& options, std::string_view name) {
  const int limit = options.signed_input ? 62 : 63;
  if (options.num_bits <= 0 || options.num_bits >= limit) {
    throw InvalidArgument(fmt::format("{}: num_bits is out of range: {} with signed_input {}", name,
                                      options.num_bits, options.signed_input));
  }
  if (options.round_mode == RoundMode::half_away) {
    throw InvalidArgument(
        fmt::format("{}: round_mode must be HALF_TO_EVEN or HALF_UP, found half away", name));
  }
}

// The axis counted from the front, or -1 for the whole tensor.
int check_axis(int axis, int rank, Version version, std::string_view name) {
  if (version == Version::v3) {
    if (axis != -1 && (axis < -rank || axis >= rank)) {
      throw InvalidArgument(
          fmt::format("{}: Axis requested is larger than input dimensions: axis {} for rank {}",
                      name, axis, rank));
    }
    return axis < -1 ? axis + rank : axis;
  }
  if (axis < -1) {
    throw InvalidArgument(fmt::format("{}: Axis must be at least -1, found {}", name, axis));
  }
  if (axis >= rank) {
    throw InvalidArgument(
        fmt::format("{}: Shape must be at least rank {} but is rank {}", name, axis + 1, rank));
  }
  return axis;
}

AxisSplit split_slices(std::span<const std::int64_t> shape, int axis, std::size_t size,
                       std::string_view name) {
  return axis < 0 ? AxisSplit{1, 1, size} : split_axis(shape, axis, size, name);
}

void check_range_size(std::size_t found, std::size_t expected, std::string_view operand,
                      std::string_view name) {
  if (found != expected) {
    throw InvalidArgument(fmt::format("{}: {} has incorrect size, expected {} was {}", name,
                                      operand, expected, found));
  }
}

struct SliceRange {
  float min;
  float max;
};

void check_range(SliceRange range, bool given, std::string_view name) {
  if (!std::isfinite(range.min) || !std::isfinite(range.max)) {
    throw NumericError(fmt::format("{}: the range [{}, {}] {} is not finite", name, range.min,
                                   range.max, given ? "given" : "of the data"));
  }
  if (range.min > range.max) {
    throw InvalidArgument(
        fmt::format("{}: Invalid range: input_min {} > input_max {}", name, range.min, range.max));
  }
}

// Calls function(start, size) for each stretch of slice c.
template <typename Function>
void for_each_run(const AxisSplit& split, std::size_t c, Function function) {
  for (std::size_t o = 0; o < split.outer; ++o) {
    function((o * split.channels + c) * split.inner, split.inner);
  }
}

SliceRange range_of_slice(std::span<const float> in, const AxisSplit& split, std::size_t c) {
  SliceRange range{std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()};
  bool has_nan = false;
  for_each_run(split, c, [&](std::size_t start, std::size_t size) {
    for (const float x : in.subspan(start, size)) {
      range.min = std::min(range.min, x);
      range.max = std::max(range.max, x);
      has_nan = has_nan || std::isnan(x);
    }
  });
  if (has_nan) {
    return {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::quiet_NaN()};
  }
  return range;
}

void quantize_run(std::span<const float> in, const Scale& scale, const Options& options,
                  std::span<float> out) {
  if (scale.is_zero) {
    std::fill(out.begin(), out.end(), 0.0F);
    return;
  }
  for (std::size_t i = 0; i < in.size(); ++i) {
    float x = in[i];
    if (options.range_given) {
      x = scale.max < x ? scale.max : x;
      x = x < scale.min ? scale.min : x;
    }
    const float scaled = x * scale.scale;
    const float rounded =
        options.round_mode == RoundMode::half_up ? round_half_up(scaled) : round_half_even(scaled);
    out[i] = rounded * scale.inverse;
  }
}

}  // namespace

QuantizeAndDequantizeScale quantize_and_dequantize_scale(
    float min, float max, const QuantizeAndDequantizeOptions& options) {
  const int magnitude_bits = options.signed_input ? options.num_bits - 1 : options.num_bits;
  const std::int64_t half = std::int64_t{1} << magnitude_bits;
  const auto qmin =
      options.signed_input ? static_cast<float>((options.narrow_range ? 1 : 0) - half) : 0.0F;
  const auto qmax = static_cast<float>(half - 1);
  const float from_min = qmin * min > 0.0F ? qmin / min : kFloatMax;
  const float from_max = qmax * max > 0.0F ? qmax / max : kFloatMax;
  // Also where the data are so small that the quotient is infinite.
  if (from_min >= kFloatMax && from_max >= kFloatMax) {
    return {.is_zero = true};
  }
  if (from_min < from_max) {
    const float inverse = min / qmin;
    return {from_min, inverse, min, qmax * inverse, false};
  }
  const float inverse = max / qmax;
  return {from_max, inverse, qmin * inverse, max, false};
}

void quantize_and_dequantize(std::span<const float> in, std::span<const std::int64_t> shape,
                             std::span<const float> input_min, std::span<const float> input_max,
                             const QuantizeAndDequantizeOptions& options, std::span<float> out,
                             QuantizeAndDequantizeVersion version, std::string_view name) {
  check_options(options, name);
  const int axis = check_axis(options.axis, static_cast<int>(shape.size()), version, name);
  check_range_size(out.size(), in.size(), "output", name);
  const AxisSplit split = split_slices(shape, axis, in.size(), name);
  if (options.range_given) {
    check_range_size(input_min.size(), split.channels, "input_min", name);
    check_range_size(input_max.size(), split.channels, "input_max", name);
  }
  if (in.empty()) {
    return;
  }
  for (std::size_t c = 0; c < split.channels; ++c) {
    const SliceRange range =
        options.range_given ? SliceRange{input_min[c], input_max[c]} : range_of_slice(in, split, c);
    check_range(range, options.range_given, name);
    const Scale scale = quantize_and_dequantize_scale(range.min, range.max, options);
    for_each_run(split, c, [&](std::size_t start, std::size_t size) {
      quantize_run(in.subspan(start, size), scale, options, out.subspan(start, size));
    });
  }
}

void quantize_and_dequantize_v4_grad(std::span<const float> gradient, std::span<const float> in,
                                     std::span<const std::int64_t> shape,
                                     std::span<const float> input_min,
                                     std::span<const float> input_max, int axis,
                                     std::span<float> d_input, std::span<float> d_min,
                                     std::span<float> d_max, std::string_view name) {
  if (gradient.size() != in.size() || d_input.size() != in.size()) {
    throw InvalidArgument(
        fmt::format("{}: gradient and input must be the same size, found {}, {} and room for {}",
                    name, gradient.size(), in.size(), d_input.size()));
  }
  const int checked = check_axis(axis, static_cast<int>(shape.size()), Version::v4, name);
  const AxisSplit split = split_slices(shape, checked, in.size(), name);
  check_range_size(input_min.size(), split.channels, "input_min", name);
  check_range_size(input_max.size(), split.channels, "input_max", name);
  check_range_size(d_min.size(), split.channels, "the gradient of input_min", name);
  check_range_size(d_max.size(), split.channels, "the gradient of input_max", name);
  for (std::size_t c = 0; c < split.channels; ++c) {
    for_each_run(split, c, [&](std::size_t start, std::size_t size) {
      for (std::size_t i = start; i < start + size; ++i) {
        d_input[i] = in_range(in[i], input_min[c], input_max[c]) ? gradient[i] : 0.0F;
      }
    });
  }
  std::fill(d_min.begin(), d_min.end(), 0.0F);
  std::fill(d_max.begin(), d_max.end(), 0.0F);
}

int quantize_and_dequantize_axis(std::optional<int> axis, std::size_t rank) {
  if (!axis.has_value()) {
    return -1;
  }
  const int extent = static_cast<int>(rank);
  if (*axis < -extent || *axis >= extent) {
    throw InvalidArgument(fmt::format(
        "quantize_and_dequantize: axis {} is outside a tensor of rank {}", *axis, rank));
  }
  return *axis < 0 ? *axis + extent : *axis;
}

void check_quantize_and_dequantize_range_shapes(int axis, std::span<const std::int64_t> min_shape,
                                                std::span<const std::int64_t> max_shape,
                                                std::string_view name) {
  const std::size_t expected = axis == -1 ? 0 : 1;
  for (const std::size_t rank : {min_shape.size(), max_shape.size()}) {
    if (rank != expected) {
      throw InvalidArgument(
          fmt::format("{}: Shape must be rank {} but is rank {}", name, expected, rank));
    }
  }
}

int quantize_and_dequantize_num_bits(std::span<const std::int32_t> values,
                                     std::span<const std::int64_t> shape) {
  if (!shape.empty() || values.size() != 1) {
    throw InvalidArgument(fmt::format(
        "quantize_and_dequantize: The `num_bits` tensor should be a scalar. Found rank {} and {} "
        "elements",
        shape.size(), values.size()));
  }
  return values[0];
}

RoundMode parse_round_mode(std::string_view text) {
  if (text == "HALF_TO_EVEN") {
    return RoundMode::half_to_even;
  }
  if (text == "HALF_UP") {
    return RoundMode::half_up;
  }
  throw InvalidArgument(
      fmt::format("round_mode: expected HALF_TO_EVEN or HALF_UP, found \"{}\"", text));
}

}  // namespace octet
