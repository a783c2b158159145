#include <octet/core/quant/activation_range.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/core.h>

#include <octet/core/error.h>
#include <octet/core/quant/fixed_point.h>
#include <octet/core/quant/quant_params.h>
#include <octet/core/quant/round.h>

namespace octet {
namespace {

[[noreturn]] void fail_outside(FusedActivation activation) {
  throw InvalidArgument(
      fmt::format("a FusedActivation outside the enumeration: {}", static_cast<int>(activation)));
}

std::int32_t code_of(float value, float scale, std::int32_t zero_point) {
  const float steps = round_half_away(value / scale);
  // 2^31 itself is a float, the largest int32 is not.
  constexpr float kLimit = 2147483648.0F;
  const bool fits = steps >= -kLimit && steps < kLimit;
  const std::int64_t code = fits ? static_cast<std::int64_t>(steps) + zero_point : 0;
  if (!fits || saturate_int32(code) != code) {
    throw InvalidArgument(
        fmt::format("activation_range: no_integer_overflow_from_quantization: {} / scale {} + {} "
                    "does not fit 32 bits",
                    value, scale, zero_point));
  }
  return static_cast<std::int32_t>(code);
}

/// XNNPACK's limits: rounded, to even, with the zero point.
ActivationRange limits_to_even(FusedActivation activation, const QuantParams& out) {
  const RealLimits real = real_limits(activation);
  const auto code = [&](float limit) {
    const float exact = limit / out.scale() + static_cast<float>(out.zero_point());
    return static_cast<std::int32_t>(std::clamp(
        round_half_even(exact), static_cast<float>(out.qmin), static_cast<float>(out.qmax)));
  };
  return {code(real.lo), code(real.hi)};
}

}  // namespace

std::string_view to_string(FusedActivation activation) {
  switch (activation) {
    case FusedActivation::relu:
      return "relu";
    case FusedActivation::relu_n1_to_1:
      return "relu_n1_to_1";
    case FusedActivation::relu6:
      return "relu6";
    case FusedActivation::none:
      return "none";
  }
  fail_outside(activation);
}

RealLimits real_limits(FusedActivation activation) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  switch (activation) {
    case FusedActivation::relu:
      return {0.0F, kInfinity};
    case FusedActivation::relu6:
      return {0.0F, 6.0F};
    case FusedActivation::relu_n1_to_1:
      return {-1.0F, 1.0F};
    case FusedActivation::none:
      return {-kInfinity, kInfinity};
  }
  fail_outside(activation);
}

RealLimits real_limits(const QuantParams& grid) {
  return {static_cast<float>(grid.qmin - grid.zero_point()) * grid.scale(),
          static_cast<float>(grid.qmax - grid.zero_point()) * grid.scale()};
}

ActivationRange activation_range(FusedActivation activation, float scale, std::int32_t zero_point,
                                 std::int32_t type_lo, std::int32_t type_hi) {
  if (!std::isfinite(scale) || !(scale > 0.0F)) {
    throw InvalidArgument(
        fmt::format("activation_range: scale {} is not finite and above 0", scale));
  }
  ActivationRange range{type_lo, type_hi};
  switch (activation) {
    case FusedActivation::none:
      break;
    case FusedActivation::relu:
      range.lo = std::max(type_lo, code_of(0.0F, scale, zero_point));
      break;
    case FusedActivation::relu6:
      range.lo = std::max(type_lo, code_of(0.0F, scale, zero_point));
      range.hi = std::min(type_hi, code_of(6.0F, scale, zero_point));
      break;
    case FusedActivation::relu_n1_to_1:
      range.lo = std::max(type_lo, code_of(-1.0F, scale, zero_point));
      range.hi = std::min(type_hi, code_of(1.0F, scale, zero_point));
      break;
  }
  if (range.lo > range.hi) {
    throw InvalidArgument(fmt::format(
        "activation_range: {} with scale {} and zero point {} leaves no value of {}..{}",
        to_string(activation), scale, zero_point, type_lo, type_hi));
  }
  return range;
}

ActivationRange activation_range(FusedActivation activation, const QuantParams& out,
                                 Rounding rounding) {
  // Refuses what no contract takes.
  const ActivationRange range =
      activation_range(activation, out.scale(), out.zero_point(), out.qmin, out.qmax);
  return rounding == Rounding::fp32 ? limits_to_even(activation, out) : range;
}

}  // namespace octet
