#pragma once

#include <cmath>

namespace octet::detail {

/// 1 / (1 + e^-x), of training and of the interpreter. No exponent is positive, so that nothing
/// overflows.
inline float sigmoid(float x) {
  const float e = std::exp(-std::fabs(x));
  return (x >= 0.0F ? 1.0F : e) / (1.0F + e);
}

}  // namespace octet::detail
