#include <octet/core/quant/fixed_point.h>

#include <cmath>

#include <fmt/core.h>

#include <octet/core/error.h>
#include <octet/core/quant/round.h>

namespace octet {
namespace {

constexpr std::int64_t kOne = std::int64_t{1} << 31;
constexpr int kMaxSingleShift = 30;

void check_factor(double factor, Rounding rounding) {
  if (!std::isfinite(factor)) {
    throw NumericError(fmt::format("quantize_multiplier: the factor {} is not finite", factor));
  }
  if (rounding == Rounding::fp32) {
    throw InvalidArgument("quantize_multiplier: rounding mode fp32 multiplies in float32");
  }
  if (rounding == Rounding::single_rounding && factor < 0.0) {
    throw InvalidArgument(
        fmt::format("quantize_multiplier: single rounding needs a factor >= 0, found {}", factor));
  }
}

}  // namespace

QuantizedMultiplier quantize_multiplier(double factor, Rounding rounding) {
  check_factor(factor, rounding);
  if (factor == 0.0) {
    return {};
  }
  int shift = 0;
  const double fraction = std::frexp(factor, &shift);
  auto fixed = static_cast<std::int64_t>(round_half_away(fraction * static_cast<double>(kOne)));
  if (fixed == kOne) {
    fixed /= 2;
    ++shift;
  }
  if (shift < -31) {
    return {};
  }
  if (rounding == Rounding::single_rounding && shift > kMaxSingleShift) {
    return {std::numeric_limits<std::int32_t>::max(), kMaxSingleShift};
  }
  return {static_cast<std::int32_t>(fixed), shift};
}

QuantizedMultiplier quantize_multiplier_smaller_than_one_exp(double factor) {
  if (!(factor > 0.0 && factor < 1.0)) {
    throw InvalidArgument(
        fmt::format("quantize_multiplier_smaller_than_one_exp: check failure: expected a factor "
                    "between 0 and 1, found {}",
                    factor));
  }
  const QuantizedMultiplier result = quantize_multiplier(factor);
  if (result.shift > 0) {
    throw InvalidArgument(fmt::format(
        "quantize_multiplier_smaller_than_one_exp: check failure: {} rounds up to 1", factor));
  }
  return result;
}

QuantizedMultiplier quantize_multiplier_greater_than_one(double factor) {
  if (!(factor > 1.0)) {
    throw InvalidArgument(
        fmt::format("quantize_multiplier_greater_than_one: check failure: expected a factor above "
                    "1, found {}",
                    factor));
  }
  return quantize_multiplier(factor);
}

}  // namespace octet
