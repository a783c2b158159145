#include <octet/core/quant/fixed_point_math.h>

#include <algorithm>
#include <cassert>
#include <limits>

#include <octet/core/quant/fixed_point.h>

namespace octet {
namespace {

/// Numbers of one width: raw words without integer bits stand for raw / 2^(kBits - 1).
template <class Word>
struct Fixed {
  static constexpr int kBits = 8 * sizeof(Word);
  static constexpr std::int32_t kMax = std::numeric_limits<Word>::max();
  /// 1 with 2 integer bits.
  static constexpr std::int32_t kOneWithTwoBits = std::int32_t{1} << (kBits - 3);

  /// A constant that is written in 32 bits.
  static constexpr std::int32_t constant(std::int32_t wide) {
    return rounding_divide_by_pot(wide, 32 - kBits);
  }
  static constexpr std::int32_t saturate(std::int64_t x) {
    return static_cast<std::int32_t>(
        std::clamp<std::int64_t>(x, std::numeric_limits<Word>::min(), kMax));
  }
  static constexpr std::int32_t wrap(std::int32_t x) { return static_cast<Word>(x); }
  static constexpr std::int32_t high_mul(std::int32_t a, std::int32_t b) {
    if constexpr (kBits == 32) return saturating_rounding_doubling_high_mul(a, b);
    return saturate((a * b + (1 << 14)) >> 15);
  }
  static constexpr std::int32_t shift_left(std::int32_t x, int shift) {
    return saturate(saturating_left_shift(x, shift));
  }

  static std::int32_t exp_on_last_quarter(std::int32_t a);
  static std::int32_t two_over_one_plus_x(std::int32_t a);
  static std::int32_t exp_on_negative_values(std::int32_t a, int integer_bits);
  static std::int32_t one_over_one_plus_x(std::int32_t a) {
    return shift_left(two_over_one_plus_x(a), 1);
  }
  static std::int32_t one_minus_x_over_one_plus_x(std::int32_t a) {
    return shift_left(wrap(two_over_one_plus_x(a) - kOneWithTwoBits), 2);
  }
  static std::int32_t logistic(std::int32_t a, int integer_bits);
  static std::int32_t tanh(std::int32_t a, int integer_bits);
};

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
template <class Word>
std::int32_t Fixed<Word>::exp_on_last_quarter(std::int32_t a) {
  const std::int32_t x = a + (std::int32_t{1} << (kBits - 4));
  const std::int32_t x2 = high_mul(x, x);
  const std::int32_t x3 = high_mul(x2, x);
  const std::int32_t x4 = high_mul(x2, x2);
  const std::int32_t tail = wrap(rounding_divide_by_pot(x4, 2) + x3);
  const std::int32_t polynomial =
      rounding_divide_by_pot(wrap(high_mul(tail, constant(kOneThird)) + x2), 1);
  constexpr std::int32_t kMiddle = constant(kExpMinusEighth);
  return saturate(std::int64_t{kMiddle} + high_mul(kMiddle, wrap(x + polynomial)));
}

// 2 / (1 + a) with 2 integer bits, for 0 <= a < 1 with none: three Newton steps.
template <class Word>
std::int32_t Fixed<Word>::two_over_one_plus_x(std::int32_t a) {
  assert(a >= 0);
  constexpr std::int32_t k48Over17 = constant(1515870810);
  constexpr std::int32_t kMinus32Over17 = constant(-1010580540);
  const auto half = static_cast<std::int32_t>((std::int64_t{a} + kMax + 1) / 2);
  std::int32_t x = wrap(k48Over17 + high_mul(half, kMinus32Over17));
  for (int step = 0; step < 3; ++step) {
    const std::int32_t error = wrap(kOneWithTwoBits - high_mul(half, x));
    x = wrap(x + shift_left(high_mul(x, error), 2));
  }
  return x;
}

template <class Word>
std::int32_t Fixed<Word>::exp_on_negative_values(std::int32_t a, int integer_bits) {
  assert(a <= 0 && integer_bits >= 0 && integer_bits <= kBits - 3);
  if (a == 0) {
    return kMax;
  }
  const int fraction_bits = kBits - 1 - integer_bits;
  const std::int32_t quarter = std::int32_t{1} << (fraction_bits - 2);
  const std::int32_t a_mod_quarter = (a & (quarter - 1)) - quarter;
  std::int32_t result = exp_on_last_quarter(shift_left(a_mod_quarter, integer_bits));
  const std::int64_t remainder = std::int64_t{a_mod_quarter} - a;
  for (const ExpFactor& factor : kExpFactors) {
    if (integer_bits > factor.exponent &&
        ((remainder >> (fraction_bits + factor.exponent)) & 1) != 0) {
      result = high_mul(result, constant(factor.value));
    }
  }
  if (integer_bits > 5 && std::int64_t{a} < -(std::int64_t{1} << (fraction_bits + 5))) {
    return 0;  // below exp(-32), where the factors end
  }
  return result;
}

template <class Word>
std::int32_t Fixed<Word>::logistic(std::int32_t a, int integer_bits) {
  if (a == 0) {
    return std::int32_t{1} << (kBits - 2);
  }
  const std::int32_t positive =
      one_over_one_plus_x(exp_on_negative_values(a < 0 ? a : -a, integer_bits));
  return a < 0 ? kMax - positive : positive;
}

template <class Word>
std::int32_t Fixed<Word>::tanh(std::int32_t a, int integer_bits) {
  if (a == 0) {
    return 0;
  }
  // Read with one more integer bit, a raw number stands for 2 a.
  const std::int32_t positive =
      one_minus_x_over_one_plus_x(exp_on_negative_values(a < 0 ? a : -a, integer_bits + 1));
  return a < 0 ? -positive : positive;
}

using Fixed32 = Fixed<std::int32_t>;
using Fixed16 = Fixed<std::int16_t>;

}  // namespace

std::int32_t exp_on_negative_values(std::int32_t a, int integer_bits) noexcept {
  return Fixed32::exp_on_negative_values(a, integer_bits);
}

std::int32_t one_over_one_plus_x(std::int32_t a) noexcept {
  return Fixed32::one_over_one_plus_x(a);
}

std::int32_t one_minus_x_over_one_plus_x(std::int32_t a) noexcept {
  return Fixed32::one_minus_x_over_one_plus_x(a);
}

std::int32_t fixed_point_logistic(std::int32_t a, int integer_bits) noexcept {
  return Fixed32::logistic(a, integer_bits);
}

std::int32_t fixed_point_tanh(std::int32_t a, int integer_bits) noexcept {
  return Fixed32::tanh(a, integer_bits);
}

std::int16_t fixed_point_logistic_16(std::int16_t a, int integer_bits) noexcept {
  return static_cast<std::int16_t>(Fixed16::logistic(a, integer_bits));
}

std::int16_t fixed_point_tanh_16(std::int16_t a, int integer_bits) noexcept {
  return static_cast<std::int16_t>(Fixed16::tanh(a, integer_bits));
}

}  // namespace octet
