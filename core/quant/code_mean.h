#pragma once

#include <cstdint>

#include <octet/core/quant/fixed_point.h>
#include <octet/core/quant/quant_params.h>
#include <octet/core/quant/rounding.h>

namespace octet {

/// MEAN of n int8 codes from their sum S, with input and output on grids of their own.
///
/// Contract fp32 (XNNPACK, LiteRT.js), everything rounded to float32:
///   r = (scale_in / scale_out) (1 / n), out = rint(S r + (zero_point_out - (n zero_point_in) r)).
/// Contract single where the axes stay with an extent of 1 (LiteRT's own kernel), M the
/// multiplication with two roundings, scale_in / (n scale_out) in float32:
///   out = M(S, scale_in / (n scale_out)) + zero_point_out
///         - round_half_away(zero_point_in scale_in / scale_out).
/// All else (TFLite Micro, LiteRT's own kernel), with scale_in / scale_out = m 2^(e - 31) and
/// k = min(floor(log2(n)), 31 + e):
///   out = M(S - n zero_point_in, trunc(m 2^k / n) 2^(e - k - 31)) + zero_point_out.
/// All clamp to int8.
class CodeMean {
 public:
  /// The most codes whose distances from a zero point add up to an int32.
  static constexpr std::int32_t kMostCodes = (1 << 23) - 1;

  /// Throws InvalidArgument unless both have one sound scale and int8 zero points, and for a count
  /// outside 1 to kMostCodes; NumericError for a factor beyond float32.
  [[nodiscard]] static CodeMean make(const QuantParams& in, const QuantParams& out,
                                     std::int32_t count, bool keeps_axes, Rounding rounding);

  /// The code of a sum. A larger sum gives no smaller code.
  [[nodiscard]] std::int32_t apply(std::int32_t sum) const noexcept;

  /// Whether the sum is rescaled in float32: S factor + offset (the first form above).
  [[nodiscard]] bool rescales_in_float() const noexcept { return in_float_; }
  [[nodiscard]] float float_factor() const noexcept { return float_factor_; }
  [[nodiscard]] float float_offset() const noexcept { return float_offset_; }

 private:
  bool in_float_ = true;
  float float_factor_ = 0.0F;
  float float_offset_ = 0.0F;
  /// Otherwise: M(S + start, factor) + offset.
  std::int32_t start_ = 0;
  QuantizedMultiplier factor_;
  std::int64_t offset_ = 0;
};

}  // namespace octet
