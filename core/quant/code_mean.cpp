#include <octet/core/quant/code_mean.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include <fmt/core.h>

#include <octet/core/error.h>
#include <octet/core/quant/code_operands.h>
#include <octet/core/quant/round.h>

namespace octet {
namespace {

/// factor / count, the quotient of the mantissas rounded towards zero.
QuantizedMultiplier divided(QuantizedMultiplier factor, std::int32_t count) {
  const int log2 = static_cast<int>(std::bit_width(static_cast<std::uint32_t>(count))) - 1;
  const int shift = std::min(log2, 31 + factor.shift);
  const std::int64_t wide = std::int64_t{factor.multiplier} * (std::int64_t{1} << shift);
  return {static_cast<std::int32_t>(wide / count), factor.shift - shift};
}

void require_finite(float computed, const QuantParams& in, const QuantParams& out) {
  if (std::isfinite(computed)) return;
  throw NumericError(
      fmt::format("MEAN: what it computes of input scale {} and output scale {} is beyond float32",
                  in.scale(), out.scale()));
}

}  // namespace

CodeMean CodeMean::make(const QuantParams& in, const QuantParams& out, std::int32_t count,
                        bool keeps_axes, Rounding rounding) {
  require_int8_operand("MEAN", in, "input");
  require_int8_operand("MEAN", out, "output");
  if (count < 1 || count > kMostCodes) {
    throw InvalidArgument(fmt::format("MEAN: expected 1 to {} codes, found {}", kMostCodes, count));
  }
  const float ratio = in.scale() / out.scale();
  require_finite(ratio, in, out);
  const auto n = static_cast<float>(count);
  CodeMean mean;
  mean.in_float_ = rounding == Rounding::fp32;
  if (mean.in_float_) {
    mean.float_factor_ = ratio * (1.0F / n);
    const auto zero_points = static_cast<float>(count * in.zero_point());
    mean.float_offset_ = static_cast<float>(out.zero_point()) - zero_points * mean.float_factor_;
    // What apply() adds to it has at most that size.
    require_finite(128.0F * n * mean.float_factor_, in, out);
    return mean;
  }
  if (rounding == Rounding::single_rounding && keeps_axes) {
    const float zero = static_cast<float>(in.zero_point()) * in.scale() / out.scale();
    require_finite(zero, in, out);
    require_finite(n * out.scale(), in, out);
    mean.factor_ = quantize_multiplier(double{in.scale() / (n * out.scale())});
    mean.offset_ = std::int64_t{out.zero_point()} -
                   clamp_to<std::int32_t>(zero > 0.0F ? zero + 0.5F : zero - 0.5F);
    return mean;
  }
  mean.start_ = -count * in.zero_point();
  mean.factor_ = divided(quantize_multiplier(double{in.scale()} / double{out.scale()}), count);
  mean.offset_ = out.zero_point();
  return mean;
}

std::int32_t CodeMean::apply(std::int32_t sum) const noexcept {
  if (in_float_) {
    const float code = static_cast<float>(sum) * float_factor_ + float_offset_;
    return clamp_to<std::int32_t>(round_half_even(code), -128, 127);
  }
  const std::int64_t code =
      offset_ + multiply_by_quantized_multiplier_double(sum + start_, factor_);
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(code, -128, 127));
}

}  // namespace octet
