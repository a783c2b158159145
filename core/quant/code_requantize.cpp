#include <octet/core/quant/code_requantize.h>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

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

CodeRequantizer CodeRequantizer::make(const QuantParams& in, const QuantParams& out, double factor,
                                      ActivationRange range, Rounding rounding) {
  CodeRequantizer result;
  result.rounding_ = rounding;
  if (rounding == Rounding::fp32) {
    result.factor_ = in.scale() / out.scale();
    if (!std::isfinite(result.factor_)) {
      throw NumericError(
          fmt::format("requantize: {} / {} is beyond float32", in.scale(), out.scale()));
    }
  } else {
    result.multiplier_ = quantize_multiplier(factor, rounding);
  }
  result.zero_point_in_ = in.zero_point();
  result.zero_point_out_ = out.zero_point();
  result.range_ = range;
  return result;
}

CodeRequantizer CodeRequantizer::quantize(const QuantParams& in, const QuantParams& out,
                                          Rounding rounding) {
  check_per_tensor(in, "requantize input");
  check_per_tensor(out, "requantize output");
  const double factor = static_cast<double>(in.scale()) / static_cast<double>(out.scale());
  return make(in, out, factor, {out.qmin, out.qmax}, rounding);
}

CodeRequantizer CodeRequantizer::activation(FusedActivation activation, const QuantParams& in,
                                            const QuantParams& out) {
  check_per_tensor(in, "activation input");
  check_per_tensor(out, "activation output");
  const auto factor = static_cast<double>(in.scale() / out.scale());
  const ActivationRange range =
      activation_range(activation, out.scale(), out.zero_point(), out.qmin, out.qmax);
  return make(in, out, factor, range, Rounding::double_rounding);
}

std::int32_t CodeRequantizer::apply(std::int32_t code) const noexcept {
  const std::int32_t centred = saturate_int32(std::int64_t{code} - zero_point_in_);
  const std::int32_t scaled =
      rounding_ == Rounding::fp32
          ? clamp_to<std::int32_t>(round_half_even(static_cast<float>(centred) * factor_))
          : multiply_by_quantized_multiplier(centred, multiplier_, rounding_);
  const std::int64_t moved = std::int64_t{scaled} + zero_point_out_;
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
