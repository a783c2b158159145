#pragma once

#include <octet/core/quant/quant_params.h>
#include <octet/core/tensor.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace octet {

/// The regularizer of adaround() in one step: weight * sum(1 - |2 h - 1|^exponent).
struct RoundingRegularizer {
  float weight = 0.0F;
  int exponent = 2;

  /// The regularizer's derivative by one h.
  float slope(float h) const;
};

/// The weights of one kernel between the codes below and above them: adaround()'s
///
///     w' = s (floor(w / s) + h(v)),   h(v) = clip(1.2 sigmoid(v) - 0.1, 0, 1)
///
/// with v started where w' = w. Weights outside the grid have no choice.
class SoftRounding {
 public:
  /// Whether grids of these parameters are taken: int8 codes, zero points 0, and one scale, or one
  /// for each index of the last axis of `kernel`.
  static bool takes(const Tensor& kernel, const QuantParams& params);

  /// Throws InvalidArgument unless takes().
  SoftRounding(const Tensor& kernel, QuantParams params);

  /// A leaf that wants a gradient.
  const Tensor& v() const { return v_; }
  /// w'. The gradient of v is that by w' and that of the regularizer.
  Tensor kernel(const RoundingRegularizer& regularizer) const;

  /// The codes that ordinary rounding gives, and those on whose side v lies.
  const std::vector<std::int8_t>& nearest() const { return nearest_; }
  std::vector<std::int8_t> learned() const;
  /// Codes times their scale.
  Tensor reals(std::span<const std::int8_t> codes) const;

 private:
  float scale_of(std::size_t i) const {
    return params_.scales.size() == 1 ? params_.scales[0]
                                      : params_.scales[i % params_.scales.size()];
  }

  Shape shape_;
  QuantParams params_;
  std::vector<std::int8_t> nearest_;
  /// floor(w / s) where the weight has a choice, else its code.
  std::vector<float> lower_;
  std::vector<std::uint8_t> has_choice_;
  Tensor v_;
};

}  // namespace octet
