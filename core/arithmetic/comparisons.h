#pragma once

// Functions of training and of the interpreter that are made of comparisons. NaN stays NaN in all.
// Always inlined: the sources of each code path use them.

namespace octet::detail {

/// x, or the limit beyond which it is. -0 becomes a limit of 0.
[[nodiscard, gnu::always_inline]] inline float clamped(float x, float lo, float hi) {
  const float above = x <= lo ? lo : x;
  return above >= hi ? hi : above;
}

/// max(x, 0): clamped() at 0 by one comparison.
[[nodiscard, gnu::always_inline]] inline float relu(float x) { return x <= 0.0F ? 0.0F : x; }

/// min(x, 0): what relu() leaves of x.
[[nodiscard, gnu::always_inline]] inline float negative_part(float x) {
  return x > 0.0F ? 0.0F : x;
}

/// max(x, 0) + alpha min(x, 0) for an alpha that is trained.
[[nodiscard, gnu::always_inline]] inline float prelu(float x, float alpha) {
  return relu(x) + negative_part(x) * alpha;
}

/// The derivative of leaky_relu() at x.
[[nodiscard, gnu::always_inline]] inline float leaky_relu_slope(float x, float alpha) {
  return x > 0.0F ? 1.0F : alpha;
}

/// max(x, 0) + alpha min(x, 0) for a finite alpha.
[[nodiscard, gnu::always_inline]] inline float leaky_relu(float x, float alpha) {
  return leaky_relu_slope(x, alpha) * x;
}

/// The larger one; b where they are equal.
[[nodiscard, gnu::always_inline]] inline float larger(float a, float b) {
  return a > b || a != a ? a : b;  // NOLINT(misc-redundant-expression)
}

/// The smaller one; b where they are equal.
[[nodiscard, gnu::always_inline]] inline float smaller(float a, float b) {
  return a < b || a != a ? a : b;  // NOLINT(misc-redundant-expression)
}

}  // namespace octet::detail
