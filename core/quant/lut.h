#pragma once

#include <array>
#include <cstdint>
#include <span>

#include <octet/core/quant/rounding.h>

namespace octet {

/// A function of int8 codes as a table.
///
/// Contracts fp32 and single use the float table of XNNPACK, LiteRT and ONNX Runtime:
/// clamp(rint(f(scale_in * (q - zero_point_in)) / scale_out) + zero_point_out, -128, 127).
/// Contract double uses the fixed-point kernels of TFLite Micro, for which
/// (m, shift) = scale_in * 2^27 and radius = floor(15 * 2^27 / 2^shift): -128 and 127 from -radius
/// and radius on, between them gemmlowp's function of (q - zero_point_in) * (m, shift), which has 4
/// integer bits. Near ties the tables differ by one code: in about 2 of a million entries at random
/// scales, in 3 of 1,000 where the scale is a power of two.
class Int8Lut {
 public:
  static constexpr float kLogisticScale = 1.0F / 256.0F;  ///< output scale, zero point -128
  static constexpr float kTanhScale = 1.0F / 128.0F;      ///< output scale, zero point 0

  /// 1 / (1 + exp(-x)); output scale 1/256, zero point -128.
  /// Throws InvalidArgument unless the scale is finite and above 0 and the zero point an int8.
  [[nodiscard]] static Int8Lut logistic(float input_scale, std::int32_t input_zero_point,
                                        Rounding rounding);
  /// tanh(x); output scale 1/128, zero point 0. Errors as for logistic.
  [[nodiscard]] static Int8Lut tanh(float input_scale, std::int32_t input_zero_point,
                                    Rounding rounding);

  [[nodiscard]] std::int8_t operator()(std::int8_t code) const noexcept {
    return table_[static_cast<std::uint8_t>(code)];
  }
  /// For each code; `out` may be `in` itself. Throws InvalidArgument if sizes differ.
  void run(std::span<const std::int8_t> in, std::span<std::int8_t> out) const;

 private:
  std::array<std::int8_t, 256> table_{};  ///< indexed by the code's bits
};

}  // namespace octet
