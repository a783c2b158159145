#pragma once

#include <octet/core/error.h>
#include <octet/core/quant/activation_range.h>
#include <octet/core/quant/fixed_point.h>
#include <octet/core/quant/quant_params.h>
#include <octet/core/quant/rounding.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

// The arithmetic of operators that rescale single quantized values: QUANTIZE, RELU and its like,
// and LEAKY_RELU.

namespace octet::detail {

/// Multiplies a quantized value less its zero point by a factor, in one of the two ways that
/// runtimes have for operators on single elements.
class ElementFactor {
 public:
  /// Whether XNNPACK takes the factor, which may have either sign: 1/256 <= |factor| <= 128. It
  /// leaves operators with others to TensorFlow Lite.
  [[nodiscard]] static bool fits_eight_bits(float factor) noexcept;
  /// XNNPACK's factor: m = rint(256 factor), then (m x + 128) >> 8: ties towards +infinity.
  [[nodiscard]] static ElementFactor eight_bits(float factor) noexcept;
  /// TensorFlow Lite's: multiply_by_quantized_multiplier() under double rounding. Throws as
  /// quantize_multiplier().
  [[nodiscard]] static ElementFactor rounded_twice(double factor);

  [[nodiscard]] std::int32_t operator()(std::int32_t x) const noexcept;

 private:
  bool eight_bits_ = false;
  /// XNNPACK's multiplier, in units of 1/256.
  std::int32_t steps_ = 0;
  QuantizedMultiplier multiplier_;
};

/// Converts quantized values of one tensor to those of another:
/// clamp(rescale(q - zero_point_in) + zero_point_out, lo, hi). This is QUANTIZE from integers to
/// integers, and RELU, RELU6 and RELU_N1_TO_1 as separate operators.
class ElementRequantizer {
 public:
  /// QUANTIZE from integers to integers, clamped to the range of `out`. TensorFlow Lite has one
  /// kernel for it: factor double(in scale) / double(out scale), rounded twice under every
  /// contract. Contract fp32 is XNNPACK's, which takes over values of one type (qs8-vcvt, qu8-vcvt)
  /// where float32(in scale / out scale) fits eight bits: see ElementFactor. Throws InvalidArgument
  /// unless both have one valid scale, NumericError for scales whose ratio is beyond float32.
  [[nodiscard]] static ElementRequantizer quantize(const QuantParams& in, const QuantParams& out,
                                                   Rounding rounding = Rounding::double_rounding);

  /// An activation as a separate operator: factor float32(in scale / out scale), clamped to
  /// activation_range with the output's parameters. Always uses double rounding: TensorFlow Lite
  /// has one kernel for it, whatever computes the sums (measured in LiteRT.js and tfjs-tflite,
  /// whose XNNPACK does not take it over). With a factor below 1 the first rounding is coarse.
  /// TFLite Micro has that kernel for RELU alone: its RELU6 is a clamp, which gives the same where
  /// `in` and `out` are equal.
  [[nodiscard]] static ElementRequantizer activation(FusedActivation activation,
                                                     const QuantParams& in, const QuantParams& out);

  [[nodiscard]] std::int32_t apply(std::int32_t code) const noexcept;
  /// The range that results are clamped to.
  [[nodiscard]] ActivationRange range() const noexcept { return range_; }

  /// Applies apply() to each value; `out` may be `in` itself. Throws InvalidArgument if sizes
  /// differ or the range does not fit `Out`.
  template <std::integral In, std::integral Out>
  void run(std::span<const In> in, std::span<Out> out) const {
    check_run(in.size(), out.size(), std::numeric_limits<Out>::min(),
              std::numeric_limits<Out>::max());
    for (std::size_t i = 0; i < in.size(); ++i) {
      out[i] = static_cast<Out>(apply(static_cast<std::int32_t>(in[i])));
    }
  }

 private:
  static ElementRequantizer make(const QuantParams& in, const QuantParams& out,
                                 ElementFactor factor, ActivationRange range);
  void check_run(std::size_t in_size, std::size_t out_size, std::int64_t type_lo,
                 std::int64_t type_hi) const;

  ElementFactor factor_;
  std::int32_t zero_point_in_ = 0;
  std::int32_t zero_point_out_ = 0;
  ActivationRange range_;
};

}  // namespace octet::detail
