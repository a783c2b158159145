#pragma once

#include <cstdint>
#include <span>

#include <octet/core/quant/activation_range.h>
#include <octet/core/quant/fixed_point.h>
#include <octet/core/quant/quant_params.h>
#include <octet/core/quant/rounding.h>

namespace octet {

/// MUL of int8 codes on grids of their own, with d_i = q_i - zero_point_i, p = d_1 d_2 and a fused
/// activation as a clamp of the result's codes.
///
/// r = float32(float32(scale_1 scale_2) / scale_out). Contract fp32, where 2^-16 <= r < 256
/// (XNNPACK, LiteRT.js; its kernel for Arm NEON may round a near-tie to the other side):
///   out = clamp(rint(float32(float32(p) r)) + zero_point).
/// All else: out = clamp(M(p, factor) + zero_point), M the multiplication with two roundings; the
/// factor is r in LiteRT's own kernel (contracts fp32 and single), and computed in double in TFLite
/// Micro and CMSIS-NN (contract double).
class CodeMultiplier {
 public:
  /// Throws InvalidArgument unless all three have one sound scale and int8 zero points, and
  /// NumericError for a factor beyond float32.
  [[nodiscard]] static CodeMultiplier make(const QuantParams& first, const QuantParams& second,
                                           const QuantParams& out, FusedActivation activation,
                                           Rounding rounding);

  /// `out`, or where r is 256 or more, one with 1/128 of scale_1 scale_2: a product whose measured
  /// range is next to nothing.
  [[nodiscard]] static QuantParams fitting_grid(const QuantParams& first, const QuantParams& second,
                                                QuantParams out);

  [[nodiscard]] std::int32_t apply(std::int32_t first, std::int32_t second) const noexcept;
  /// apply() for each pair of codes. Throws InvalidArgument where sizes differ.
  void run(std::span<const std::int8_t> first, std::span<const std::int8_t> second,
           std::span<std::int8_t> out) const;

  /// Whether the product is rescaled in float32 (the first form above).
  [[nodiscard]] bool rescales_in_float() const noexcept { return in_float_; }
  /// r, for that form.
  [[nodiscard]] float float_factor() const noexcept { return float_factor_; }
  /// The factor of the other form.
  [[nodiscard]] QuantizedMultiplier factor() const noexcept { return factor_; }
  [[nodiscard]] std::int32_t zero_point() const noexcept { return zero_point_; }
  [[nodiscard]] ActivationRange limits() const noexcept { return limits_; }

 private:
  bool in_float_ = true;
  float float_factor_ = 0.0F;
  QuantizedMultiplier factor_;
  std::int32_t first_zero_point_ = 0;
  std::int32_t second_zero_point_ = 0;
  std::int32_t zero_point_ = 0;
  ActivationRange limits_;
};

}  // namespace octet
