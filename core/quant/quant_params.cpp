#include <octet/core/quant/quant_params.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include <fmt/core.h>

#include <octet/core/error.h>
#include <octet/core/quant/round.h>

namespace octet {
namespace {

// Ranges up to this width are widened, to contain at least [-kHalfNarrowest, kHalfNarrowest].
constexpr double kNarrowest = 1e-6;
constexpr double kHalfNarrowest = 5e-7;
constexpr std::int32_t kHighestInt8 = 127;

struct Range {
  double min;
  double max;
};

/// The name of a range in an error message, formatted only if there is an error.
struct RangeName {
  std::string_view tensor;
  std::optional<std::size_t> channel = {};

  std::string text() const {
    return channel ? fmt::format("{}, channel {}", tensor, *channel) : std::string(tensor);
  }
};

void check_range(Range range, const RangeName& name) {
  if (!std::isfinite(range.min) || !std::isfinite(range.max)) {
    throw NumericError(fmt::format(
        "{}: the range [{}, {}] is not finite; did the training diverge, or was no data seen?",
        name.text(), range.min, range.max));
  }
  if (range.min > range.max) {
    throw NumericError(fmt::format("{}: the range [{}, {}] is upside down: min > max", name.text(),
                                   range.min, range.max));
  }
}

/// A scale, not yet rounded to float32, and its zero point.
struct ScaleZeroPoint {
  double scale = 0.0;
  std::int32_t zero_point = 0;
};

// TensorFlow Lite's ChooseQuantizationParams for any range of non-zero width: the zero point comes
// from the end with the smaller rounding error.
ScaleZeroPoint choose(Range range, std::int32_t qmin, std::int32_t qmax) {
  const double lo = qmin;
  const double hi = qmax;
  const double scale = (range.max - range.min) / (hi - lo);
  const double from_min = lo - range.min / scale;
  const double from_max = hi - range.max / scale;
  const double min_error = std::fabs(lo) + std::fabs(range.min / scale);
  const double max_error = std::fabs(hi) + std::fabs(range.max / scale);
  const double zero_point = min_error < max_error ? from_min : from_max;
  return {scale, clamp_to<std::int32_t>(round_half_away(zero_point), qmin, qmax)};
}

// TFMOT's symmetric range: each side grows to match the other.
Range make_symmetric(Range range, const QuantSpec& spec) {
  const auto codes = static_cast<double>(std::int64_t{1} << spec.num_bits);
  const double ratio = spec.narrow_range ? -1.0 : -(codes - 2.0) / codes;
  return {std::min(range.min, range.max / ratio), std::max(range.max, range.min * ratio)};
}

ScaleZeroPoint choose_scale_zero_point(Range range, const QuantSpec& spec, const RangeName& name) {
  check_range(range, name);
  if (spec.symmetric) {
    range = make_symmetric(range, spec);
  }
  if (range.max - range.min <= kNarrowest) {
    range = {std::min(range.min, -kHalfNarrowest), std::max(range.max, kHalfNarrowest)};
  }
  const bool reduced = spec.narrow_range && spec.narrow_steps == NarrowSteps::reduced;
  const std::int32_t top = (std::int32_t{1} << spec.num_bits) - 1;
  const std::int32_t middle = std::int32_t{1} << (spec.num_bits - 1);
  ScaleZeroPoint result = choose(range, reduced ? 1 : 0, top);
  if (spec.symmetric) {
    result.zero_point = middle;  // what the rule gives too, but for rounding
  }
  if (spec.top_of_int8) {
    result.zero_point += spec.qmin();
  } else if (spec.is_signed) {
    result.zero_point -= middle;
  }
  // `full` steps count code 0, which a narrow range does not have.
  result.zero_point = std::max(result.zero_point, spec.qmin());
  return result;
}

void check_codes_are_finite(const QuantParams& params, std::size_t channel, const RangeName& name,
                            Range range) {
  const auto zero_point = static_cast<double>(params.zero_points[channel]);
  const auto scale = static_cast<double>(params.scales[channel]);
  for (const std::int32_t code : {params.qmin, params.qmax}) {
    if (!std::isfinite(static_cast<float>((code - zero_point) * scale))) {
      throw NumericError(fmt::format(
          "{}: the range [{}, {}] is too wide for float32: quantized value {} would stand for "
          "infinity",
          name.text(), range.min, range.max, code));
    }
  }
}

}  // namespace

std::int32_t QuantSpec::qmin() const noexcept {
  if (top_of_int8) return kHighestInt8 + 1 - (std::int32_t{1} << num_bits);
  const std::int32_t lowest = is_signed ? -(std::int32_t{1} << (num_bits - 1)) : 0;
  return lowest + (narrow_range ? 1 : 0);
}

std::int32_t QuantSpec::qmax() const noexcept {
  if (top_of_int8) return kHighestInt8;
  return (std::int32_t{1} << (is_signed ? num_bits - 1 : num_bits)) - 1;
}

void QuantSpec::validate(std::string_view name) const {
  if (!in_range(num_bits, 2, 16)) {
    throw InvalidArgument(
        fmt::format("{}: num_bits must be between 2 and 16, inclusive, found {}", name, num_bits));
  }
  if (axis < -1) {
    throw InvalidArgument(
        fmt::format("{}: axis must be -1 (whole tensor) or more, found {}", name, axis));
  }
  if (top_of_int8 && (!is_signed || narrow_range || symmetric || axis >= 0 || num_bits > 8)) {
    throw InvalidArgument(
        fmt::format("{}: values at the top of int8 must be signed, asymmetric, not narrow, per "
                    "tensor and of at "
                    "most 8 bits, found {}{}{}{}, {} bits",
                    name, is_signed ? "signed" : "unsigned", symmetric ? ", symmetric" : "",
                    narrow_range ? ", narrow" : "", axis >= 0 ? ", per channel" : "", num_bits));
  }
}

QuantParams QuantParams::per_tensor(float scale, std::int32_t zero_point, std::int32_t qmin,
                                    std::int32_t qmax) {
  return {{scale}, {zero_point}, 0, qmin, qmax};
}

void QuantParams::validate(std::string_view name) const {
  if (scales.empty() || scales.size() != zero_points.size()) {
    throw InvalidArgument(
        fmt::format("{}: expected one scale or more and as many zero points, found {} and {}", name,
                    scales.size(), zero_points.size()));
  }
  for (std::size_t c = 0; c < scales.size(); ++c) {
    if (!std::isfinite(scales[c]) || !(scales[c] > 0.0F)) {
      throw InvalidArgument(
          fmt::format("{}: scale {} of channel {} is not finite and above 0", name, scales[c], c));
    }
  }
  if (qmin > qmax) {
    throw InvalidArgument(fmt::format("{}: qmin {} is above qmax {}", name, qmin, qmax));
  }
}

QuantParams choose_quant_params(std::span<const float> mins, std::span<const float> maxs,
                                const QuantSpec& spec, std::string_view tensor_name) {
  spec.validate(tensor_name);
  if (mins.empty() || mins.size() != maxs.size() || (spec.axis < 0 && mins.size() != 1)) {
    throw InvalidArgument(fmt::format("{}: expected {} min and as many max, found {} and {}",
                                      tensor_name, spec.axis < 0 ? "one" : "one or more",
                                      mins.size(), maxs.size()));
  }
  QuantParams params;
  params.quantized_dimension = std::max(spec.axis, 0);
  params.qmin = spec.qmin();
  params.qmax = spec.qmax();
  params.scales.reserve(mins.size());
  params.zero_points.reserve(mins.size());
  for (std::size_t c = 0; c < mins.size(); ++c) {
    RangeName name{tensor_name};
    if (spec.axis >= 0) name.channel = c;
    const ScaleZeroPoint chosen = choose_scale_zero_point({mins[c], maxs[c]}, spec, name);
    params.scales.push_back(static_cast<float>(chosen.scale));
    params.zero_points.push_back(chosen.zero_point);
    check_codes_are_finite(params, c, name, {mins[c], maxs[c]});
  }
  return params;
}

QuantParams choose_quant_params(float min, float max, const QuantSpec& spec,
                                std::string_view tensor_name) {
  return choose_quant_params(std::span(&min, 1), std::span(&max, 1), spec, tensor_name);
}

}  // namespace octet
