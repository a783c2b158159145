#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <limits>

namespace octet {

/// A real factor as multiplier * 2^(shift - 31).
struct QuantizedMultiplier {
  std::int32_t multiplier = 0;
  int shift = 0;
  bool operator==(const QuantizedMultiplier&) const = default;
};

/// The nearest int32.
[[nodiscard]] constexpr std::int32_t saturate_int32(std::int64_t x) noexcept {
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(
      x, std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()));
}

/// x * 2^shift, saturated, shift >= 0.
[[nodiscard]] constexpr std::int32_t saturating_left_shift(std::int32_t x, int shift) noexcept {
  assert(shift >= 0);
  // 2^32 carries every value but 0 out of int32 already; more would leave the 64 bits.
  return saturate_int32(std::int64_t{x} * (std::int64_t{1} << std::min(shift, 32)));
}

/// SRDHM: a * b / 2^31, ties towards +infinity; INT32_MIN * INT32_MIN saturates to INT32_MAX.
[[nodiscard]] constexpr std::int32_t saturating_rounding_doubling_high_mul(
    std::int32_t a, std::int32_t b) noexcept {
  constexpr std::int64_t kHalf = std::int64_t{1} << 30;
  const std::int64_t high = (std::int64_t{a} * b + kHalf) >> 31;
  return static_cast<std::int32_t>(
      std::min<std::int64_t>(high, std::numeric_limits<std::int32_t>::max()));
}

/// x / 2^exponent, ties away from zero, 0 <= exponent <= 62.
[[nodiscard]] constexpr std::int32_t rounding_divide_by_pot(std::int32_t x, int exponent) noexcept {
  assert(exponent >= 0 && exponent <= 62);
  const std::int64_t wide = x;
  const std::int64_t mask = (std::int64_t{1} << exponent) - 1;
  const std::int64_t remainder = wide & mask;
  const std::int64_t threshold = (mask >> 1) + (wide < 0 ? 1 : 0);
  return static_cast<std::int32_t>((wide >> exponent) + (remainder > threshold ? 1 : 0));
}

/// x * factor with two roundings: RDByPOT(SRDHM(x * 2^max(shift, 0), m), max(-shift, 0)), the
/// default build of TensorFlow Lite. The left shift saturates (upstream leaves overflow undefined).
[[nodiscard]] constexpr std::int32_t multiply_by_quantized_multiplier_double(
    std::int32_t x, QuantizedMultiplier m) noexcept {
  const std::int32_t shifted = saturating_left_shift(x, std::max(m.shift, 0));
  return rounding_divide_by_pot(saturating_rounding_doubling_high_mul(shifted, m.multiplier),
                                std::max(-m.shift, 0));
}

/// x * factor with one rounding: (x * m + 2^(30 - shift)) >> (31 - shift), ties towards +infinity,
/// saturated. Needs m >= 0 and -31 <= shift <= 30.
[[nodiscard]] constexpr std::int32_t multiply_by_quantized_multiplier_single(
    std::int32_t x, QuantizedMultiplier m) noexcept {
  assert(m.multiplier >= 0 && m.shift >= -31 && m.shift <= 30);
  const std::int64_t half = std::int64_t{1} << (30 - m.shift);
  return saturate_int32((std::int64_t{x} * m.multiplier + half) >> (31 - m.shift));
}

/// x * factor for the 64-bit accumulators of 16x8 kernels, with 15 bits of the multiplier:
/// (x * m15 + 2^(14 - shift)) >> (15 - shift), saturated.
/// Needs m >= 0, -31 <= shift < 8 and -2^47 <= x < 2^47.
[[nodiscard]] constexpr std::int32_t multiply_by_quantized_multiplier_64(
    std::int64_t x, QuantizedMultiplier m) noexcept {
  assert(m.multiplier >= 0 && m.shift >= -31 && m.shift < 8);
  assert(x >= -(std::int64_t{1} << 47) && x < (std::int64_t{1} << 47));
  const std::int64_t reduced =
      m.multiplier < 0x7FFF0000 ? (m.multiplier + (std::int32_t{1} << 15)) >> 16 : 0x7FFF;
  const std::int64_t half = std::int64_t{1} << (14 - m.shift);
  return saturate_int32((x * reduced + half) >> (15 - m.shift));
}

}  // namespace octet
