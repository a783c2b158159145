#include <octet/core/quant/code_requantize.h>

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include <octet/core/quant/round.h>

namespace octet {
namespace {

void check_per_tensor(const QuantParams& params, std::string_view what) {
  params.validate(what);
  if (params.channels() != 1) {
    throw InvalidArgument(fmt::format("{}: expected one scale, found {}", what, params.channels()));
  }
}

}  // namespace

bool CodeFactor::fits_eight_bits(float factor) noexcept {
  return std::abs(factor) >= 1.0F / 256 && std::abs(factor) <= 128.0F;
}

CodeFactor CodeFactor::eight_bits(float factor) noexcept {
  CodeFactor result;
  result.eight_bits_ = true;
  result.steps_ = clamp_to<std::int32_t>(round_half_even(256.0F * factor));
  return result;
}

CodeFactor CodeFactor::rounded_twice(double factor) {
  CodeFactor result;
  result.multiplier_ = quantize_multiplier(factor);
  return result;
}

std::int32_t CodeFactor::operator()(std::int32_t x) const noexcept {
  return eight_bits_ ? saturate_int32((std::int64_t{x} * steps_ + 128) >> 8)
                     : multiply_by_quantized_multiplier(x, multiplier_, Rounding::double_rounding);
}

CodeRequantizer CodeRequantizer::make(const QuantParams& in, const QuantParams& out,
                                      CodeFactor factor, ActivationRange range) {
  CodeRequantizer result;
  result.factor_ = factor;
  result.zero_point_in_ = in.zero_point();
  result.zero_point_out_ = out.zero_point();
  result.range_ = range;
  return result;
}

CodeRequantizer CodeRequantizer::quantize(const QuantParams& in, const QuantParams& out,
                                          Rounding rounding) {
  check_per_tensor(in, "requantize input");
  check_per_tensor(out, "requantize output");
  const float ratio = in.scale() / out.scale();
  if (!std::isfinite(ratio)) {
    throw NumericError(
        fmt::format("requantize: {} / {} is beyond float32", in.scale(), out.scale()));
  }
  const bool same_type = in.qmin == out.qmin && in.qmax == out.qmax;
  const bool by_xnnpack =
      rounding == Rounding::fp32 && same_type && CodeFactor::fits_eight_bits(ratio);
  const CodeFactor factor =
      by_xnnpack ? CodeFactor::eight_bits(ratio)
                 : CodeFactor::rounded_twice(double{in.scale()} / double{out.scale()});
  return make(in, out, factor, {out.qmin, out.qmax});
}

CodeRequantizer CodeRequantizer::activation(FusedActivation activation, const QuantParams& in,
                                            const QuantParams& out) {
  check_per_tensor(in, "activation input");
  check_per_tensor(out, "activation output");
  const auto factor = static_cast<double>(in.scale() / out.scale());
  const ActivationRange range =
      activation_range(activation, out.scale(), out.zero_point(), out.qmin, out.qmax);
  return make(in, out, CodeFactor::rounded_twice(factor), range);
}

std::int32_t CodeRequantizer::apply(std::int32_t code) const noexcept {
  const std::int32_t centred = saturate_int32(std::int64_t{code} - zero_point_in_);
  const std::int64_t moved = std::int64_t{factor_(centred)} + zero_point_out_;
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(moved, range_.lo, range_.hi));
}

void CodeRequantizer::check_run(std::size_t in_size, std::size_t out_size, std::int64_t type_lo,
                                std::int64_t type_hi) const {
  if (in_size != out_size) {
    throw InvalidArgument(fmt::format("requantize: {} codes in, {} out", in_size, out_size));
  }
  if (range_.lo < type_lo || range_.hi > type_hi) {
    throw InvalidArgument(fmt::format("requantize: the codes {}..{} do not fit a type of {}..{}",
                                      range_.lo, range_.hi, type_lo, type_hi));
  }
}

}  // namespace octet
