#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <octet/core/quant/fixed_point.h>
#include <octet/core/quant/rounding.h>

namespace octet {

/// Returns the factor beta * input_scale * 2^(31 - integer_bits), at most 2^31 - 1 (single
/// rounding: 2^30 - 1), as multiplier and left shift. Throws InvalidArgument unless it is above 1.
[[nodiscard]] QuantizedMultiplier preprocess_softmax_scaling(double beta, double input_scale,
                                                             int integer_bits, Rounding rounding);

/// Returns the largest difference of codes that the fixed-point softmax can scale:
/// floor((2^integer_bits - 1) * 2^(total_signed_bits - integer_bits) / 2^left_shift).
[[nodiscard]] std::int32_t calculate_input_radius(int integer_bits, int left_shift,
                                                  int total_signed_bits = 31);

/// Computes int8 softmax(beta * x) over a row; output scale 1/256, zero point -128.
///
/// Contract fp32 uses the float table of TensorFlow Lite's optimised kernel and XNNPACK; single and
/// double use the fixed-point arithmetic of its reference kernel and TFLite Micro. Both depend only
/// on the distance from the row's maximum, so exp is a table of 256 entries either way. They differ
/// by one code in about 5 of 100,000 outputs.
class SoftmaxInt8 {
 public:
  static constexpr float kOutputScale = 1.0F / 256.0F;
  static constexpr std::int32_t kOutputZeroPoint = -128;
  /// The fixed-point sum has 12 integer bits: longer rows could overflow it.
  static constexpr std::size_t kMaxFixedPointRow = 4095;

  /// Throws InvalidArgument unless input_scale and beta are finite and above 0 and, in fixed point,
  /// input_scale * beta is above 2^-26; NumericError where contract fp32 computes a product beyond
  /// float32.
  [[nodiscard]] static SoftmaxInt8 make(float input_scale, float beta, Rounding rounding);

  /// Computes one row. `out` may be `in` itself. Allocates nothing. Throws InvalidArgument if sizes
  /// differ or, in fixed point, the row is longer than kMaxFixedPointRow.
  void run(std::span<const std::int8_t> in, std::span<std::int8_t> out) const;
  /// Computes contiguous rows of `row` codes, with the same results as run() in less time. Throws
  /// InvalidArgument as run() does, and unless the sizes are multiples of `row`.
  void run_rows(std::span<const std::int8_t> in, std::span<std::int8_t> out, std::size_t row) const;

  /// exp(-input_scale * beta * d) for the distance d = 0..255 from the row's maximum: floats under
  /// contract fp32 (otherwise zeros), and fixed-point numbers with 0 integer bits under the others.
  [[nodiscard]] std::span<const float, 256> exp_float() const noexcept { return exp_float_; }
  [[nodiscard]] std::span<const std::int32_t, 256> exp_fixed() const noexcept { return exp_fixed_; }

 private:
  void run_fixed(std::span<const std::int8_t> in, std::span<std::int8_t> out) const noexcept;

  Rounding rounding_ = Rounding::fp32;
  std::array<float, 256> exp_float_{};         ///< exp(-scale * beta * d), d the distance
  std::array<std::int32_t, 256> exp_fixed_{};  ///< the same with 0 integer bits; 0 where cut off
};

}  // namespace octet
