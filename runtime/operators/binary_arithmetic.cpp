#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/kernels/isa.h>
#include <octet/core/quant/round.h>
#include <octet/runtime/operators/binary.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace octet::detail {
namespace {

constexpr float kLeastRatio = 1.0F / 1024;
constexpr float kRatioLimit = 256.0F;
constexpr int kMultiplierBits = 20;
constexpr int kLeftShift = 20;

/// Where a quantized value stands in a table that begins with -128.
std::uint8_t index_of(std::int32_t code) { return static_cast<std::uint8_t>(code + 128); }

void require_int8_operands(std::string_view op, const QuantParams& first, const QuantParams& second,
                           const QuantParams& out) {
  require_int8_operand(op, first, "first input");
  require_int8_operand(op, second, "second input");
  require_int8_operand(op, out, "output");
}

/// scale_i / t and t / (2^left_shift scale_out), t = 2 max(scale_1, scale_2).
struct SumFactors {
  std::array<QuantizedMultiplier, 2> inputs;
  QuantizedMultiplier sum;
};

SumFactors sum_factors(const std::array<float, 2>& scales, float out, bool in_floats,
                       int left_shift) {
  const auto quotient = [in_floats](float a, float b) {
    return in_floats ? double{a / b} : double{a} / double{b};
  };
  const float larger = std::max(scales[0], scales[1]);
  const auto of_input = [&](float scale) {
    return quantize_multiplier_smaller_than_one_exp(0.5 * quotient(scale, larger));
  };
  return {{of_input(scales[0]), of_input(scales[1])},
          quantize_multiplier(std::ldexp(quotient(larger, out), 1 - left_shift))};
}

constexpr int kInt16LeftShift = 15;

constexpr float kLeastFactor = 1.0F / 65536;
constexpr float kFactorLimit = 256.0F;

void require_one_size(std::string_view op, std::span<const std::int8_t> first,
                      std::span<const std::int8_t> second, std::span<const std::int8_t> out) {
  if (first.size() == second.size() && first.size() == out.size()) return;
  throw InvalidArgument(fmt::format("{}: expected operands of one size, found {}, {} and {}", op,
                                    first.size(), second.size(), out.size()));
}

}  // namespace

