#include <octet/core/quant/round.h>

#include <cmath>

#include <gtest/gtest.h>

#include <octet/tests/core/quant/quant_testing.h>

namespace octet::test::round_test {
namespace {

TEST(Round, Ties) {
  struct Case {
    float x, even, away;
  };
  for (const Case& c : {Case{0.5F, 0, 1}, Case{1.5F, 2, 2}, Case{2.5F, 2, 3}, Case{-0.5F, 0, -1},
                        Case{-1.5F, -2, -2}, Case{-2.5F, -2, -3}, Case{0.25F, 0, 0},
                        Case{-0.75F, -1, -1}, Case{7.0F, 7, 7}}) {
    EXPECT_EQ(round_half_even(c.x), c.even) << c.x;
    EXPECT_EQ(round_half_away(c.x), c.away) << c.x;
    EXPECT_EQ(round_half_even(double{c.x}), double{c.even}) << c.x;
    EXPECT_EQ(round_half_away(double{c.x}), double{c.away}) << c.x;
    EXPECT_EQ(round_by(RoundMode::half_to_even, c.x), c.even);
    EXPECT_EQ(round_by(RoundMode::half_away, c.x), c.away);
  }
}

TEST(Round, TheLargestFloatBelowAHalfRoundsToZero) {
  EXPECT_EQ(round_half_away(std::nextafter(0.5F, 0.0F)), 0.0F);
}

void expect_small_agrees(float x) {
  EXPECT_EQ(small::round_half_even(x), std::rint(x)) << x;
  EXPECT_EQ(small::round_half_away(x), std::round(x)) << x;
  EXPECT_EQ(small::floor(x), std::floor(x)) << x;
}

TEST(Round, SmallFormsAgree) {
  for (int i = -70000; i <= 70000; ++i) {
    const float half = static_cast<float>(i) * 0.5F;
    expect_small_agrees(half);
    expect_small_agrees(std::nextafter(half, kInf));
    expect_small_agrees(std::nextafter(half, -kInf));
  }
  PortableRandom random(1);
  for (int i = 0; i < 100000; ++i) {
    expect_small_agrees(random.real(-4194000.0F, 4194000.0F));
    expect_small_agrees(random.real(-1.0F, 1.0F));
  }
  EXPECT_TRUE(std::isnan(small::round_half_even(kNan)));
  EXPECT_TRUE(std::isnan(small::round_half_away(kNan)));
  EXPECT_TRUE(std::isnan(small::floor(kNan)));
}

TEST(ClampTo, ClampsBeforeCasting) {
  EXPECT_EQ(clamp_to<std::int8_t>(1e30F), 127);
  EXPECT_EQ(clamp_to<std::int8_t>(-1e30F), -128);
  EXPECT_EQ(clamp_to<std::int8_t>(kInf, -127, 100), 100);
  EXPECT_EQ(clamp_to<std::int8_t>(-kInf, -127, 100), -127);
  EXPECT_EQ(clamp_to<std::int8_t>(kNan, -127, 100), -127);
  EXPECT_EQ(clamp_to<std::uint8_t>(-1.0F), 0);
  EXPECT_EQ(clamp_to<std::int32_t>(2147483648.0F), kInt32Max);
  EXPECT_EQ(clamp_to<std::int32_t>(2147483646.0), 2147483646);
  EXPECT_EQ(clamp_to<std::int32_t>(-2147483649.0), kInt32Min);
  EXPECT_EQ(clamp_to<std::int32_t>(-5.0), -5);
  EXPECT_EQ(clamp_to<std::uint32_t>(4294967295.0), 4294967295U);
}

TEST(InRange, IncludesBothEnds) {
  EXPECT_TRUE(in_range(1.0F, 1.0F, 2.0F));
  EXPECT_TRUE(in_range(2.0F, 1.0F, 2.0F));
  EXPECT_FALSE(in_range(std::nextafter(2.0F, 3.0F), 1.0F, 2.0F));
  EXPECT_FALSE(in_range(std::nextafter(1.0F, 0.0F), 1.0F, 2.0F));
  EXPECT_FALSE(in_range(kNan, 1.0F, 2.0F));
}

}  // namespace
}  // namespace octet::test::round_test
