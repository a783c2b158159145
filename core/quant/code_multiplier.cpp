#include <octet/core/quant/code_multiplier.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include <fmt/core.h>

#include <octet/core/error.h>
#include <octet/core/kernels/isa.h>
#include <octet/core/quant/code_operands.h>
#include <octet/core/quant/round.h>

namespace octet {
namespace {

constexpr float kLeastFactor = 1.0F / 65536;
constexpr float kFactorLimit = 256.0F;

void check(const QuantParams& first, const QuantParams& second, const QuantParams& out) {
  require_int8_operand("MUL", first, "first input");
  require_int8_operand("MUL", second, "second input");
  require_int8_operand("MUL", out, "output");
}

}  // namespace

CodeMultiplier CodeMultiplier::make(const QuantParams& first, const QuantParams& second,
                                    const QuantParams& out, FusedActivation activation,
                                    Rounding rounding) {
  check(first, second, out);
  CodeMultiplier result;
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

QuantParams CodeMultiplier::fitting_grid(const QuantParams& first, const QuantParams& second,
                                         QuantParams out) {
  check(first, second, out);
  const float product = first.scale() * second.scale();
  if (!(product / out.scale() < kFactorLimit)) out.scales = {product / (kFactorLimit / 2)};
  return out;
}

std::int32_t CodeMultiplier::apply(std::int32_t first, std::int32_t second) const noexcept {
  const std::int32_t product = (first - first_zero_point_) * (second - second_zero_point_);
  const std::int32_t steps =
      in_float_
          ? clamp_to<std::int32_t>(round_half_even(static_cast<float>(product) * float_factor_))
          : multiply_by_quantized_multiplier_double(product, factor_);
  const std::int64_t code = std::int64_t{steps} + zero_point_;
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(code, limits_.lo, limits_.hi));
}

void CodeMultiplier::run(std::span<const std::int8_t> first, std::span<const std::int8_t> second,
                         std::span<std::int8_t> out) const {
  if (first.size() != second.size() || first.size() != out.size()) {
    throw InvalidArgument(fmt::format("MUL: expected codes of one size, found {}, {} and {}",
                                      first.size(), second.size(), out.size()));
  }
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

}  // namespace octet