QuantizedAdd QuantizedAdd::make(const QuantParams& first, const QuantParams& second,
                                const QuantParams& out, FusedActivation activation,
                                Rounding rounding, SecondSign sign) {
  const std::string_view op = sign == SecondSign::plus ? "ADD" : "SUB";
  require_int8_operands(op, first, second, out);
  QuantizedAdd adder;
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
    const SumFactors factors =
        sum_factors({first.scale(), second.scale()}, out.scale(), in_floats, kLeftShift);
    adder.input_factors_ = factors.inputs;
    adder.factor_ = factors.sum;
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

QuantParams QuantizedAdd::fitting_params(const QuantParams& first, const QuantParams& second,
                                         QuantParams out) {
  require_int8_operands("ADD", first, second, out);
  const float largest = std::max(first.scale(), second.scale());
  if (!(largest / out.scale() < kRatioLimit)) out.scales = {largest / (kRatioLimit / 2)};
  return out;
}

std::int32_t QuantizedAdd::rescale(std::int32_t sum) const noexcept {
  const std::int32_t steps = rounds_once_ ? (sum + (1 << (shift_ - 1))) >> shift_
                                          : multiply_by_quantized_multiplier_double(sum, factor_);
  return std::clamp(steps + zero_point_, limits_.lo, limits_.hi);
}

std::int32_t QuantizedAdd::apply(std::int32_t first, std::int32_t second) const noexcept {
  return rescale(terms_[0][index_of(first)] + terms_[1][index_of(second)]);
}

void QuantizedAdd::run(std::span<const std::int8_t> first, std::span<const std::int8_t> second,
                       std::span<std::int8_t> out) const {
  require_one_size("ADD", first, second, out);
  const Passes& passes = kernels().passes;
  const CodeGrid grid{
      .scale = 1.0F, .zero_point = zero_point_, .qmin = limits_.lo, .qmax = limits_.hi};
  if (rounds_once_) {
    // Here the terms are products; both zero points are in those of 0.
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

QuantizedMul QuantizedMul::make(const QuantParams& first, const QuantParams& second,
                                const QuantParams& out, FusedActivation activation,
                                Rounding rounding) {
  require_int8_operands("MUL", first, second, out);
  QuantizedMul result;
  result.first_zero_point_ = first.zero_point();
  result.second_zero_point_ = second.zero_point();
  result.zero_point_ = out.zero_point();
  const float product = first.scale() * second.scale();
  result.float_factor_ = product / out.scale();
  result.in_float_ = rounding == Rounding::fp32 && result.float_factor_ >= kLeastFactor &&
                     result.float_factor_ < kFactorLimit;
  if (!result.in_float_) {
    const double of_doubles = double{first.scale()} * double{second.scale()} / double{out.scale()};
    result.factor_ = quantize_multiplier(
        rounding == Rounding::double_rounding ? of_doubles : double{result.float_factor_});
  }
  result.limits_ = activation_range(activation, out,
                                    result.in_float_ ? Rounding::fp32 : Rounding::double_rounding);
  return result;
}

QuantParams QuantizedMul::fitting_params(const QuantParams& first, const QuantParams& second,
                                         QuantParams out) {
  require_int8_operands("MUL", first, second, out);
  const float product = first.scale() * second.scale();
  if (!(product / out.scale() < kFactorLimit)) out.scales = {product / (kFactorLimit / 2)};
  return out;
}

std::int32_t QuantizedMul::apply(std::int32_t first, std::int32_t second) const noexcept {
  const std::int32_t product = (first - first_zero_point_) * (second - second_zero_point_);
  const std::int32_t steps =
      in_float_
          ? clamp_to<std::int32_t>(round_half_even(static_cast<float>(product) * float_factor_))
          : multiply_by_quantized_multiplier_double(product, factor_);
  const std::int64_t code = std::int64_t{steps} + zero_point_;
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(code, limits_.lo, limits_.hi));
}

void QuantizedMul::run(std::span<const std::int8_t> first, std::span<const std::int8_t> second,
                       std::span<std::int8_t> out) const {
  require_one_size("MUL", first, second, out);
  const Passes& passes = kernels().passes;
  const CodeGrid grid{
      .scale = 1.0F, .zero_point = zero_point_, .qmin = limits_.lo, .qmax = limits_.hi};
  std::array<std::int32_t, 512> products;
  for (std::size_t begin = 0; begin < out.size(); begin += products.size()) {
    const std::size_t count = std::min(products.size(), out.size() - begin);
    for (std::size_t i = 0; i < count; ++i) {
      products[i] =
          (first[begin + i] - first_zero_point_) * (second[begin + i] - second_zero_point_);
    }
    if (in_float_) {
      passes.requantize(products.data(), count, float_factor_, grid, out.data() + begin);
    } else {
      passes.requantize_double(products.data(), count, factor_, grid, out.data() + begin);
    }
  }
}

QuantizedPrelu QuantizedPrelu::make(const QuantParams& x, const QuantParams& alpha,
                                    const QuantParams& out, Rounding rounding) {
  require_int8_operand("PRELU", x, "input");
  require_int8_operand("PRELU", alpha, "alpha");
  require_int8_operand("PRELU", out, "output");
  QuantizedPrelu result;
  result.x_zero_point_ = x.zero_point();
  result.alpha_zero_point_ = alpha.zero_point();
  result.zero_point_ = out.zero_point();
  if (rounding == Rounding::double_rounding) {
    const auto steps = double{x.scale()};
    result.above_ = quantize_multiplier(steps / double{out.scale()});
    result.below_ = quantize_multiplier(steps * double{alpha.scale()} / double{out.scale()});
  } else {
    const float product = x.scale() * alpha.scale();
    result.above_ = quantize_multiplier(double{x.scale() / out.scale()});
    result.below_ = quantize_multiplier(double{product / out.scale()});
  }
  return result;
}

std::int32_t QuantizedPrelu::apply(std::int32_t x, std::int32_t alpha) const noexcept {
  const std::int32_t distance = x - x_zero_point_;
  const std::int32_t steps =
      distance >= 0
          ? multiply_by_quantized_multiplier_double(distance, above_)
          : multiply_by_quantized_multiplier_double(distance * (alpha - alpha_zero_point_), below_);
  return static_cast<std::int32_t>(
      std::clamp<std::int64_t>(std::int64_t{steps} + zero_point_, -128, 127));
}

void QuantizedPrelu::run(std::span<const std::int8_t> x, std::span<const std::int8_t> alpha,
                         std::span<std::int8_t> out) const {
  require_one_size("PRELU", x, alpha, out);
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<std::int8_t>(apply(x[i], alpha[i]));
  }
}

Int16Add::Int16Add(const QuantParams& first, const QuantParams& second, const QuantParams& out,
                   FusedActivation activation, SecondSign sign)
    : sign_(sign == SecondSign::minus ? -1 : 1),
      limits_(activation_range(activation, out, Rounding::double_rounding)) {
  const SumFactors factors = sum_factors({first.scale(), second.scale()}, out.scale(),
                                         sign == SecondSign::minus, kInt16LeftShift);
  input_factors_ = factors.inputs;
  factor_ = factors.sum;
}

std::int16_t Int16Add::operator()(std::int16_t first, std::int16_t second) const noexcept {
  const auto term = [this](std::int32_t q, std::size_t i) {
    return multiply_by_quantized_multiplier_double(q * (1 << kInt16LeftShift), input_factors_[i]);
  };
  const std::int32_t sum = term(first, 0) + sign_ * term(second, 1);
  const std::int32_t steps = multiply_by_quantized_multiplier_double(sum, factor_);
  return static_cast<std::int16_t>(std::clamp(steps, limits_.lo, limits_.hi));
}

Int16Mul::Int16Mul(const QuantParams& first, const QuantParams& second, const QuantParams& out,
                   FusedActivation activation)
    : factor_(quantize_multiplier(double{first.scale()} * double{second.scale()} /
                                  double{out.scale()})),
      limits_(activation_range(activation, out, Rounding::double_rounding)) {}

std::int16_t Int16Mul::operator()(std::int16_t first, std::int16_t second) const noexcept {
  const std::int32_t product = std::int32_t{first} * second;
  const std::int32_t steps = multiply_by_quantized_multiplier_double(product, factor_);
  return static_cast<std::int16_t>(std::clamp(steps, limits_.lo, limits_.hi));
}

void QuantizedExtreme::run(std::span<const std::int8_t> first, std::span<const std::int8_t> second,
                           std::span<std::int8_t> out) const {
  require_one_size(takes_larger_ ? "MAXIMUM" : "MINIMUM", first, second, out);
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<std::int8_t>(apply(first[i], second[i]));
  }
}

}  // namespace octet::detail
