#include <octet/core/quant/quant_params.h>

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include <octet/core/error.h>
#include <octet/tests/core/quant/quant_testing.h>

namespace octet::test::quant_params_test {
namespace {

QuantSpec unsigned_spec(bool narrow = false, int bits = 8) {
  QuantSpec spec;
  spec.num_bits = bits;
  spec.is_signed = false;
  spec.narrow_range = narrow;
  return spec;
}

QuantSpec signed_spec(bool narrow = false, bool symmetric = false, int bits = 8) {
  QuantSpec spec;
  spec.num_bits = bits;
  spec.narrow_range = narrow;
  spec.symmetric = symmetric;
  return spec;
}

TEST(QuantSpec, Limits) {
  EXPECT_EQ(signed_spec().qmin(), -128);
  EXPECT_EQ(signed_spec().qmax(), 127);
  EXPECT_EQ(signed_spec(true).qmin(), -127);
  EXPECT_EQ(signed_spec(true).qmax(), 127);
  EXPECT_EQ(unsigned_spec().qmin(), 0);
  EXPECT_EQ(unsigned_spec().qmax(), 255);
  EXPECT_EQ(unsigned_spec(true).qmin(), 1);
  EXPECT_EQ(signed_spec(false, false, 2).qmin(), -2);
  EXPECT_EQ(signed_spec(false, false, 2).qmax(), 1);
  EXPECT_EQ(signed_spec(true, false, 16).qmin(), -32767);
  EXPECT_EQ(unsigned_spec(false, 16).qmax(), 65535);
  for (int bits = 2; bits <= 8; ++bits) {
    const QuantSpec top{.num_bits = bits, .top_of_int8 = true};
    EXPECT_EQ(top.qmin(), 128 - (1 << bits));
    EXPECT_EQ(top.qmax(), 127);
  }
}

TEST(QuantSpec, Validate) {
  for (const int bits : {1, 0, -3, 17}) {
    expect_throws<InvalidArgument>([&] { unsigned_spec(false, bits).validate("dense/kernel"); },
                                   {"dense/kernel", "between 2 and 16, inclusive"});
  }
  QuantSpec spec;
  spec.axis = -2;
  expect_throws<InvalidArgument>([&] { spec.validate("w"); }, {"w", "axis", "-2"});
  spec.axis = 3;
  EXPECT_NO_THROW(spec.validate("w"));
  EXPECT_NO_THROW((QuantSpec{.num_bits = 4, .top_of_int8 = true}.validate("w")));
  for (const QuantSpec& wrong :
       {QuantSpec{.is_signed = false, .top_of_int8 = true},
        QuantSpec{.narrow_range = true, .top_of_int8 = true},
        QuantSpec{.symmetric = true, .top_of_int8 = true},
        QuantSpec{.axis = 0, .top_of_int8 = true}, QuantSpec{.num_bits = 9, .top_of_int8 = true}}) {
    expect_throws<InvalidArgument>([&] { wrong.validate("result"); }, {"result", "top of int8"});
  }
}

TEST(ChooseQuantParams, TopOfInt8IsTheUnsignedGridMovedUp) {
  for (int bits = 2; bits <= 8; ++bits) {
    for (const auto& [min, max] : std::vector<std::pair<float, float>>{
             {0.0F, 6.0F}, {-1.5F, 2.0F}, {0.0F, 0.0F}, {0.25F, 3.0F}, {-3.0F, 0.0F}}) {
      const QuantParams plain = choose_quant_params(min, max, unsigned_spec(false, bits), "x");
      const QuantParams top =
          choose_quant_params(min, max, {.num_bits = bits, .top_of_int8 = true}, "x");
      EXPECT_EQ(top.scales, plain.scales);
      EXPECT_EQ(top.zero_point(), plain.zero_point() + 128 - (1 << bits));
      EXPECT_EQ(top.qmin, 128 - (1 << bits));
      EXPECT_EQ(top.qmax, 127);
    }
  }
}

TEST(QuantParams, Validate) {
  EXPECT_NO_THROW(QuantParams::per_tensor(0.5F, 3).validate("x"));
  for (const float scale : {0.0F, -1.0F, kInf, kNan}) {
    expect_throws<InvalidArgument>([&] { QuantParams::per_tensor(scale, 0).validate("acts"); },
                                   {"acts", "scale"});
  }
  expect_throws<InvalidArgument>([] { QuantParams{}.validate("acts"); }, {"acts", "one scale"});
  expect_throws<InvalidArgument>(
      [] {
        QuantParams{.scales = {1.0F, 1.0F}, .zero_points = {0}}.validate("acts");
      },
      {"2 and 1"});
  expect_throws<InvalidArgument>([] { QuantParams::per_tensor(1, 0, 5, 4).validate("acts"); },
                                 {"is above qmax"});
}

struct NaiveChoice {
  double scale;
  std::int32_t zero_point;
};

// Section 7.10, written out again.
NaiveChoice naive_choose(double rmin, double rmax, double qmin, double qmax) {
  NaiveChoice result{};
  result.scale = (rmax - rmin) / (qmax - qmin);
  const double candidate_min = qmin - rmin / result.scale;
  const double candidate_max = qmax - rmax / result.scale;
  const bool first = std::abs(qmin) + std::abs(rmin / result.scale) <
                     std::abs(qmax) + std::abs(rmax / result.scale);
  const double zero = first ? candidate_min : candidate_max;
  result.zero_point = static_cast<std::int32_t>(std::round(std::min(std::max(zero, qmin), qmax)));
  return result;
}

TEST(Choose, ZeroRangeGetsAValidScale) {
  const QuantParams params = choose_quant_params(0.0F, 0.0F, unsigned_spec(), "x");
  EXPECT_EQ(params.scale(), static_cast<float>(1e-6 / 255));
  EXPECT_EQ(params.zero_point(), 127);
  EXPECT_EQ(choose_quant_params(0.0F, 0.0F, signed_spec(), "x").zero_point(), -1);
  const QuantParams weights = choose_quant_params(-0.0F, 0.0F, signed_spec(true, true), "x");
  EXPECT_EQ(weights.scale(), static_cast<float>(1e-6 / 254));
  EXPECT_EQ(weights.zero_point(), 0);
}

TEST(Choose, NarrowRangesAreWidened) {
  // A width just below 1e-6 is still widened, one just above is not.
  const QuantParams at = choose_quant_params(0.0F, 0.99e-6F, unsigned_spec(), "x");
  EXPECT_FLOAT_EQ(at.scale(), 1.49e-6F / 255);
  const QuantParams above = choose_quant_params(0.0F, 1.01e-6F, unsigned_spec(), "x");
  EXPECT_FLOAT_EQ(above.scale(), 1.01e-6F / 255);
  EXPECT_EQ(above.zero_point(), 0);
  // min = max != 0 is thereby extended to zero.
  const QuantParams five = choose_quant_params(5.0F, 5.0F, unsigned_spec(), "x");
  EXPECT_EQ(five.scale(), static_cast<float>((5.0 + 5e-7) / 255));
  EXPECT_EQ(five.zero_point(), 0);
  const QuantParams minus = choose_quant_params(-5.0F, -5.0F, unsigned_spec(), "x");
  EXPECT_EQ(minus.scale(), static_cast<float>((5.0 + 5e-7) / 255));
  EXPECT_EQ(minus.zero_point(), 255);
}

TEST(Choose, OneSidedRangesKeepTheirWidth) {
  const QuantParams positive = choose_quant_params(0.5F, 128.0F, unsigned_spec(), "x");
  EXPECT_EQ(positive.scale(), 0.5F);
  EXPECT_EQ(positive.zero_point(), 0);
  const QuantParams negative = choose_quant_params(-128.0F, -0.5F, signed_spec(), "x");
  EXPECT_EQ(negative.scale(), 0.5F);
  EXPECT_EQ(negative.zero_point(), 127);
  EXPECT_EQ(choose_quant_params(0.5F, 128.0F, unsigned_spec(true), "x").zero_point(), 1);
}

TEST(Choose, SignedCodesAreShiftedUnsignedCodes) {
  PortableRandom random(3);
  for (int i = 0; i < 1000; ++i) {
    const float min = -random.positive(1e-4F, 1e4F);
    const float max = random.positive(1e-4F, 1e4F);
    const bool narrow = i % 2 == 0;
    const int bits = 2 + i % 15;
    const QuantParams u = choose_quant_params(min, max, unsigned_spec(narrow, bits), "x");
    const QuantParams s = choose_quant_params(min, max, signed_spec(narrow, false, bits), "x");
    const std::int32_t middle = std::int32_t{1} << (bits - 1);
    EXPECT_EQ(s.scale(), u.scale());
    EXPECT_EQ(s.zero_point(), u.zero_point() - middle);
    EXPECT_EQ(s.qmin, u.qmin - middle);
    EXPECT_EQ(s.qmax, u.qmax - middle);
    const NaiveChoice naive = naive_choose(min, max, u.qmin, u.qmax);
    EXPECT_EQ(u.scale(), static_cast<float>(naive.scale));
    EXPECT_EQ(u.zero_point(), naive.zero_point);
  }
}

TEST(Choose, Symmetric) {
  const QuantParams narrow = choose_quant_params(-1.0F, 2.54F, signed_spec(true, true), "w");
  EXPECT_EQ(narrow.zero_point(), 0);
  EXPECT_FLOAT_EQ(narrow.scale(), 0.02F);
  EXPECT_EQ(narrow.qmin, -127);
  // The full grid has one code more below: TFMOT's ratio 254/256 makes the scale 1/127 here too.
  const QuantParams full = choose_quant_params(0.0F, 2.54F, signed_spec(false, true), "w");
  EXPECT_EQ(full.zero_point(), 0);
  EXPECT_FLOAT_EQ(full.scale(), 0.02F);
  const QuantParams below = choose_quant_params(-2.56F, 0.0F, signed_spec(false, true), "w");
  EXPECT_FLOAT_EQ(below.scale(), 0.02F);
  QuantSpec unsigned_symmetric = unsigned_spec(true);
  unsigned_symmetric.symmetric = true;
  EXPECT_EQ(choose_quant_params(-1, 1, unsigned_symmetric, "w").zero_point(), 128);
  PortableRandom random(4);
  for (int i = 0; i < 500; ++i) {
    const float min = random.real(-3.0F, 1.0F);
    const float max = min + random.real(0.0F, 4.0F);
    const QuantParams p = choose_quant_params(min, max, signed_spec(i % 2 == 0, true), "w");
    EXPECT_EQ(p.zero_point(), 0);
    EXPECT_GE(p.scale() * 128.0F, std::max(std::fabs(min), std::fabs(max)) * 0.9999F);
  }
}

TEST(Choose, FullStepsOfANarrowRange) {
  QuantSpec spec = unsigned_spec(true);
  const auto expect = [&](float min, float max, double scale, std::int32_t zero_point) {
    const QuantParams got = choose_quant_params(min, max, spec, "x");
    EXPECT_EQ(got.scale(), static_cast<float>(scale));
    EXPECT_EQ(got.zero_point(), zero_point);
  };
  expect(-1000, 1000, 2000.0 / 254, 128);
  spec.narrow_steps = NarrowSteps::full;
  expect(-1000, 1000, 2000.0 / 255, 128);
  // Zero stays a code even if the full range would give it the code that is left out.
  expect(0, 255, 1.0, 1);
  spec.is_signed = true;
  expect(-1000, 1000, 2000.0 / 255, 0);
  expect(0, 255, 1.0, -127);
}

TEST(Choose, HugeRanges) {
  const QuantParams params = choose_quant_params(-3e38F, 3e38F, signed_spec(), "x");
  EXPECT_EQ(params.scale(), static_cast<float>(2.0 * static_cast<double>(3e38F) / 255));
  EXPECT_TRUE(std::isfinite(params.scale()));
  // Code -128 would represent -128 * (2 FLT_MAX / 255) < -FLT_MAX.
  expect_throws<NumericError>(
      [] { (void)choose_quant_params(-kFltMax, kFltMax, signed_spec(), "logits"); },
      {"logits", "too wide"});
  EXPECT_NO_THROW((void)choose_quant_params(-kFltMax, kFltMax, signed_spec(true, false, 2), "x"));
}

TEST(Choose, BadRangesNameTheTensor) {
  const std::vector<std::pair<float, float>> not_finite{{kNan, 1.0F}, {0.0F, kNan},  {-kInf, 0.0F},
                                                        {0.0F, kInf}, {-kInf, kInf}, {kNan, kNan}};
  for (const auto& bad : not_finite) {
    expect_throws<NumericError>(
        [&] { (void)choose_quant_params(bad.first, bad.second, {}, "dense/kernel"); },
        {"dense/kernel", "not finite"});
  }
  expect_throws<NumericError>([] { (void)choose_quant_params(1.0F, 0.0F, {}, "dense/kernel"); },
                              {"dense/kernel", "[1, 0]", "min > max"});
  QuantSpec spec;
  spec.axis = 0;
  const std::vector<float> mins{-1.0F, kNan};
  const std::vector<float> maxs{1.0F, 1.0F};
  expect_throws<NumericError>([&] { (void)choose_quant_params(mins, maxs, spec, "kernel"); },
                              {"kernel, channel 1"});
}

TEST(Choose, PerChannel) {
  QuantSpec spec = signed_spec(true, true);
  spec.axis = 1;
  const std::vector<float> mins{-1.27F, -2.54F, 0.0F};
  const std::vector<float> maxs{1.0F, 2.0F, 0.0F};
  const QuantParams params = choose_quant_params(mins, maxs, spec, "kernel");
  EXPECT_TRUE(params.per_channel());
  EXPECT_EQ(params.quantized_dimension, 1);
  EXPECT_EQ(params.zero_points, (std::vector<std::int32_t>{0, 0, 0}));
  for (std::size_t c = 0; c < 3; ++c) {
    EXPECT_EQ(params.scale(c),
              choose_quant_params(mins[c], maxs[c], signed_spec(true, true), "x").scale());
  }
  EXPECT_THROW((void)params.scale(3), std::out_of_range);
  expect_throws<InvalidArgument>(
      [&] { (void)choose_quant_params(mins, std::vector<float>{1.0F}, spec, "kernel"); },
      {"kernel", "3 and 1"});
  expect_throws<InvalidArgument>(
      [&] { (void)choose_quant_params(std::vector<float>{}, std::vector<float>{}, spec, "k"); },
      {"0 and 0"});
  expect_throws<InvalidArgument>([&] { (void)choose_quant_params(mins, maxs, {}, "kernel"); },
                                 {"expected one min"});
}

TEST(Choose, ScaleIsAlwaysValid) {
  PortableRandom random(5);
  const std::vector<float> ends{0.0F,  1e-45F, 1e-38F, 1e-30F, 4e-7F,
                                5e-7F, 1e-6F,  1.0F,   1e30F,  1e38F};
  for (const float low : ends) {
    for (const float high : ends) {
      for (const int bits : {2, 3, 8, 16}) {
        for (const bool symmetric : {false, true}) {
          const QuantParams p = choose_quant_params(
              -low, high, signed_spec(random.bits() % 2 == 0, symmetric, bits), "x");
          EXPECT_TRUE(std::isnormal(p.scale())) << low << " " << high << " " << bits;
          EXPECT_GE(p.zero_point(), p.qmin);
          EXPECT_LE(p.zero_point(), p.qmax);
        }
      }
    }
  }
}

}  // namespace
}  // namespace octet::test::quant_params_test
