#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <octet/core/quant/fixed_point.h>
#include <octet/core/quant/rounding.h>

namespace octet {

/// The factor beta * input_scale * 2^(31 - integer_bits), at most 2^31 - 1 (single rounding:
/// 2^30 - 1), as multiplier and left shift. Throws InvalidArgument unless it is above 1.
[[nodiscard]] QuantizedMultiplier preprocess_softmax_scaling(double beta, double input_scale,
                                                             int integer_bits, Rounding rounding);

/// The largest difference of codes that the fixed-point softmax can scale:
/// floor((2^integer_bits - 1) * 2^(total_signed_bits - integer_bits) / 2^left_shift).
[[nodiscard]] std::int32_t calculate_input_radius(int integer_bits, int left_shift,
                                                  int total_signed_bits = 31);

/// int8 softmax(beta * x) over a row; output scale 1/256, zero point -128.
///
/// Contract fp32 uses the float table of TensorFlow Lite's optimised kernel and XNNPACK, single and
/// double the fixed-point arithmetic of its reference kernel and TFLite Micro. Both depend on the
/// distance to the row's maximum alone, so either way exp is a table of 256 entries. They differ by
/// one code in about 5 of 100,000 outputs.
class SoftmaxInt8 {
 public:
  static constexpr float kOutputScale = 1.0F / 256.0F;
  static constexpr std::int32_t kOutputZeroPoint = -128;
  /// The fixed-point sum has 12 integer bits, so that longer rows could overflow it.
  static constexpr std::size_t kMaxFixedPointRow = 4095;

  /// Throws InvalidArgument unless input_scale and beta are finite and above 0 and, in fixed point,
  /// input_scale * beta is above 2^-26.
  [[nodiscard]] static SoftmaxInt8 make(float input_scale, float beta, Rounding rounding);

  /// One row. `out` may be `in` itself. Allocates nothing. Throws InvalidArgument if sizes differ
  /// or, in fixed point, the row is longer than kMaxFixedPointRow.
  void run(std::span<const std::int8_t> in, std::span<std::int8_t> out) const;
  /// Rows of `row` codes, end to end: each as by itself, in less time. Throws InvalidArgument as
  /// run() does, and unless the sizes are whole rows.
  void run_rows(std::span<const std::int8_t> in, std::span<std::int8_t> out, std::size_t row) const;

  /// exp(-input_scale * beta * d) by the distance d = 0..255 from the row's maximum: the floats of
  /// contract fp32 (else zeros), and the fixed-point numbers with 0 integer bits of the other two.
  [[nodiscard]] std::span<const float, 256> exp_float() const noexcept { return exp_float_; }
  [[nodiscard]] std::span<const std::int32_t, 256> exp_fixed() const noexcept { return exp_fixed_; }

 private:
  void run_fixed(std::span<const std::int8_t> in, std::span<std::int8_t> out) const noexcept;

  Rounding rounding_ = Rounding::fp32;
  std::array<float, 256> exp_float_{};         ///< exp(-scale * beta * d), d the distance
  std::array<std::int32_t, 256> exp_fixed_{};  ///< the same with 0 integer bits; 0 where cut off
};

}  // namespace octet
