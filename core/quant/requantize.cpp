#include <octet/core/quant/requantize.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include <octet/core/error.h>
#include <octet/core/kernels/isa.h>
#include <octet/core/kernels/repeated_row.h>
#include <octet/core/quant/round.h>

namespace octet {
namespace {

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
    result.multipliers_.push_back(
        quantize_multiplier(wide / static_cast<double>(output_scale), rounding));
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

void Requantizer::requantize(std::span<const std::int32_t> acc, std::span<std::int8_t> out,
                             std::int32_t zero_point, std::int32_t lo, std::int32_t hi) const {
  if (acc.size() != out.size() || (channels_ > 1 && acc.size() % channels_ != 0)) {
    throw InvalidArgument(
        fmt::format("requantize: {} accumulators to {} codes in rows of {} channels", acc.size(),
                    out.size(), channels_));
  }
  if (!in_range(zero_point, -128, 127) || !(-128 <= lo && lo <= hi && hi <= 127)) {
    throw InvalidArgument(fmt::format("requantize: zero point {} or limits {}..{} do not fit int8",
                                      zero_point, lo, hi));
  }
  const Passes& passes = kernels().passes;
  const CodeGrid grid{1.0F, zero_point, lo, hi};
  const bool each = channels_ > 1;
  if (each && rounding_ == Rounding::fp32) {
    const RepeatedRow factors(factors_, std::max<std::size_t>(acc.size() / channels_, 1));
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
