#include <octet/core/quant/code_adder.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include <fmt/format.h>

#include <octet/core/error.h>
#include <octet/core/quant/round.h>

namespace octet {
namespace {

constexpr float kLeastRatio = 1.0F / 1024;
constexpr float kRatioLimit = 256.0F;
constexpr int kMultiplierBits = 20;
constexpr int kLeftShift = 20;

void check(const QuantParams& params, std::string_view role) {
  if (params.scales.size() != 1 || params.zero_points.size() != 1 ||
      !std::isfinite(params.scale()) || !(params.scale() > 0.0F) ||
      !in_range(params.zero_point(), -128, 127)) {
    throw InvalidArgument(fmt::format(
        "ADD: expected one finite scale above 0 and an int8 zero point for its {}, found {} scales",
        role, params.scales.size()));
  }
}

/// The limits of a fused activation as XNNPACK has them: rounded, to even, with the zero point.
ActivationRange limits_to_even(FusedActivation activation, const QuantParams& out) {
  const RealLimits real = real_limits(activation);
  const auto code = [&](float limit) {
    const float exact = limit / out.scale() + static_cast<float>(out.zero_point());
    return static_cast<std::int32_t>(std::clamp(round_half_even(exact), -128.0F, 127.0F));
  };
  return {code(real.lo), code(real.hi)};
}

}  // namespace

CodeAdder CodeAdder::make(const QuantParams& first, const QuantParams& second,
                          const QuantParams& out, FusedActivation activation, Rounding rounding) {
  check(first, "first input");
  check(second, "second input");
  check(out, "output");
  CodeAdder adder;
  adder.zero_point_ = out.zero_point();
  const std::array inputs = {&first, &second};
  const std::array ratios = {first.scale() / out.scale(), second.scale() / out.scale()};
  adder.rounds_once_ = rounding == Rounding::fp32 && std::ranges::all_of(ratios, [](float ratio) {
                         return ratio >= kLeastRatio && ratio < kRatioLimit;
                       });
  std::array<std::int32_t, 2> whole{};
  std::array<QuantizedMultiplier, 2> factors{};
  if (adder.rounds_once_) {
    adder.shift_ = kMultiplierBits - std::ilogb(std::max(ratios[0], ratios[1]));
    for (std::size_t i = 0; i < 2; ++i) {
      whole[i] = static_cast<std::int32_t>(round_half_even(std::ldexp(ratios[i], adder.shift_)));
    }
    adder.limits_ = limits_to_even(activation, out);
  } else {
    const double twice = 2.0 * static_cast<double>(std::max(first.scale(), second.scale()));
    for (std::size_t i = 0; i < 2; ++i) {
      factors[i] =
          quantize_multiplier_smaller_than_one_exp(static_cast<double>(inputs[i]->scale()) / twice);
    }
    const double factor = std::ldexp(twice / static_cast<double>(out.scale()), -kLeftShift);
    if (!(factor < 1.0)) {
      throw InvalidArgument(fmt::format(
          "ADD: input scales {} and {} are too large for an output scale of {}: no runtime takes "
          "a quotient of 2^19 or more",
          first.scale(), second.scale(), out.scale()));
    }
    adder.factor_ = quantize_multiplier_smaller_than_one_exp(factor);
    adder.limits_ = activation_range(activation, out.scale(), out.zero_point(), -128, 127);
  }
  for (std::size_t i = 0; i < 2; ++i) {
    for (std::int32_t code = -128; code <= 127; ++code) {
      const std::int32_t distance = code - inputs[i]->zero_point();
      adder.terms_[i][static_cast<std::size_t>(code + 128)] =
          adder.rounds_once_
              ? distance * whole[i]
              : multiply_by_quantized_multiplier_double(distance * (1 << kLeftShift), factors[i]);
    }
  }
  return adder;
}

std::int32_t CodeAdder::rescale(std::int32_t sum) const noexcept {
  const std::int32_t steps = rounds_once_ ? (sum + (1 << (shift_ - 1))) >> shift_
                                          : multiply_by_quantized_multiplier_double(sum, factor_);
  return std::clamp(steps + zero_point_, limits_.lo, limits_.hi);
}

std::int32_t CodeAdder::apply(std::int32_t first, std::int32_t second) const noexcept {
  return rescale(terms_[0][static_cast<std::size_t>(first + 128)] +
                 terms_[1][static_cast<std::size_t>(second + 128)]);
}

void CodeAdder::run(std::span<const std::int8_t> first, std::span<const std::int8_t> second,
                    std::span<std::int8_t> out) const {
  if (first.size() != second.size() || first.size() != out.size()) {
    throw InvalidArgument(fmt::format("ADD: expected codes of one size, found {}, {} and {}",
                                      first.size(), second.size(), out.size()));
  }
  if (!rounds_once_) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = static_cast<std::int8_t>(apply(first[i], second[i]));
    }
    return;
  }
  // Here the terms are products, which processors make faster than they look them up; both zero
  // points are in what the sum starts from, the terms of code 0.
  const std::int32_t m1 = terms_[0][1] - terms_[0][0];
  const std::int32_t m2 = terms_[1][1] - terms_[1][0];
  const std::int32_t start = terms_[0][128] + terms_[1][128] + (1 << (shift_ - 1));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::int32_t steps = (start + first[i] * m1 + second[i] * m2) >> shift_;
    const std::int32_t code = steps + zero_point_;
    out[i] = static_cast<std::int8_t>(code < limits_.lo   ? limits_.lo
                                      : code > limits_.hi ? limits_.hi
                                                          : code);
  }
}

}  // namespace octet
