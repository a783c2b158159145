#include <octet/core/quant/code_adder.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string_view>

#include <fmt/core.h>

#include <octet/core/error.h>
#include <octet/core/kernels/isa.h>
#include <octet/core/quant/code_operands.h>
#include <octet/core/quant/round.h>

namespace octet {
namespace {

constexpr float kLeastRatio = 1.0F / 1024;
constexpr float kRatioLimit = 256.0F;
constexpr int kMultiplierBits = 20;
constexpr int kLeftShift = 20;

/// The place of a code in a table that begins with that of -128.
std::uint8_t index_of(std::int32_t code) { return static_cast<std::uint8_t>(code + 128); }

void check(std::string_view op, const QuantParams& first, const QuantParams& second,
           const QuantParams& out) {
  require_int8_operand(op, first, "first input");
  require_int8_operand(op, second, "second input");
  require_int8_operand(op, out, "output");
}

}  // namespace

CodeAdder CodeAdder::make(const QuantParams& first, const QuantParams& second,
                          const QuantParams& out, FusedActivation activation, Rounding rounding,
                          SecondSign sign) {
  const std::string_view op = sign == SecondSign::plus ? "ADD" : "SUB";
  check(op, first, second, out);
  CodeAdder adder;
  adder.zero_point_ = out.zero_point();
  const std::array inputs = {&first, &second};
  const std::array ratios = {first.scale() / out.scale(), second.scale() / out.scale()};
  adder.rounds_once_ = rounding == Rounding::fp32 && std::ranges::all_of(ratios, [](float ratio) {
                         return ratio >= kLeastRatio && ratio < kRatioLimit;
                       });
  std::array<std::int32_t, 2> whole{};
  if (adder.rounds_once_) {
    adder.shift_ = kMultiplierBits - std::ilogb(std::max(ratios[0], ratios[1]));
    for (std::size_t i = 0; i < 2; ++i) {
      whole[i] = static_cast<std::int32_t>(round_half_even(std::ldexp(ratios[i], adder.shift_)));
    }
  } else {
    const bool in_floats = sign == SecondSign::minus && rounding == Rounding::double_rounding;
    const auto quotient = [in_floats](float a, float b) {
      return in_floats ? double{a / b} : double{a} / double{b};
    };
    const float larger = std::max(first.scale(), second.scale());
    for (std::size_t i = 0; i < 2; ++i) {
      adder.input_factors_[i] =
          quantize_multiplier_smaller_than_one_exp(0.5 * quotient(inputs[i]->scale(), larger));
    }
    adder.factor_ = quantize_multiplier(std::ldexp(quotient(larger, out.scale()), 1 - kLeftShift));
  }
  adder.limits_ = activation_range(activation, out,
                                   adder.rounds_once_ ? Rounding::fp32 : Rounding::double_rounding);
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int32_t factor = i == 1 && sign == SecondSign::minus ? -1 : 1;
    for (std::int32_t code = -128; code <= 127; ++code) {
      const std::int32_t distance = code - inputs[i]->zero_point();
      adder.terms_[i][index_of(code)] =
          factor * (adder.rounds_once_
                        ? distance * whole[i]
                        : multiply_by_quantized_multiplier_double(distance * (1 << kLeftShift),
                                                                  adder.input_factors_[i]));
    }
  }
  return adder;
}

QuantParams CodeAdder::fitting_grid(const QuantParams& first, const QuantParams& second,
                                    QuantParams out) {
  check("ADD", first, second, out);
  const float largest = std::max(first.scale(), second.scale());
  if (!(largest / out.scale() < kRatioLimit)) out.scales = {largest / (kRatioLimit / 2)};
  return out;
}

std::int32_t CodeAdder::rescale(std::int32_t sum) const noexcept {
  const std::int32_t steps = rounds_once_ ? (sum + (1 << (shift_ - 1))) >> shift_
                                          : multiply_by_quantized_multiplier_double(sum, factor_);
  return std::clamp(steps + zero_point_, limits_.lo, limits_.hi);
}

std::int32_t CodeAdder::apply(std::int32_t first, std::int32_t second) const noexcept {
  return rescale(terms_[0][index_of(first)] + terms_[1][index_of(second)]);
}

void CodeAdder::run(std::span<const std::int8_t> first, std::span<const std::int8_t> second,
                    std::span<std::int8_t> out) const {
  if (first.size() != second.size() || first.size() != out.size()) {
    throw InvalidArgument(fmt::format("ADD: expected codes of one size, found {}, {} and {}",
                                      first.size(), second.size(), out.size()));
  }
  const Passes& passes = kernels().passes;
  const CodeGrid grid{
      .scale = 1.0F, .zero_point = zero_point_, .qmin = limits_.lo, .qmax = limits_.hi};
  if (rounds_once_) {
    // Here the terms are products; both zero points are in those of code 0.
    const CodeSum sum{.first_factor = terms_[0][1] - terms_[0][0],
                      .second_factor = terms_[1][1] - terms_[1][0],
                      .start = terms_[0][128] + terms_[1][128] + (1 << (shift_ - 1)),
                      .shift = shift_};
    passes.add_codes(first.data(), second.data(), out.size(), sum, grid, out.data());
    return;
  }
  std::array<std::int32_t, 512> sums;
  for (std::size_t begin = 0; begin < out.size(); begin += sums.size()) {
    const std::size_t count = std::min(sums.size(), out.size() - begin);
    for (std::size_t i = 0; i < count; ++i) {
      sums[i] = terms_[0][index_of(first[begin + i])] + terms_[1][index_of(second[begin + i])];
    }
    passes.requantize_double(sums.data(), count, factor_, grid, out.data() + begin);
  }
}

}  // namespace octet
