#pragma once

#include <cstdint>
#include <string_view>

#include <octet/core/quant/rounding.h>

namespace octet {

struct QuantParams;

/// An activation that is fused into the operator before it, as a clamp of its quantized output.
enum class FusedActivation { none, relu, relu_n1_to_1, relu6 };

/// "none", "relu", "relu_n1_to_1" or "relu6".
[[nodiscard]] std::string_view to_string(FusedActivation activation);

/// The real values that an activation clamps to; infinite where it does not clamp.
struct RealLimits {
  float lo;
  float hi;
};
[[nodiscard]] RealLimits real_limits(FusedActivation activation);
/// The real values of the lowest and the highest quantized value, for one scale per tensor: values
/// outside are clipped.
[[nodiscard]] RealLimits real_limits(const QuantParams& grid);

/// Quantized values lo..hi, both included.
struct ActivationRange {
  std::int32_t lo = -128;
  std::int32_t hi = 127;
  bool operator==(const ActivationRange&) const = default;
};

/// The quantized values that an operator may return: those of its type (type_lo..type_hi), cut at
/// q(0), q(6), q(-1), q(1) as the activation asks; q(f) = zero_point + round_half_away(float32(f /
/// scale)). Throws InvalidArgument if the scale is not finite and above 0, if q(f) does not fit 32
/// bits ("no_integer_overflow_from_quantization"), or if nothing is left of the range.
[[nodiscard]] ActivationRange activation_range(FusedActivation activation, float scale,
                                               std::int32_t zero_point, std::int32_t type_lo,
                                               std::int32_t type_hi);

/// Returns the range of quantized values of a fused activation for an operator under a rounding
/// mode: under fp32 XNNPACK's, q(f) = rint(float32(float32(f / scale) + zero_point)), saturated to
/// the range of `out`. It differs from the other modes' where f / scale lies half way between two
/// integers.
[[nodiscard]] ActivationRange activation_range(FusedActivation activation, const QuantParams& out,
                                               Rounding rounding);

}  // namespace octet
