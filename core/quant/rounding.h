#pragma once

#include <octet/core/arithmetic/round_mode.h>

#include <string_view>

namespace octet {

/// How an int32 accumulator is rescaled to the output scale. Runtimes differ, so "bit-exact" has to
/// name one of these three contracts.
enum class Rounding {
  /// rint(float(acc) * multiplier), ties to even: XNNPACK (LiteRT's default), ONNX Runtime.
  fp32,
  /// (acc * m + half) >> shift in 64 bits: LiteRT's built-in kernels on Arm and in plain C++.
  single_rounding,
  /// Doubling high multiply, then a rounding shift: TFLite Micro, CMSIS-NN.
  double_rounding,
};

/// Parses "fp32", "single" or "double". Throws InvalidArgument for anything else.
[[nodiscard]] Rounding parse_rounding(std::string_view text);

/// Returns the name that parse_rounding reads.
[[nodiscard]] std::string_view to_string(Rounding rounding);

/// Returns how the runtimes of a contract round a real value to a code: XNNPACK rounds ties to
/// even, the others away from zero.
[[nodiscard]] constexpr RoundMode quantize_mode(Rounding rounding) noexcept {
  return rounding == Rounding::fp32 ? RoundMode::half_to_even : RoundMode::half_away;
}

}  // namespace octet
