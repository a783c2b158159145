#include <octet/core/quant/fixed_point.h>

#include <cmath>

#include <gtest/gtest.h>

#include <octet/core/error.h>
#include <octet/core/quant/fixed_point_math.h>
#include <octet/tests/core/quant/quant_testing.h>

namespace octet::test::fixed_point_test {
namespace {

const std::vector<std::int32_t> kEdges{
    kInt32Min, kInt32Min + 1, -(1 << 30) - 1, -(1 << 30),    -3,       -2, -1, 0, 1, 2,
    3,         1 << 30,       (1 << 30) + 1,  kInt32Max - 1, kInt32Max};

std::vector<std::int32_t> some_integers(PortableRandom& random, std::size_t size) {
  std::vector<std::int32_t> result = kEdges;
  for (std::size_t i = 0; i < size; ++i) {
    result.push_back(random.integer(kInt32Min, kInt32Max) >> random.integer(0, 30));
  }
  return result;
}

// Section 6.2 to the letter, with division towards zero.
std::int32_t literal_high_mul(std::int32_t a, std::int32_t b) {
  if (a == kInt32Min && b == kInt32Min) {
    return kInt32Max;
  }
  const std::int64_t ab = std::int64_t{a} * b;
  const std::int64_t nudge = ab >= 0 ? (1LL << 30) : 1 - (1LL << 30);
  return static_cast<std::int32_t>((ab + nudge) / (1LL << 31));
}

std::int32_t literal_divide(std::int32_t x, int exponent) {
  return static_cast<std::int32_t>(std::round(std::ldexp(static_cast<double>(x), -exponent)));
}

TEST(FixedPoint, HighMul) {
  EXPECT_EQ(saturating_rounding_doubling_high_mul(kInt32Min, kInt32Min), kInt32Max);
  EXPECT_EQ(saturating_rounding_doubling_high_mul(1 << 30, 1), 1);     // +1/2 up
  EXPECT_EQ(saturating_rounding_doubling_high_mul(-(1 << 30), 1), 0);  // -1/2 up
  PortableRandom random(110);
  for (const std::int32_t a : some_integers(random, 300)) {
    for (const std::int32_t b : some_integers(random, 60)) {
      EXPECT_EQ(saturating_rounding_doubling_high_mul(a, b), literal_high_mul(a, b))
          << a << " " << b;
    }
  }
}

TEST(FixedPoint, RoundingDivide) {
  EXPECT_EQ(rounding_divide_by_pot(-1, 1), -1);
  EXPECT_EQ(rounding_divide_by_pot(1, 1), 1);
  EXPECT_EQ(rounding_divide_by_pot(kInt32Min, 32), -1);
  EXPECT_EQ(rounding_divide_by_pot(kInt32Max, 32), 0);
  EXPECT_EQ(rounding_divide_by_pot(kInt32Min, 62), 0);
  PortableRandom random(111);
  for (const std::int32_t x : some_integers(random, 500)) {
    for (int exponent = 0; exponent <= 62; ++exponent) {
      EXPECT_EQ(rounding_divide_by_pot(x, exponent), literal_divide(x, exponent))
          << x << " " << exponent;
    }
  }
}

TEST(FixedPoint, LeftShiftSaturates) {
  EXPECT_EQ(saturating_left_shift(1, 30), 1 << 30);
  EXPECT_EQ(saturating_left_shift(1, 31), kInt32Max);
  EXPECT_EQ(saturating_left_shift(-1, 31), kInt32Min);
  EXPECT_EQ(saturating_left_shift(-1, 1000), kInt32Min);
  EXPECT_EQ(saturating_left_shift(0, 1000), 0);
  EXPECT_EQ(saturating_left_shift(kInt32Max, 0), kInt32Max);
}

TEST(QuantizeMultiplier, IsTheNearest) {
  PortableRandom random(112);
  for (int i = 0; i < 2000; ++i) {
    const double factor = std::ldexp(1.0 + random.bits() / 4294967296.0, random.integer(-31, 29));
    const QuantizedMultiplier m = quantize_multiplier(factor);
    EXPECT_GE(m.multiplier, 1 << 30);
    const double back = std::ldexp(static_cast<double>(m.multiplier), m.shift - 31);
    EXPECT_LE(std::fabs(back - factor), std::ldexp(0.5, m.shift - 31));
    EXPECT_EQ(quantize_multiplier(factor, Rounding::single_rounding), m);
    EXPECT_EQ(quantize_multiplier(-factor), (QuantizedMultiplier{-m.multiplier, m.shift}));
  }
}

TEST(QuantizeMultiplier, Limits) {
  EXPECT_EQ(quantize_multiplier(1.0 - 1e-15), (QuantizedMultiplier{1 << 30, 1}));
  EXPECT_EQ(quantize_multiplier(std::ldexp(1.0, -32)), (QuantizedMultiplier{1 << 30, -31}));
  EXPECT_EQ(quantize_multiplier(std::ldexp(1.0, -33)), (QuantizedMultiplier{0, 0}));
  EXPECT_EQ(quantize_multiplier(5e-324), (QuantizedMultiplier{0, 0}));
  // A half of the last bit rounds away from zero.
  EXPECT_EQ(quantize_multiplier(std::ldexp((1 << 30) + 0.5, -31)).multiplier, (1 << 30) + 1);
  EXPECT_EQ(quantize_multiplier(std::ldexp(1.0, 29)).shift, 30);
  EXPECT_EQ(quantize_multiplier(std::ldexp(1.0, 29), Rounding::single_rounding).shift, 30);
  EXPECT_EQ(quantize_multiplier(std::ldexp(1.0, 30)), (QuantizedMultiplier{1 << 30, 31}));
  EXPECT_EQ(quantize_multiplier(std::ldexp(1.0, 30), Rounding::single_rounding),
            (QuantizedMultiplier{kInt32Max, 30}));
  EXPECT_EQ(quantize_multiplier(1e300).shift, 997);
}

TEST(QuantizeMultiplier, Errors) {
  for (const double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    expect_throws<NumericError>([&] { (void)quantize_multiplier(bad); }, {"not finite"});
  }
  expect_throws<InvalidArgument>([] { (void)quantize_multiplier(-1.0, Rounding::single_rounding); },
                                 {"-1"});
  expect_throws<InvalidArgument>([] { (void)quantize_multiplier(0.5, Rounding::fp32); }, {"fp32"});
  for (const double bad : {0.0, -0.5, 1.0, 2.0, 1.0 - 1e-15, std::nan("")}) {
    expect_throws<InvalidArgument>([&] { (void)quantize_multiplier_smaller_than_one_exp(bad); },
                                   {"check failure"});
  }
  for (const double bad : {1.0, 0.5, -2.0, std::nan("")}) {
    expect_throws<InvalidArgument>([&] { (void)quantize_multiplier_greater_than_one(bad); },
                                   {"check failure"});
  }
}

TEST(Multiply, AgreesWithTheFormulas) {
  PortableRandom random(113);
  for (int i = 0; i < 200; ++i) {
    const QuantizedMultiplier m{random.integer(1 << 30, kInt32Max), random.integer(-31, 30)};
    for (const std::int32_t x : some_integers(random, 60)) {
      const double shifted = std::ldexp(static_cast<double>(x), std::max(m.shift, 0));
      const double limited = std::min(std::max(shifted, double{kInt32Min}), double{kInt32Max});
      EXPECT_EQ(multiply_by_quantized_multiplier_double(x, m),
                literal_divide(literal_high_mul(static_cast<std::int32_t>(limited), m.multiplier),
                               std::max(-m.shift, 0)));
      // x * m + half in 80 bits is exact.
      const long double sum =
          static_cast<long double>(x) * m.multiplier + std::ldexp(1.0L, 30 - m.shift);
      const long double want = std::floor(std::ldexp(sum, m.shift - 31));
      EXPECT_EQ(
          multiply_by_quantized_multiplier_single(x, m),
          static_cast<std::int32_t>(std::min(std::max(want, static_cast<long double>(kInt32Min)),
                                             static_cast<long double>(kInt32Max))));
    }
  }
}

TEST(Multiply, SingleAndDoubleDifferNearTies) {
  const QuantizedMultiplier eighth{1 << 30, -2};                     // 1/8
  EXPECT_EQ(multiply_by_quantized_multiplier_double(3, eighth), 1);  // 1.5 -> 2, 2/4 -> 1
  EXPECT_EQ(multiply_by_quantized_multiplier_single(3, eighth), 0);  // 0.375 -> 0
  EXPECT_EQ(multiply_by_quantized_multiplier(3, eighth, Rounding::double_rounding), 1);
  EXPECT_EQ(multiply_by_quantized_multiplier(3, eighth, Rounding::single_rounding), 0);
  // Ties: single goes up, double away from zero.
  const QuantizedMultiplier half{1 << 30, 0};
  EXPECT_EQ(multiply_by_quantized_multiplier_single(-1, half), 0);
  EXPECT_EQ(multiply_by_quantized_multiplier_double(-1, half), 0);
  const QuantizedMultiplier quarter{1 << 30, -1};
  EXPECT_EQ(multiply_by_quantized_multiplier_single(-2, quarter), 0);
  EXPECT_EQ(multiply_by_quantized_multiplier_double(-2, quarter), -1);
}

TEST(Multiply, SixtyFourBits) {
  PortableRandom random(114);
  for (int i = 0; i < 3000; ++i) {
    const QuantizedMultiplier m{random.integer(1 << 30, kInt32Max), random.integer(-31, 7)};
    const std::int64_t x = ((std::int64_t{random.integer(-32768, 32767)} << 32) + random.bits()) >>
                           random.integer(0, 40);
    const std::int64_t reduced =
        m.multiplier < 0x7FFF0000 ? (std::int64_t{m.multiplier} + 32768) / 65536 : 32767;
    const long double sum = static_cast<long double>(x) * reduced + std::ldexp(1.0L, 14 - m.shift);
    const long double want = std::floor(std::ldexp(sum, m.shift - 15));
    EXPECT_EQ(
        multiply_by_quantized_multiplier_64(x, m),
        static_cast<std::int32_t>(std::min(std::max(want, static_cast<long double>(kInt32Min)),
                                           static_cast<long double>(kInt32Max))));
  }
}

TEST(FixedPointMath, Exp) {
  PortableRandom random(115);
  for (int bits = 0; bits <= 12; ++bits) {
    EXPECT_EQ(exp_on_negative_values(0, bits), kInt32Max);
    for (int i = 0; i < 500; ++i) {
      const std::int32_t a = random.integer(kInt32Min, 0) >> random.integer(0, 30);
      const double want = std::ldexp(std::exp(std::ldexp(static_cast<double>(a), bits - 31)), 31);
      EXPECT_NEAR(exp_on_negative_values(a, bits), want, 500.0) << a << " Q" << bits;
    }
    EXPECT_GE(exp_on_negative_values(kInt32Min, bits), 0);
  }
  EXPECT_EQ(exp_on_negative_values(kInt32Min, 6), 0);
  // The factors of the larger powers, which a tolerance of 500 does not see.
  EXPECT_EQ(exp_on_negative_values(-(65 << 24), 5), 188);              // exp(-16.25)
  EXPECT_NEAR(exp_on_negative_values(-(33 << 24), 5), 561048.5, 2.0);  // exp(-8.25)
}

TEST(FixedPointMath, OneOverOnePlusX) {
  PortableRandom random(116);
  for (int i = 0; i < 2000; ++i) {
    const std::int32_t a = random.integer(0, kInt32Max) >> random.integer(0, 30);
    const double want = std::ldexp(1.0 / (1.0 + std::ldexp(static_cast<double>(a), -31)), 31);
    EXPECT_NEAR(one_over_one_plus_x(a), want, 8.0) << a;
  }
}

}  // namespace
}  // namespace octet::test::fixed_point_test
