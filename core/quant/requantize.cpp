#include <octet/core/quant/requantize.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/core.h>

#include <octet/core/error.h>
#include <octet/core/kernels/isa.h>
#include <octet/core/kernels/repeated_row.h>
#include <octet/core/quant/round.h>

namespace octet {
namespace {

/// multiply_by_quantized_multiplier_64() shifts by 15 minus the multiplier's shift, at least 8.
constexpr int kMostQ15Shift = 7;
/// A little less than 2^31, as 15 bits of a factor may be rounded up.
constexpr double kMostResult = 2147300000.0;
constexpr std::int64_t kMostQ15Sum = (std::int64_t{1} << 47) - 1;

void check_scale(float scale, std::string_view what) {
  if (!std::isfinite(scale) || !(scale > 0.0F)) {
    throw InvalidArgument(
        fmt::format("requantize: {} scale {} is not finite and above 0", what, scale));
  }
}

}  // namespace

Requantizer Requantizer::make(float input_scale, std::span<const float> weight_scales,
                              float output_scale, Rounding rounding, ScaleProduct product) {
  check_scale(input_scale, "input");
  check_scale(output_scale, "output");
  if (weight_scales.empty()) {
    throw InvalidArgument("requantize: expected one weight scale or more, found none");
  }
  Requantizer result;
  result.rounding_ = rounding;
  result.channels_ = weight_scales.size();
  for (const float weight_scale : weight_scales) {
    check_scale(weight_scale, "weight");
    const float float_product = input_scale * weight_scale;
    const double exact_product =
        static_cast<double>(input_scale) * static_cast<double>(weight_scale);
    const float factor = float_product / output_scale;
    if (!std::isfinite(factor)) {
      throw NumericError(fmt::format("requantize: {} * {} / {} is beyond float32", input_scale,
                                     weight_scale, output_scale));
    }
    if (rounding == Rounding::fp32) {
      result.factors_.push_back(factor);
      continue;
    }
    const double wide =
        product == ScaleProduct::in_float ? static_cast<double>(float_product) : exact_product;
    const double ratio = wide / static_cast<double>(output_scale);
    result.multipliers_.push_back(quantize_multiplier(ratio, rounding));
    if (rounding == Rounding::q15 && result.multipliers_.back().shift > kMostQ15Shift) {
      throw NumericError(
          fmt::format("requantize: {} * {} / {} = {}, expected less than 128 in rounding mode q15; "
                      "the output's scale is tiny, as of a layer whose results are all 0",
                      input_scale, weight_scale, output_scale, ratio));
    }
  }
  return result;
}

Requantizer Requantizer::fully_connected(float input_scale, std::span<const float> weight_scales,
                                         float output_scale, Rounding rounding) {
  return make(input_scale, weight_scales, output_scale, rounding,
              weight_scales.size() == 1 ? ScaleProduct::in_float : ScaleProduct::in_double);
}

Requantizer Requantizer::convolution(float input_scale, std::span<const float> weight_scales,
                                     float output_scale, Rounding rounding) {
  return make(input_scale, weight_scales, output_scale, rounding, ScaleProduct::in_double);
}

Requantizer Requantizer::part(std::size_t first, std::size_t count) const {
  if (channels_ == 1) return *this;
  const auto cut = [&](const auto& of) {
    auto result = of;
    if (!of.empty()) {
      const auto begin = of.begin() + static_cast<std::ptrdiff_t>(first);
      result.assign(begin, begin + static_cast<std::ptrdiff_t>(count));
    }
    return result;
  };
  Requantizer result;
  result.rounding_ = rounding_;
  result.channels_ = count;
  result.factors_ = cut(factors_);
  result.multipliers_ = cut(multipliers_);
  return result;
}

std::int32_t Requantizer::apply(std::int32_t acc, std::size_t channel) const noexcept {
  const std::size_t c = channels_ == 1 ? 0 : channel;
  if (rounding_ == Rounding::fp32) {
    return clamp_to<std::int32_t>(round_half_even(static_cast<float>(acc) * factors_[c]));
  }
  return multiply_by_quantized_multiplier(acc, multipliers_[c], rounding_);
}

void Requantizer::check_rows(std::size_t sums, std::size_t codes) const {
  if (sums == codes && (channels_ == 1 || sums % channels_ == 0)) return;
  throw InvalidArgument(fmt::format(
      "requantize: {} accumulators to {} values in rows of {} channels", sums, codes, channels_));
}

std::int32_t Requantizer::apply_wide(std::int64_t acc, std::size_t channel) const noexcept {
  return multiply_by_quantized_multiplier_64(acc, multipliers_[channels_ == 1 ? 0 : channel]);
}

void Requantizer::requantize(std::span<const std::int64_t> acc, std::span<std::int16_t> out,
                             std::int32_t lo, std::int32_t hi) const {
  check_rows(acc.size(), out.size());
  if (rounding_ != Rounding::q15) {
    throw InvalidArgument(
        fmt::format("requantize: expected rounding mode q15 for sums in int64, found {}",
                    to_string(rounding_)));
  }
  if (!(-32768 <= lo && lo <= hi && hi <= 32767)) {
    throw InvalidArgument(fmt::format("requantize: limits {}..{} do not fit int16", lo, hi));
  }
  for (std::size_t i = 0, channel = 0; i < acc.size(); ++i, ++channel) {
    if (channel == channels_) channel = 0;
    out[i] = static_cast<std::int16_t>(std::clamp(apply_wide(acc[i], channel), lo, hi));
  }
}

void Requantizer::require_fitting(std::int64_t largest, std::string_view owner) const {
  if (largest > kMostQ15Sum) {
    throw InvalidArgument(
        fmt::format("{}: sums could reach {}, more than the 2^47 - 1 of rounding mode q15; "
                    "the layer has too many inputs or too large a bias",
                    owner, largest));
  }
  for (std::size_t c = 0; c < multipliers_.size(); ++c) {
    const double factor = std::ldexp(multipliers_[c].multiplier, multipliers_[c].shift - 31);
    const double most = factor * static_cast<double>(largest);
    if (most < kMostResult) continue;
    throw InvalidArgument(
        fmt::format("{}, channel {}: sums could reach {:.3g} steps of the output, more than int32 "
                    "holds, where runtimes wrap round; the range of the result is far smaller than "
                    "what the weights can give",
                    owner, c, most));
  }
}

void Requantizer::requantize(std::span<const std::int32_t> acc, std::span<std::int8_t> out,
                             std::int32_t zero_point, std::int32_t lo, std::int32_t hi) const {
  check_rows(acc.size(), out.size());
  if (rounding_ == Rounding::q15) {
    throw InvalidArgument("requantize: expected sums in int64 for rounding mode q15, found int32");
  }
  if (!in_range(zero_point, -128, 127) || !(-128 <= lo && lo <= hi && hi <= 127)) {
    throw InvalidArgument(fmt::format("requantize: zero point {} or limits {}..{} do not fit int8",
                                      zero_point, lo, hi));
  }
  const Passes& passes = kernels().passes;
  const CodeGrid grid{1.0F, zero_point, lo, hi};
  const bool each = channels_ > 1;
  if (each && rounding_ == Rounding::fp32) {
    const RepeatedRow<float> factors(factors_, std::max<std::size_t>(acc.size() / channels_, 1));
    const std::size_t step = factors.rows() * channels_;
    for (std::size_t start = 0; start < acc.size(); start += step) {
      passes.requantize_each(acc.data() + start, std::min(step, acc.size() - start), factors.data(),
                             grid, out.data() + start);
    }
    return;
  }
  const std::size_t row = each ? channels_ : acc.size();
  for (std::size_t start = 0; start < acc.size(); start += row) {
    const std::int32_t* from = acc.data() + start;
    std::int8_t* to = out.data() + start;
    if (each) {
      // One by one: shifts that differ between elements do not vectorise.
      for (std::size_t i = 0; i < row; ++i) {
        const std::int64_t code = std::int64_t{apply(from[i], i)} + zero_point;
        to[i] = static_cast<std::int8_t>(std::clamp<std::int64_t>(code, lo, hi));
      }
    } else if (rounding_ == Rounding::single_rounding) {
      passes.requantize_single(from, row, multipliers_[0], grid, to);
    } else if (rounding_ == Rounding::double_rounding) {
      passes.requantize_double(from, row, multipliers_[0], grid, to);
    } else {
      passes.requantize(from, row, factors_[0], grid, to);
    }
  }
}

}  // namespace octet
