#include <cmath>

#include <gtest/gtest.h>

#include <octet/core/error.h>
#include <octet/core/quant/fake_quant.h>
#include <octet/tests/core/quant/quant_testing.h>

namespace octet::test::fake_quant_grad_test {
namespace {

// Whole numbers, whose sum does not depend on the order.
std::vector<float> whole_numbers(PortableRandom& random, std::size_t size) {
  std::vector<float> g(size);
  for (float& x : g) {
    x = static_cast<float>(random.integer(-9, 9));
  }
  return g;
}

struct NaiveGradient {
  std::vector<float> input;
  double min = 0.0;
  double max = 0.0;
};

// Section 1.5.
NaiveGradient naive(const std::vector<float>& g, const std::vector<float>& x, float min,
                    float max) {
  NaiveGradient result;
  for (std::size_t i = 0; i < x.size(); ++i) {
    result.input.push_back(min <= x[i] && x[i] <= max ? g[i] : 0.0F);
    result.min += x[i] < min ? double{g[i]} : 0.0;
    result.max += x[i] > max ? double{g[i]} : 0.0;
  }
  return result;
}

TEST(FakeQuantGrad, AgreesWithNaive) {
  PortableRandom random(90);
  for (const std::size_t size :
       {0U, 1U, 2U, 3U, 15U, 16U, 17U, 31U, 33U, 1000U, 1023U, 1024U, 1025U, 5000U}) {
    for (const bool narrow : {false, true}) {
      const int bits = random.integer(2, 16);
      const float min = -random.positive(0.1F, 10.0F);
      const float max = random.positive(0.1F, 10.0F);
      const NudgedRange range = nudge(min, max, bits, narrow, "x");
      std::vector<float> x = random.reals(size, min * 1.5F, max * 1.5F);
      for (std::size_t i = 0; i + 1 < size; i += 7) {
        x[i] = i % 2 == 0 ? range.min : range.max;
        x[i + 1] = i % 2 == 0 ? std::nextafter(range.min, -kInf) : std::nextafter(range.max, kInf);
      }
      const std::vector<float> g = whole_numbers(random, size);
      const NaiveGradient want = naive(g, x, range.min, range.max);
      std::vector<float> d(size, 9.0F);
      const RangeGradient sums = fake_quant_vars_grad(g, x, min, max, bits, narrow, d);
      EXPECT_EQ(d, want.input);
      EXPECT_EQ(sums.d_min, static_cast<float>(want.min));
      EXPECT_EQ(sums.d_max, static_cast<float>(want.max));
      std::vector<float> args(size, 9.0F);
      fake_quant_mask(g, x, range, args);
      EXPECT_EQ(args, want.input);
    }
  }
}

TEST(FakeQuantGrad, PerChannelAgreesWithNaive) {
  PortableRandom random(91);
  for (std::size_t channels = 1; channels < 24; ++channels) {
    const std::size_t rows = channels % 6;
    std::vector<float> min(channels);
    std::vector<float> max(channels);
    for (std::size_t c = 0; c < channels; ++c) {
      min[c] = -random.positive(0.1F, 10.0F);
      max[c] = random.positive(0.1F, 10.0F);
    }
    const std::vector<float> x = random.reals(rows * channels, -8.0F, 8.0F);
    const std::vector<float> g = whole_numbers(random, x.size());
    std::vector<float> d(x.size());
    std::vector<float> d_min(channels, 9.0F);
    std::vector<float> d_max(channels, 9.0F);
    fake_quant_per_channel_grad(g, x, min, max, 8, false, d, d_min, d_max);
    for (std::size_t c = 0; c < channels; ++c) {
      std::vector<float> column_x;
      std::vector<float> column_g;
      std::vector<float> column_d;
      for (std::size_t row = 0; row < rows; ++row) {
        column_x.push_back(x[row * channels + c]);
        column_g.push_back(g[row * channels + c]);
        column_d.push_back(d[row * channels + c]);
      }
      const NudgedRange range = nudge(min[c], max[c], 8, false, "x");
      const NaiveGradient want = naive(column_g, column_x, range.min, range.max);
      EXPECT_EQ(column_d, want.input);
      EXPECT_EQ(d_min[c], static_cast<float>(want.min));
      EXPECT_EQ(d_max[c], static_cast<float>(want.max));
    }
  }
}

TEST(FakeQuantGrad, ZeroRangePassesEverything) {
  const std::vector<float> x{-1.0F, 0.0F, 1.0F, kInf};
  const std::vector<float> g{1.0F, 2.0F, 3.0F, 4.0F};
  std::vector<float> d(4);
  const RangeGradient sums = fake_quant_vars_grad(g, x, 0.0F, 0.0F, 8, false, d);
  EXPECT_EQ(d, g);
  EXPECT_EQ(sums.d_min, 0.0F);
  EXPECT_EQ(sums.d_max, 0.0F);
  // The second channel has a range.
  std::vector<float> d_min(2);
  std::vector<float> d_max(2);
  fake_quant_per_channel_grad(g, x, std::vector<float>{0.0F, -1.0F}, std::vector<float>{0.0F, 1.0F},
                              8, false, d, d_min, d_max);
  EXPECT_EQ(d, (std::vector<float>{1.0F, 2.0F, 3.0F, 0.0F}));
  EXPECT_EQ(d_min, (std::vector<float>{0.0F, 0.0F}));
  EXPECT_EQ(d_max, (std::vector<float>{0.0F, 4.0F}));
}

TEST(FakeQuantGrad, SpecialInputs) {
  const std::vector<float> x{kNan, kInf, -kInf};
  const std::vector<float> g{1.0F, 2.0F, 4.0F};
  std::vector<float> d(3, 9.0F);
  const RangeGradient sums = fake_quant_vars_grad(g, x, -1.0F, 1.0F, 8, false, d);
  EXPECT_EQ(d, (std::vector<float>{0.0F, 0.0F, 0.0F}));
  EXPECT_EQ(sums.d_max, 2.0F);
  EXPECT_EQ(sums.d_min, 4.0F);
}

// Section 1.5: the nudged maximum may be below `max`: that element then gets no gradient.
TEST(FakeQuantGrad, TheLargestWeightMayGetNoGradient) {
  PortableRandom random(92);
  int without = 0;
  for (int i = 0; i < 500; ++i) {
    const float max = random.positive(0.01F, 10.0F);
    const NudgedRange range = nudge(-max, max, 4, true, "x");
    std::vector<float> d(1);
    const std::vector<float> one{1.0F};
    fake_quant_mask(one, std::vector<float>{max}, range, d);
    EXPECT_EQ(d[0], max <= range.max ? 1.0F : 0.0F);
    EXPECT_NEAR(range.max, max, max * 1e-6F);
    without += d[0] == 0.0F ? 1 : 0;
  }
  EXPECT_GT(without, 0);
}

TEST(FakeQuantGrad, WorksInPlaceAndRepeats) {
  PortableRandom random(93);
  const std::vector<float> x = random.reals(5000, -2.0F, 2.0F);
  const std::vector<float> g = random.reals(5000, -1.0F, 1.0F);
  std::vector<float> apart(5000);
  std::vector<float> in_place = g;
  const RangeGradient a = fake_quant_vars_grad(g, x, -1, 1, 8, false, apart);
  const RangeGradient b = fake_quant_vars_grad(in_place, x, -1, 1, 8, false, in_place);
  EXPECT_EQ(apart, in_place);
  EXPECT_EQ(a.d_min, b.d_min);
  EXPECT_EQ(a.d_max, b.d_max);
  const NaiveGradient want = naive(g, x, nudge(-1, 1, 8, false, "x").min, 1e30F);
  EXPECT_NEAR(a.d_min, want.min, 1e-4);
}

TEST(FakeQuantGrad, Errors) {
  const std::vector<float> x(4);
  const std::vector<float> g(3);
  std::vector<float> d(4);
  expect_throws<InvalidArgument>([&] { fake_quant_vars_grad(g, x, -1, 1, 8, false, d); },
                                 {"gradient and input must be the same size"});
  expect_throws<InvalidArgument>(
      [&] { fake_quant_mask(x, x, nudge(-1, 1, 8, false, "x"), std::span(d).first(2)); },
      {"room for 2"});
  expect_throws<NumericError>(
      [&] { fake_quant_vars_grad(x, x, kNan, 1, 8, false, d, "dense/kernel"); }, {"dense/kernel"});
  const std::vector<float> low{-1.0F, -1.0F};
  const std::vector<float> high{1.0F, 1.0F};
  std::vector<float> two(2);
  expect_throws<InvalidArgument>(
      [&] { fake_quant_per_channel_grad(x, x, low, high, 8, false, d, two, d); },
      {"2 channels", "4 max"});
  expect_throws<InvalidArgument>(
      [&] {
        fake_quant_per_channel_grad(g, g, low, high, 8, false, std::span(d).first(3), two, two);
      },
      {"3 elements", "2 channels"});
}

}  // namespace
}  // namespace octet::test::fake_quant_grad_test
