#pragma once

#include <octet/core/quant/activation_range.h>

namespace octet::detail {

/// An activation on reals, as a clamp that lets NaN through.
class FloatClamp {
 public:
  explicit FloatClamp(FusedActivation activation) : limits_(real_limits(activation)) {}

  float operator()(float x) const {
    return x < limits_.lo ? limits_.lo : (x > limits_.hi ? limits_.hi : x);
  }

 private:
  RealLimits limits_;
};

}  // namespace octet::detail
