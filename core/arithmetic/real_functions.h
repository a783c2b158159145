#pragma once

#include <cmath>
#include <limits>

// Functions of training and of the interpreter, and their derivatives. In double, then rounded
// once: math libraries differ in the last bit of their float functions.

namespace octet::detail {

/// e^x, which is its own derivative.
inline float exponential(float x) { return static_cast<float>(std::exp(static_cast<double>(x))); }

/// The natural logarithm; -infinity for 0 and what is below.
inline float logarithm(float x) {
  if (x <= 0.0F) return -std::numeric_limits<float>::infinity();
  return static_cast<float>(std::log(static_cast<double>(x)));
}

/// 1 / x; 0 where the logarithm is infinite, so that training goes on.
inline float logarithm_slope(float x) { return x > 0.0F ? 1.0F / x : 0.0F; }

/// 1 / sqrt(x), whose parts IEEE 754 rounds.
inline float inverse_square_root(float x) { return 1.0F / std::sqrt(x); }

/// The derivative of the square root; 0 at 0, where it is infinite.
inline float square_root_slope(float x) { return x > 0.0F ? 0.5F / std::sqrt(x) : 0.0F; }

}  // namespace octet::detail
