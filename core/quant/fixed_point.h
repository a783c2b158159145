#pragma once

#include <cassert>
#include <cstdint>

#include <octet/core/arithmetic/fixed_point.h>
#include <octet/core/quant/rounding.h>

namespace octet {

/// The nearest (multiplier, shift) with 2^30 <= |multiplier| < 2^31; a factor below 2^-32 gives
/// (0, 0). For the single rounding, whose formula has room up to a shift of 30, larger factors
/// saturate at (2^31 - 1, 30). Throws NumericError for NaN and infinity, InvalidArgument for a
/// negative factor under single rounding. `fp32` has no fixed-point multiplier: InvalidArgument.
[[nodiscard]] QuantizedMultiplier quantize_multiplier(
    double factor, Rounding rounding = Rounding::double_rounding);

/// Returns the multiplier and shift <= 0 of a factor, 0 < factor < 1, under double rounding. Throws
/// InvalidArgument for others, and for a factor so close to 1 that it rounds up to it.
[[nodiscard]] QuantizedMultiplier quantize_multiplier_smaller_than_one_exp(double factor);

/// Returns the multiplier and shift of a factor > 1 under double rounding. Throws InvalidArgument
/// for others.
[[nodiscard]] QuantizedMultiplier quantize_multiplier_greater_than_one(double factor);

/// x * factor by the contract, single or double.
[[nodiscard]] constexpr std::int32_t multiply_by_quantized_multiplier(std::int32_t x,
                                                                      QuantizedMultiplier m,
                                                                      Rounding rounding) noexcept {
  assert(rounding != Rounding::fp32);
  return rounding == Rounding::single_rounding ? multiply_by_quantized_multiplier_single(x, m)
                                               : multiply_by_quantized_multiplier_double(x, m);
}

}  // namespace octet
