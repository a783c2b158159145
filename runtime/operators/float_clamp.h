#pragma once

#include <octet/core/arithmetic/comparisons.h>
#include <octet/core/quant/activation_range.h>

namespace octet::detail {

/// An activation on reals, as a clamp that lets NaN through.
class FloatClamp {
 public:
  explicit FloatClamp(FusedActivation activation) : limits_(real_limits(activation)) {}

  float operator()(float x) const { return clamped(x, limits_.lo, limits_.hi); }

 private:
  RealLimits limits_;
};

}  // namespace octet::detail
