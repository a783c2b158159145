#pragma once

#include <octet/core/quant/fixed_point.h>
#include <octet/core/quant/quant_params.h>
#include <octet/core/quant/rounding.h>
#include <octet/core/window.h>
#include <octet/runtime/operators/definitions.h>

#include <cstdint>

// MEAN: of the pixels of images [n, height, width, channels], channel by channel. The axes, 1 and
// 2, are a constant second input. Input and output have scales and zero
// points of their own.

namespace octet::detail {

/// The arithmetic of an int8 MEAN of n values from their sum S, where input and output have scales
/// and zero points of their own.
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
class QuantizedMean {
 public:
  /// The most values whose distances from a zero point add up to an int32.
  static constexpr std::int32_t kMostValues = (1 << 23) - 1;

  /// Throws InvalidArgument unless both have one sound scale and int8 zero points, and for a count
  /// outside 1 to kMostValues; NumericError for a factor beyond float32.
  [[nodiscard]] static QuantizedMean make(const QuantParams& in, const QuantParams& out,
                                          std::int32_t count, bool keeps_axes, Rounding rounding);

  /// The quantized mean of a sum. A larger sum gives no smaller mean.
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

/// The window that is the whole image.
Window mean_window(const Operands& operands);

/// The arithmetic of the int8 MEAN of `source`.
QuantizedMean quantized_mean(const KernelSource& source);

}  // namespace octet::detail
