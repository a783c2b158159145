#pragma once

#include <cmath>

namespace octet::detail {

// GELU of training and of the interpreter: erf and tanh in double, then rounded once, since math
// libraries differ in the last bit of their float functions; all else in float32 and in the order
// of TensorFlow Lite (reference/gelu.h).

/// Whether the distribution function is approximated by a tanh.
enum class GeluForm { exact, approximate };

/// x^3's part of the argument of the tanh.
inline constexpr float kGeluCube = 0.044715F;
/// sqrt(2 / pi), sqrt(1/2), and 1 / sqrt(2 pi).
inline constexpr float kGeluFactor = 0.797884560802865F;
inline constexpr float kSqrtHalf = 0.707106781186548F;
inline constexpr float kNormalDensity = 0.398942280401433F;

/// 2 P(X <= x) - 1 of a standard normal X, or its approximation.
inline float gelu_gate(float x, GeluForm form) {
  if (form == GeluForm::exact) {
    return static_cast<float>(std::erf(static_cast<double>(x * kSqrtHalf)));
  }
  const float argument = kGeluFactor * (x + kGeluCube * x * x * x);
  return static_cast<float>(std::tanh(static_cast<double>(argument)));
}

/// x P(X <= x).
inline float gelu(float x, GeluForm form) { return 0.5F * x * (1.0F + gelu_gate(x, form)); }

/// The derivative of gelu() at x.
inline float gelu_slope(float x, GeluForm form) {
  const float gate = gelu_gate(x, form);
  const float of_gate = form == GeluForm::exact ? 2.0F * kNormalDensity * std::exp(-0.5F * x * x)
                                                : (1.0F - gate * gate) * kGeluFactor *
                                                      (1.0F + 3.0F * kGeluCube * x * x);
  return 0.5F * (1.0F + gate) + 0.5F * x * of_gate;
}

}  // namespace octet::detail
