#include <octet/core/quant/softmax.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <limits>

#include <fmt/core.h>

#include <octet/core/error.h>
#include <octet/core/kernels/isa.h>
#include <octet/core/quant/fixed_point_math.h>
#include <octet/core/quant/round.h>

namespace octet {
namespace {

constexpr int kSoftmaxIntegerBits = 5;
constexpr int kSumIntegerBits = 12;

std::array<float, 256> float_table(float input_scale, float beta) {
  std::array<float, 256> table{};
  const float scale = -input_scale * beta;
  // Times a distance of 0 it would be NaN.
  if (!std::isfinite(scale)) {
    throw NumericError(
        fmt::format("softmax: input scale {} * beta {} is beyond float32", input_scale, beta));
  }
  for (std::size_t d = 0; d < table.size(); ++d) {
    // exp in double, then rounded once: math libraries differ in the last bit of expf.
    const float exponent = scale * static_cast<float>(d);
    table[d] = static_cast<float>(std::exp(static_cast<double>(exponent)));
  }
  return table;
}

std::array<std::int32_t, 256> fixed_table(float input_scale, float beta, Rounding rounding) {
  const QuantizedMultiplier m =
      preprocess_softmax_scaling(beta, input_scale, kSoftmaxIntegerBits, rounding);
  const std::int32_t radius = calculate_input_radius(kSoftmaxIntegerBits, m.shift);
  std::array<std::int32_t, 256> table{};
  for (std::int32_t d = 0; d < 256 && d <= radius; ++d) {
    const std::int32_t scaled =
        saturating_rounding_doubling_high_mul(saturating_left_shift(-d, m.shift), m.multiplier);
    table[static_cast<std::size_t>(d)] = exp_on_negative_values(scaled, kSoftmaxIntegerBits);
  }
  return table;
}

}  // namespace

QuantizedMultiplier preprocess_softmax_scaling(double beta, double input_scale, int integer_bits,
                                               Rounding rounding) {
  const auto limit = static_cast<double>(
      (std::int64_t{1} << (rounding == Rounding::single_rounding ? 30 : 31)) - 1);
  const double factor = std::min(std::ldexp(beta * input_scale, 31 - integer_bits), limit);
  if (!(factor > 1.0)) {
    throw InvalidArgument(fmt::format(
        "softmax: input scale {} * beta {} is too small for the fixed-point softmax; the logits "
        "span next to nothing",
        input_scale, beta));
  }
  return quantize_multiplier_greater_than_one(factor);
}

std::int32_t calculate_input_radius(int integer_bits, int left_shift, int total_signed_bits) {
  const double largest = std::ldexp(std::ldexp(1.0, integer_bits) - 1.0,
                                    total_signed_bits - integer_bits - left_shift);
  return clamp_to<std::int32_t>(std::floor(largest));
}

SoftmaxInt8 SoftmaxInt8::make(float input_scale, float beta, Rounding rounding) {
  for (const float value : {input_scale, beta}) {
    if (!std::isfinite(value) || !(value > 0.0F)) {
      throw InvalidArgument(fmt::format(
          "softmax: expected an input scale and beta, finite and above 0, found {} and {}",
          input_scale, beta));
    }
  }
  SoftmaxInt8 softmax;
  softmax.rounding_ = rounding;
  if (rounding == Rounding::fp32) {
    softmax.exp_float_ = float_table(input_scale, beta);
  } else {
    softmax.exp_fixed_ = fixed_table(input_scale, beta, rounding);
  }
  return softmax;
}

void SoftmaxInt8::run(std::span<const std::int8_t> in, std::span<std::int8_t> out) const {
  run_rows(in, out, std::max<std::size_t>(in.size(), 1));
}

void SoftmaxInt8::run_rows(std::span<const std::int8_t> in, std::span<std::int8_t> out,
                           std::size_t row) const {
  if (in.size() != out.size() || row == 0 || in.size() % row != 0) {
    throw InvalidArgument(
        fmt::format("softmax: {} values in, {} out, in rows of {}", in.size(), out.size(), row));
  }
  if (rounding_ == Rounding::fp32) {
    kernels().passes.softmax_codes(in.data(), in.size() / row, row, exp_float_.data(), out.data());
    return;
  }
  if (row > kMaxFixedPointRow) {
    throw InvalidArgument(fmt::format(
        "softmax: a row of {} is too long for fixed point, at most {}", row, kMaxFixedPointRow));
  }
  for (std::size_t i = 0; i < in.size(); i += row) {
    run_fixed(in.subspan(i, row), out.subspan(i, row));
  }
}

void SoftmaxInt8::run_fixed(std::span<const std::int8_t> in,
                            std::span<std::int8_t> out) const noexcept {
  const int max = *std::max_element(in.begin(), in.end());
  std::uint32_t sum = 0;
  for (const int code : in) {
    const std::int32_t e = exp_fixed_[static_cast<std::size_t>(max - code)];
    sum += static_cast<std::uint32_t>(rounding_divide_by_pot(e, kSumIntegerBits));
  }
  const int headroom = std::countl_zero(sum);
  const int bits_over_unit = kSumIntegerBits - headroom;
  const std::uint32_t above_one = (sum << headroom) - (std::uint32_t{1} << 31);
  const std::int32_t reciprocal = one_over_one_plus_x(static_cast<std::int32_t>(above_one));
  for (std::size_t i = 0; i < in.size(); ++i) {
    const std::int32_t e = exp_fixed_[static_cast<std::size_t>(max - in[i])];
    const std::int32_t steps = rounding_divide_by_pot(
        saturating_rounding_doubling_high_mul(reciprocal, e), bits_over_unit + 31 - 8);
    out[i] = static_cast<std::int8_t>(std::min(steps + kOutputZeroPoint, 127));
  }
}

}  // namespace octet
