#pragma once

#include <cmath>

namespace octet::detail {

/// x above 0, e^x - 1 below, of training and of the interpreter. In double, then rounded once: math
/// libraries differ in the last bit of their float functions.
inline float elu(float x) {
  return x < 0.0F ? static_cast<float>(std::expm1(static_cast<double>(x))) : x;
}

/// The derivative of elu() at x.
inline float elu_slope(float x) { return x < 0.0F ? elu(x) + 1.0F : 1.0F; }

}  // namespace octet::detail
