#pragma once

namespace octet::small {

// The roundings of core/quant/round.h for |x| <= 2^22, from additions and comparisons alone, so
// that loops vectorise on every x86-64 processor. Adding 1.5 * 2^23 leaves no bits for a fraction.
// NaN stays NaN. The sign of a zero result is not kept. Always inlined: the sources of each code
// path use them.
inline constexpr float kNoFraction = 12582912.0F;

/// round_half_even for |x| <= 2^22.
[[nodiscard, gnu::always_inline]] inline float round_half_even(float x) noexcept {
  return (x + kNoFraction) - kNoFraction;
}

/// std::floor for |x| <= 2^22.
[[nodiscard, gnu::always_inline]] inline float floor(float x) noexcept {
  const float nearest = small::round_half_even(x);
  return nearest - (nearest > x ? 1.0F : 0.0F);
}

/// round_half_away for |x| <= 2^22.
[[nodiscard, gnu::always_inline]] inline float round_half_away(float x) noexcept {
  const float magnitude = __builtin_fabsf(x);
  const float nearest = small::round_half_even(magnitude);
  const float away = nearest + (magnitude - nearest == 0.5F ? 1.0F : 0.0F);
  return __builtin_copysignf(away, x);
}

}  // namespace octet::small
