#pragma once

#include <octet/core/arithmetic/round_mode.h>

#include <array>
#include <string_view>

namespace octet {

/// How an accumulator is rescaled to the output scale. Runtimes differ, so "bit-exact" has to name
/// one of these rounding modes: of the first three for int8 values, whose sums are int32; of the
/// last for int16 values, whose sums are int64.
enum class Rounding {
  /// rint(float(acc) * multiplier), ties to even: XNNPACK (LiteRT's default), ONNX Runtime.
  fp32,
  /// (acc * m + half) >> shift in 64 bits: LiteRT's built-in kernels on Arm and in plain C++.
  single_rounding,
  /// Doubling high multiply, then a rounding shift: TFLite Micro, CMSIS-NN.
  double_rounding,
  /// (acc * m15 + half) >> shift, with 15 bits of the multiplier: kernels on int16 values with int8
  /// weights and an int64 bias (16x8) in TensorFlow Lite, TFLite Micro and CMSIS-NN.
  q15,
};

/// Every rounding mode.
inline constexpr std::array kRoundings = {Rounding::fp32, Rounding::single_rounding,
                                          Rounding::double_rounding, Rounding::q15};

/// Parses "fp32", "single", "double" or "q15". Throws InvalidArgument for anything else.
[[nodiscard]] Rounding parse_rounding(std::string_view text);

/// Returns the name that parse_rounding reads. Throws InvalidArgument for a value outside the
/// enumeration.
[[nodiscard]] std::string_view to_string(Rounding rounding);

/// Returns how the runtimes of a rounding mode round a real value to an integer: XNNPACK rounds
/// ties to even, the others away from zero.
[[nodiscard]] constexpr RoundMode quantize_mode(Rounding rounding) noexcept {
  return rounding == Rounding::fp32 ? RoundMode::half_to_even : RoundMode::half_away;
}

}  // namespace octet
