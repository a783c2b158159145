#include <octet/core/quant/fixed_point_math.h>

#include <cassert>
#include <limits>

#include <octet/core/quant/fixed_point.h>

namespace octet {
namespace {

constexpr std::int32_t kMax = std::numeric_limits<std::int32_t>::max();

constexpr std::int32_t high_mul(std::int32_t a, std::int32_t b) {
  return saturating_rounding_doubling_high_mul(a, b);
}

// exp(-2^exponent), 0 integer bits.
struct ExpFactor {
  int exponent;
  std::int32_t value;
};
constexpr ExpFactor kExpFactors[] = {{-2, 1672461947}, {-1, 1302514674}, {0, 790015084},
                                     {1, 290630308},   {2, 39332535},    {3, 720401},
                                     {4, 242}};
constexpr std::int32_t kExpMinusEighth = 1895147668;
constexpr std::int32_t kOneThird = 715827883;

// exp(a) for a in [-1/4, 0), 0 integer bits: a Taylor polynomial around -1/8.
std::int32_t exp_on_last_quarter(std::int32_t a) {
  const std::int32_t x = a + (std::int32_t{1} << 28);
  const std::int32_t x2 = high_mul(x, x);
  const std::int32_t x3 = high_mul(x2, x);
  const std::int32_t x4 = high_mul(x2, x2);
  const std::int32_t tail = rounding_divide_by_pot(x4, 2) + x3;
  const std::int32_t polynomial = rounding_divide_by_pot(high_mul(tail, kOneThird) + x2, 1);
  return saturate_int32(std::int64_t{kExpMinusEighth} + high_mul(kExpMinusEighth, x + polynomial));
}

constexpr std::int32_t kOneWithTwoBits = std::int32_t{1} << 29;

// 2 / (1 + a) with 2 integer bits, for 0 <= a < 1 with none: three Newton steps.
std::int32_t two_over_one_plus_x(std::int32_t a) {
  assert(a >= 0);
  constexpr std::int32_t k48Over17 = 1515870810;
  constexpr std::int32_t kMinus32Over17 = -1010580540;
  const auto half = static_cast<std::int32_t>((std::int64_t{a} + kMax + 1) / 2);
  std::int32_t x = k48Over17 + high_mul(half, kMinus32Over17);
  for (int step = 0; step < 3; ++step) {
    const std::int32_t error = kOneWithTwoBits - high_mul(half, x);
    x += saturating_left_shift(high_mul(x, error), 2);
  }
  return x;
}

}  // namespace

std::int32_t exp_on_negative_values(std::int32_t a, int integer_bits) noexcept {
  assert(a <= 0 && integer_bits >= 0 && integer_bits <= 29);
  if (a == 0) {
    return kMax;
  }
  const int fraction_bits = 31 - integer_bits;
  const std::int32_t quarter = std::int32_t{1} << (fraction_bits - 2);
  const std::int32_t a_mod_quarter = (a & (quarter - 1)) - quarter;
  std::int32_t result = exp_on_last_quarter(saturating_left_shift(a_mod_quarter, integer_bits));
  const std::int64_t remainder = std::int64_t{a_mod_quarter} - a;
  for (const ExpFactor& factor : kExpFactors) {
    if (integer_bits > factor.exponent &&
        ((remainder >> (fraction_bits + factor.exponent)) & 1) != 0) {
      result = high_mul(result, factor.value);
    }
  }
  if (integer_bits > 5 && std::int64_t{a} < -(std::int64_t{1} << (fraction_bits + 5))) {
    return 0;  // below exp(-32), where the factors end
  }
  return result;
}

std::int32_t one_over_one_plus_x(std::int32_t a) noexcept {
  return saturating_left_shift(two_over_one_plus_x(a), 1);
}

std::int32_t one_minus_x_over_one_plus_x(std::int32_t a) noexcept {
  return saturating_left_shift(two_over_one_plus_x(a) - kOneWithTwoBits, 2);
}

std::int32_t fixed_point_logistic(std::int32_t a, int integer_bits) noexcept {
  constexpr std::int32_t kOneHalf = std::int32_t{1} << 30;
  if (a == 0) {
    return kOneHalf;
  }
  const std::int32_t positive =
      one_over_one_plus_x(exp_on_negative_values(a < 0 ? a : -a, integer_bits));
  return a < 0 ? kMax - positive : positive;
}

std::int32_t fixed_point_tanh(std::int32_t a, int integer_bits) noexcept {
  if (a == 0) {
    return 0;
  }
  // Read with one more integer bit, a raw number stands for 2 a.
  const std::int32_t positive =
      one_minus_x_over_one_plus_x(exp_on_negative_values(a < 0 ? a : -a, integer_bits + 1));
  return a < 0 ? -positive : positive;
}

}  // namespace octet
