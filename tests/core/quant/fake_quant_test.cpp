#include <octet/core/quant/fake_quant.h>
#include <octet/tests/core/quant/fake_quant_testing.h>
#include <octet/tests/core/quant/tensorflow/reference.h>

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include <octet/core/error.h>
#include <octet/tests/core/quant/quant_testing.h>

namespace octet::test::fake_quant_test {
namespace {

// Sections 1.2 and 1.3, written out again, one element at a time.
struct Naive {
  float scale, inv_scale, min, max, quant_zero;
  Naive(float range_min, float range_max, int bits, bool narrow) {
    const float qmin = narrow ? 1.0F : 0.0F;
    const float qmax = std::ldexp(1.0F, bits) - 1.0F;
    scale = (range_max - range_min) / (qmax - qmin);
    inv_scale = (qmax - qmin) / (range_max - range_min);
    const float zero = qmin - range_min / scale;
    const float nudged = zero < qmin ? qmin : (zero > qmax ? qmax : std::round(zero));
    min = (qmin - nudged) * scale;
    max = (qmax - nudged) * scale;
    quant_zero = std::floor(-min * inv_scale + 0.5F);
  }
  [[nodiscard]] float shifted(float x) const { return std::max(std::min(x, max), min) - min; }
  [[nodiscard]] float multiplied(float x) const {
    return std::floor(shifted(x) * inv_scale - quant_zero + 0.5F) * scale;
  }
  [[nodiscard]] float divided(float x) const {
    return std::floor(shifted(x) / scale - quant_zero + 0.5F) * scale;
  }
  [[nodiscard]] float tflite(float x) const {
    return std::round(shifted(x) * (1.0F / scale)) * scale + min;
  }
};

struct Range {
  float min, max;
};

Range random_range(PortableRandom& random) {
  switch (random.integer(0, 4)) {
    case 0:
      return {0.0F, random.positive(1e-6F, 1e6F)};
    case 1:
      return {-random.positive(1e-6F, 1e6F), 0.0F};
    case 2: {  // excludes zero
      const float low = random.positive(1e-2F, 1e2F);
      return {low, low * random.real(1.5F, 3.0F)};
    }
    default:
      return {-random.positive(1e-3F, 1e3F), random.positive(1e-3F, 1e3F)};
  }
}

std::vector<float> inputs_around(PortableRandom& random, const Naive& naive, std::size_t size) {
  const float width = naive.max - naive.min;
  std::vector<float> x = random.reals(size, naive.min - width / 4, naive.max + width / 4);
  for (std::size_t i = 0; i < size; i += 2) {  // ties, or next to them
    x[i] = (static_cast<float>(random.integer(-40, 40)) + 0.5F) * naive.scale;
  }
  return x;
}

TEST(FakeQuant, AgreesWithNaiveBitForBit) {
  PortableRandom random(80);
  for (std::size_t size = 0; size < 400; ++size) {
    const Range range = random_range(random);
    const int bits = random.integer(2, 16);
    const bool narrow = size % 2 == 1;
    const Naive naive(range.min, range.max, bits, narrow);
    // Some odd sizes, and one of several parallel pieces and a short last one.
    const std::vector<float> x = inputs_around(random, naive, size == 0 ? 70001 : size % 71);
    std::vector<float> args(x.size());
    std::vector<float> vars(x.size());
    std::vector<float> tflite(x.size());
    fake_quant_args(x, range.min, range.max, bits, narrow, args);
    fake_quant_vars(x, range.min, range.max, bits, narrow, vars);
    tflite_fake_quant(x, range.min, range.max, bits, narrow, tflite);
    for (std::size_t i = 0; i < x.size(); ++i) {
      EXPECT_TRUE(same_bits(args[i], naive.multiplied(x[i]))) << x[i] << " " << bits;
      EXPECT_TRUE(same_bits(vars[i], naive.divided(x[i]))) << x[i] << " " << bits;
      EXPECT_EQ(tflite[i], naive.tflite(x[i])) << x[i] << " " << bits;
    }
  }
}

TEST(FakeQuant, PerChannelAgreesWithNaive) {
  PortableRandom random(81);
  for (std::size_t channels = 1; channels < 40; ++channels) {
    const std::size_t rows = channels == 39 ? 5000 : channels % 5;
    const int bits = random.integer(2, 16);
    const bool narrow = channels % 2 == 0;
    std::vector<float> min(channels);
    std::vector<float> max(channels);
    std::vector<Naive> naive;
    for (std::size_t c = 0; c < channels; ++c) {
      const Range range = random_range(random);
      min[c] = range.min;
      max[c] = range.max;
      naive.emplace_back(min[c], max[c], bits, narrow);
    }
    std::vector<float> x;
    for (std::size_t i = 0; i < rows * channels; ++i) {
      x.push_back(inputs_around(random, naive[i % channels], 2)[i % 2]);
    }
    std::vector<float> y(x.size());
    fake_quant_per_channel(x, min, max, bits, narrow, y);
    for (std::size_t i = 0; i < x.size(); ++i) {
      EXPECT_TRUE(same_bits(y[i], naive[i % channels].multiplied(x[i])));
    }
  }
}

// Section 1.3: the quotient is 170.49998 in one form and 170.5 in the other.
TEST(FakeQuant, DividingAndMultiplyingFormsDiffer) {
  std::vector<float> y(1);
  const std::vector<float> two{2.0F};
  fake_quant_vars(two, -6.0F, 6.0F, 8, false, y);
  EXPECT_EQ(y[0], 1.9764706F);
  fake_quant_args(two, -6.0F, 6.0F, 8, false, y);
  EXPECT_EQ(y[0], 2.0235295F);
  fake_quant_per_channel(two, std::vector<float>{-6.0F}, std::vector<float>{6.0F}, 8, false, y);
  EXPECT_EQ(y[0], 2.0235295F);
}

TEST(FakeQuant, HalfStepsRoundUp) {
  // Scale 1, zero point 128: rounds the signed distance from zero.
  const std::vector<float> x{0.5F, 1.5F, 2.5F, -0.5F, -1.5F, -2.5F, 0.0F};
  std::vector<float> y(x.size());
  const std::vector<float> want{1.0F, 2.0F, 3.0F, 0.0F, -1.0F, -2.0F, 0.0F};
  fake_quant_args(x, -128.0F, 127.0F, 8, false, y);
  EXPECT_EQ(y, want);
  fake_quant_vars(x, -128.0F, 127.0F, 8, false, y);
  EXPECT_EQ(y, want);
  tflite_fake_quant(x, -128.0F, 127.0F, 8, false, y);  // away from the minimum
  EXPECT_EQ(y, want);
}

TEST(FakeQuant, InvScaleIsASeparateDivision) {
  const NudgedRange range = nudge(-0.7F, 1.3F, 8, false, "x");
  EXPECT_EQ(range.inv_scale, 255.0F / 2.0F);
  int differ = 0;
  PortableRandom random(82);
  for (int i = 0; i < 1000; ++i) {
    const float min = -random.positive(1e-3F, 1e3F);
    const float max = random.positive(1e-3F, 1e3F);
    const NudgedRange r = nudge(min, max, 8, false, "x");
    EXPECT_EQ(r.inv_scale, 255.0F / (max - min));
    differ += r.inv_scale != 1.0F / r.scale ? 1 : 0;
  }
  EXPECT_GT(differ, 0);
}

TEST(FakeQuant, OneSidedRangesShift) {
  const NudgedRange positive = nudge(0.5F, 128.0F, 8, false, "x");
  EXPECT_EQ(positive.min, 0.0F);
  EXPECT_EQ(positive.max, 127.5F);
  EXPECT_EQ(positive.zero_point, 0);
  const NudgedRange negative = nudge(-128.0F, -0.5F, 8, false, "x");
  EXPECT_EQ(negative.min, -127.5F);
  EXPECT_EQ(negative.max, 0.0F);
  EXPECT_EQ(negative.zero_point, 255);
  EXPECT_EQ(nudge(0.5F, 127.5F, 8, true, "x").zero_point, 1);
}

TEST(FakeQuant, ZeroRangeGivesZeros) {
  const std::vector<float> x{-1.0F, 0.0F, 2.0F, kInf, -kInf};
  const std::vector<float> zeros(5, 0.0F);
  std::vector<float> y(5, 9.0F);
  fake_quant_vars(x, 0.0F, 0.0F, 8, false, y);
  EXPECT_EQ(y, zeros);
  y.assign(5, 9.0F);
  fake_quant_vars(x, -0.0F, 0.0F, 8, true, y);
  EXPECT_EQ(y, zeros);
  y.assign(5, 9.0F);
  tflite_fake_quant(x, 0.0F, 0.0F, 8, false, y);
  EXPECT_EQ(y, zeros);
  std::vector<float> rows{1.0F, 1.0F, -5.0F, -0.5F};
  fake_quant_per_channel(rows, std::vector<float>{0.0F, -1.0F}, std::vector<float>{0.0F, 1.0F}, 8,
                         true, rows);
  EXPECT_EQ(rows, (std::vector<float>{0.0F, 1.0F, 0.0F, -63.0F / 127.0F}));
  // A range whose scale is below the normal float32 counts as zero too.
  for (const float tiny : {1e-45F, 1e-40F, 2.9e-36F}) {
    EXPECT_TRUE(nudge(0.0F, tiny, 8, false, "x").is_zero) << tiny;
    fake_quant_args(x, -tiny, 0.0F, 8, false, y);
    EXPECT_EQ(y, zeros);
  }
  EXPECT_FALSE(nudge(0.0F, 1e-35F, 8, false, "x").is_zero);
}

TEST(FakeQuant, SpecialInputs) {
  const std::vector<float> x{kInf, -kInf, kNan, kFltMax, -kFltMax};
  for (const auto& run : {fake_quant_args, fake_quant_vars, tflite_fake_quant}) {
    std::vector<float> y(5);
    run(x, -1.0F, 1.55F, 8, false, y, "x");
    const NudgedRange r = nudge(-1.0F, 1.55F, 8, false, "x");
    EXPECT_FLOAT_EQ(y[0], r.max);
    EXPECT_FLOAT_EQ(y[1], r.min);
    EXPECT_TRUE(std::isnan(y[2]));
    EXPECT_EQ(y[3], y[0]);
    EXPECT_EQ(y[4], y[1]);
  }
}

TEST(FakeQuant, WorksInPlace) {
  PortableRandom random(83);
  const std::vector<float> x = random.reals(67, -8.0F, 8.0F);
  std::vector<float> apart(67);
  std::vector<float> in_place = x;
  const NudgedRange range = nudge(-6.0F, 6.0F, 8, false, "x");
  fake_quant_divide(x, range, apart);
  fake_quant_divide(in_place, range, in_place);
  EXPECT_EQ(apart, in_place);
}

using RunOnRange = std::function<void(float, float, int)>;

TEST(FakeQuant, BadRangesNameTheTensor) {
  const std::vector<float> x{1.0F};
  std::vector<float> y(1);
  const std::vector<RunOnRange> runs{
      [&](float a, float b, int bits) { fake_quant_args(x, a, b, bits, false, y, "acts"); },
      [&](float a, float b, int bits) { fake_quant_vars(x, a, b, bits, false, y, "acts"); },
      [&](float a, float b, int bits) { tflite_fake_quant(x, a, b, bits, false, y, "acts"); },
      [&](float a, float b, int bits) {
        fake_quant_per_channel(x, {&a, 1}, {&b, 1}, bits, false, y, "acts");
      }};
  for (const RunOnRange& run : runs) {
    for (const Range& bad : {Range{kNan, 1}, Range{0, kNan}, Range{-kInf, 1}, Range{-1, kInf}}) {
      expect_throws<NumericError>([&] { run(bad.min, bad.max, 8); }, {"acts", "not finite"});
    }
    expect_throws<NumericError>([&] { run(-3e38F, 3e38F, 8); }, {"acts", "too wide"});
    expect_throws<NumericError>([&] { run(-kFltMax, 0.0F, 5); }, {"acts", "too wide"});
    expect_throws<InvalidArgument>([&] { run(2.0F, 1.0F, 8); }, {"acts"});
    expect_throws<InvalidArgument>([&] { run(1.0F, 1.0F, 8); }, {"acts"});
    for (const int bits : {1, 17}) {
      expect_throws<InvalidArgument>([&] { run(-1.0F, 1.0F, bits); },
                                     {"num_bits must be between 2 and 16, inclusive"});
    }
  }
  expect_throws<InvalidArgument>([&] { runs[0](0.0F, 0.0F, 8); },
                                 {"min has to be smaller than max, was: 0 >= 0"});
  expect_throws<InvalidArgument>([&] { runs[1](2.0F, 1.0F, 8); }, {"min > max"});
  expect_throws<InvalidArgument>([&] { runs[1](1.0F, 1.0F, 8); }, {"no width"});
  expect_throws<InvalidArgument>([&] { runs[3](2.0F, 1.0F, 8); }, {"acts, channel 0"});
}

TEST(FakeQuant, SizesAreChecked) {
  std::vector<float> x(6);
  std::vector<float> y(5);
  const std::vector<float> zeros(4);
  const auto nudged = [](std::span<const float> min, std::span<const float> max) {
    return nudge_per_channel(min, max, 8, false, "x");
  };
  expect_throws<InvalidArgument>([&] { fake_quant_divide(x, nudge(-1, 1, 8, false, "x"), y); },
                                 {"6", "5"});
  expect_throws<InvalidArgument>([&] { tflite_fake_quant(x, -1, 1, 8, false, y); }, {"6", "5"});
  expect_throws<InvalidArgument>([&] { fake_quant_multiply(x, nudged(zeros, zeros), x); },
                                 {"6", "4 channels"});
  expect_throws<InvalidArgument>([&] { fake_quant_multiply(x, nudged({}, {}), x); },
                                 {"0 channels"});
  expect_throws<InvalidArgument>([&] { (void)nudged(zeros, x); },
                                 {"max has incorrect size, expected 4 was 6"});
}

using Shape = std::vector<std::int64_t>;

TEST(FakeQuant, ShapeChecks) {
  EXPECT_NO_THROW(check_fake_quant_vars_shapes({}, {}, "x"));
  expect_throws<InvalidArgument>(
      [] {
        check_fake_quant_vars_shapes(Shape{1, 1}, {}, "x");
      },
      {"`min` must be rank 0 but is rank 2"});
  expect_throws<InvalidArgument>([] { check_fake_quant_vars_shapes({}, Shape{1}, "x"); },
                                 {"`max` must be rank 0 but is rank 1"});
  const Shape in{3, 4};
  EXPECT_NO_THROW(check_fake_quant_per_channel_shapes(in, Shape{4}, Shape{4}, "x"));
  const auto check = [&](const Shape& min, const Shape& max) {
    return [&in, min, max] { check_fake_quant_per_channel_shapes(in, min, max, "x"); };
  };
  expect_throws<InvalidArgument>(check({}, {4}), {"`min` must be rank 1 but is rank 0"});
  expect_throws<InvalidArgument>(check({4}, {4, 1}), {"`max` must be rank 1 but is rank 2"});
  expect_throws<InvalidArgument>(check({3}, {4}), {"min has incorrect size, expected 4 was 3"});
  expect_throws<InvalidArgument>(check({4}, {5}), {"max has incorrect size, expected 4 was 5"});
  expect_throws<InvalidArgument>(
      [] { check_fake_quant_per_channel_shapes({}, Shape{1}, Shape{1}, "x"); }, {"rank 1"});
}

}  // namespace
}  // namespace octet::test::fake_quant_test
