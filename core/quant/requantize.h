#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <octet/core/quant/fixed_point.h>
#include <octet/core/quant/rounding.h>

namespace octet {

/// Rescales accumulators, of scale input_scale * weight_scale_c, to the output's scale under one of
/// the contracts, with one weight scale or one per output channel. Accumulators of int8 codes are
/// int32, those of int16 codes, under contract q15 alone, int64.
class Requantizer {
 public:
  /// Makes the requantizer of FULLY_CONNECTED. With one weight scale, TensorFlow Lite multiplies
  /// the scales in float32 and divides in double; with more, it does everything in double. Throws
  /// InvalidArgument unless all scales are finite and above 0, NumericError if a factor is beyond
  /// float32, or is 128 or more under q15, whose shifts end there.
  [[nodiscard]] static Requantizer fully_connected(float input_scale,
                                                   std::span<const float> weight_scales,
                                                   float output_scale, Rounding rounding);

  /// Makes the requantizer of CONV_2D, DEPTHWISE_CONV_2D and TRANSPOSE_CONV, whose factors are
  /// computed in double. Under fp32, it is that of fully_connected().
  [[nodiscard]] static Requantizer convolution(float input_scale,
                                               std::span<const float> weight_scales,
                                               float output_scale, Rounding rounding);

  /// Returns the requantizer of output channels [first, first + count) alone.
  [[nodiscard]] Requantizer part(std::size_t first, std::size_t count) const;

  [[nodiscard]] Rounding rounding() const noexcept { return rounding_; }
  /// 1, or the number of output channels.
  [[nodiscard]] std::size_t channels() const noexcept { return channels_; }
  /// The float factors of the fp32 contract; empty otherwise.
  [[nodiscard]] std::span<const float> factors() const noexcept { return factors_; }
  /// The fixed-point factors of the other contracts; empty for fp32.
  [[nodiscard]] std::span<const QuantizedMultiplier> multipliers() const noexcept {
    return multipliers_;
  }

  /// Returns the accumulator on the output's scale, before the zero point is added, saturated to
  /// int32. fp32: rint(float(acc) * factor), ties to even. Ignores `channel` if there is one
  /// factor. Not for q15.
  [[nodiscard]] std::int32_t apply(std::int32_t acc, std::size_t channel = 0) const noexcept;

  /// Computes out = clamp(apply(acc) + zero_point, lo, hi) for contiguous rows of channels()
  /// accumulators each (any number if there is one factor).
  /// Allocates nothing. Throws InvalidArgument if the sizes do not fit or unless
  /// -128 <= lo <= hi <= 127 and the zero point is an int8.
  void requantize(std::span<const std::int32_t> acc, std::span<std::int8_t> out,
                  std::int32_t zero_point, std::int32_t lo, std::int32_t hi) const;

  /// Returns an accumulator of q15 on the output's scale; zero points are 0, and |acc| < 2^47, see
  /// multiply_by_quantized_multiplier_64().
  [[nodiscard]] std::int32_t apply_wide(std::int64_t acc, std::size_t channel = 0) const noexcept;
  /// Computes out = clamp(apply_wide(acc), lo, hi). Throws InvalidArgument if the sizes do not fit,
  /// unless -32768 <= lo <= hi <= 32767, and for another contract than q15.
  void requantize(std::span<const std::int64_t> acc, std::span<std::int16_t> out, std::int32_t lo,
                  std::int32_t hi) const;
  /// Throws InvalidArgument, naming `owner`, where an accumulator of up to `largest` in magnitude
  /// is more than the 2^47 that q15 multiplies, or comes to more than int32 on the output's scale,
  /// where runtimes wrap round.
  void require_fitting(std::int64_t largest, std::string_view owner) const;

 private:
  enum class ScaleProduct { in_float, in_double };
  void check_rows(std::size_t sums, std::size_t codes) const;
  static Requantizer make(float input_scale, std::span<const float> weight_scales,
                          float output_scale, Rounding rounding, ScaleProduct product);

  Rounding rounding_ = Rounding::fp32;
  std::size_t channels_ = 1;
  std::vector<float> factors_;
  std::vector<QuantizedMultiplier> multipliers_;
};

}  // namespace octet
