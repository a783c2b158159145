#pragma once

#include <cassert>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>

#include <octet/core/arithmetic/round_mode.h>
#include <octet/core/arithmetic/small_round.h>

namespace octet {

/// Rounds to the nearest integer, ties to even.
[[nodiscard]] inline float round_half_even(float x) noexcept { return std::rint(x); }
/// @overload
[[nodiscard]] inline double round_half_even(double x) noexcept { return std::rint(x); }

/// Rounds to the nearest integer, ties away from zero.
[[nodiscard]] inline float round_half_away(float x) noexcept { return std::round(x); }
/// @overload
[[nodiscard]] inline double round_half_away(double x) noexcept { return std::round(x); }

/// Rounds by the mode.
template <std::floating_point F>
[[nodiscard]] inline F round_by(RoundMode mode, F x) noexcept {
  switch (mode) {
    case RoundMode::half_away:
      return round_half_away(x);
    case RoundMode::half_to_even:
      break;
  }
  return round_half_even(x);
}

/// Clamps to [lo, hi], then casts; the clamp comes first because casting a value that the integer
/// type cannot hold is undefined. NaN gives lo. A fraction is cut off: round before calling.
template <std::integral T, std::floating_point F>
requires(sizeof(T) <= sizeof(std::int32_t)) [[nodiscard]] constexpr T
    clamp_to(F value, T lo, T hi) noexcept {
  assert(lo <= hi);
  const auto wide = static_cast<double>(value);  // holds every 32-bit limit exactly
  if (!(wide > static_cast<double>(lo))) {
    return lo;
  }
  if (wide >= static_cast<double>(hi)) {
    return hi;
  }
  return static_cast<T>(wide);
}

/// Clamps to the range of T.
template <std::integral T, std::floating_point F>
[[nodiscard]] constexpr T clamp_to(F value) noexcept {
  return clamp_to<T>(value, std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
}

/// lo <= x <= hi, both ends included. False for NaN.
template <typename T>
[[nodiscard]] constexpr bool in_range(T x, T lo, T hi) noexcept {
  return x >= lo && x <= hi;
}

}  // namespace octet
