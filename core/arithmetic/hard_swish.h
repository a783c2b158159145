#pragma once

namespace octet::detail {

/// x min(max(x + 3, 0), 6) / 6, of training and of the interpreter. NaN stays NaN.
inline float hard_swish(float x) {
  const float raised = x + 3.0F;
  return x * (raised < 0.0F ? 0.0F : raised > 6.0F ? 6.0F : raised) / 6.0F;
}

/// The derivative of hard_swish() at x: 0 below -3, 1 above 3, (2 x + 3) / 6 in between, ends
/// included.
inline float hard_swish_slope(float x) {
  return x < -3.0F ? 0.0F : x > 3.0F ? 1.0F : (2.0F * x + 3.0F) / 6.0F;
}

}  // namespace octet::detail
