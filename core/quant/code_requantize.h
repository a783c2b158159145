#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include <octet/core/error.h>
#include <octet/core/quant/activation_range.h>
#include <octet/core/quant/fixed_point.h>
#include <octet/core/quant/quant_params.h>
#include <octet/core/quant/rounding.h>

namespace octet {

/// Converts codes of one tensor to codes of another:
/// clamp(rescale(q - zero_point_in) + zero_point_out, lo, hi). This is QUANTIZE from integers to
/// integers, and RELU, RELU6 and RELU_N1_TO_1 as separate operators.
class CodeRequantizer {
 public:
  /// QUANTIZE from integers to integers: factor double(in scale) / double(out scale), clamped to
  /// the codes of `out`. Under fp32: rint(float(q - zero_point) * float32(in scale / out scale)).
  /// Throws InvalidArgument unless both have one valid scale.
  [[nodiscard]] static CodeRequantizer quantize(const QuantParams& in, const QuantParams& out,
                                                Rounding rounding = Rounding::double_rounding);

  /// An activation as a separate operator: factor float32(in scale / out scale), clamped to
  /// activation_range with the output's parameters. Always uses double rounding: TensorFlow Lite
  /// has one kernel for it, whatever computes the sums (measured in LiteRT.js and tfjs-tflite,
  /// whose XNNPACK does not take it over). With a factor below 1 the first rounding is coarse.
  /// TFLite Micro has that kernel for RELU alone: its RELU6 is a clamp, which gives the same where
  /// `in` and `out` are equal.
  [[nodiscard]] static CodeRequantizer activation(FusedActivation activation, const QuantParams& in,
                                                  const QuantParams& out);

  [[nodiscard]] std::int32_t apply(std::int32_t code) const noexcept;
  /// The codes that results are clamped to.
  [[nodiscard]] ActivationRange range() const noexcept { return range_; }

  /// Applies to each code; `out` may be `in` itself. Throws InvalidArgument if sizes differ or the
  /// range does not fit `Out`.
  template <std::integral In, std::integral Out>
  void run(std::span<const In> in, std::span<Out> out) const {
    check_run(in.size(), out.size(), std::numeric_limits<Out>::min(),
              std::numeric_limits<Out>::max());
    for (std::size_t i = 0; i < in.size(); ++i) {
      out[i] = static_cast<Out>(apply(static_cast<std::int32_t>(in[i])));
    }
  }

 private:
  static CodeRequantizer make(const QuantParams& in, const QuantParams& out, double factor,
                              ActivationRange range, Rounding rounding);
  void check_run(std::size_t in_size, std::size_t out_size, std::int64_t type_lo,
                 std::int64_t type_hi) const;

  Rounding rounding_ = Rounding::double_rounding;
  QuantizedMultiplier multiplier_;
  float factor_ = 0.0F;
  std::int32_t zero_point_in_ = 0;
  std::int32_t zero_point_out_ = 0;
  ActivationRange range_;
};

}  // namespace octet
