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

/// Takes codes of one tensor to the codes of another:
/// clamp(rescale(q - zero_point_in) + zero_point_out, lo, hi). QUANTIZE from integers to integers,
/// and RELU, RELU6, RELU_N1_TO_1 as operators of their own.
class CodeRequantizer {
 public:
  /// Integer to integer QUANTIZE: factor double(in scale) / double(out scale), limits of `out`.
  /// Under fp32: rint(float(q - zero_point) * float32(in scale / out scale)).
  /// Throws InvalidArgument unless both have one sound scale.
  [[nodiscard]] static CodeRequantizer quantize(const QuantParams& in, const QuantParams& out,
                                                Rounding rounding = Rounding::double_rounding);

  /// The activation as an operator: factor float32(in scale / out scale), limits those of
  /// activation_range with the output's parameters. Always of double rounding: TensorFlow Lite has
  /// one kernel for it, whatever computes the sums (measured in LiteRT.js and tfjs-tflite, whose
  /// XNNPACK leaves it alone). With a factor below 1 the first rounding is coarse.
  [[nodiscard]] static CodeRequantizer activation(FusedActivation activation, const QuantParams& in,
                                                  const QuantParams& out);

  [[nodiscard]] std::int32_t apply(std::int32_t code) const noexcept;
  [[nodiscard]] ActivationRange limits() const noexcept { return limits_; }

  /// apply for each code; `out` may be `in` itself. Throws InvalidArgument if sizes differ or the
  /// limits do not fit `Out`.
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
                              ActivationRange limits, Rounding rounding);
  void check_run(std::size_t in_size, std::size_t out_size, std::int64_t type_lo,
                 std::int64_t type_hi) const;

  Rounding rounding_ = Rounding::double_rounding;
  QuantizedMultiplier multiplier_;
  float factor_ = 0.0F;
  std::int32_t zero_point_in_ = 0;
  std::int32_t zero_point_out_ = 0;
  ActivationRange limits_;
};

}  // namespace octet
