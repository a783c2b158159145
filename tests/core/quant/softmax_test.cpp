#include <octet/core/quant/softmax.h>

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include <octet/core/error.h>
#include <octet/core/quant/fixed_point_math.h>
#include <octet/tests/core/quant/quant_testing.h>

namespace octet::test::softmax_test {
namespace {

using Codes = std::vector<std::int8_t>;

constexpr auto kContracts = {Rounding::fp32, Rounding::single_rounding, Rounding::double_rounding};

// Section 7.8 A.
Codes naive_float(const Codes& x, float scale, float beta) {
  const int max = *std::max_element(x.begin(), x.end());
  const auto e = [&](int code) {
    const float exponent = -scale * beta * static_cast<float>(max - code);
    return static_cast<float>(std::exp(double{exponent}));
  };
  float sum = 0.0F;
  for (const int code : x) {
    sum += e(code);
  }
  const float inverse = 1.0F / (sum * (1.0F / 256.0F));
  Codes y;
  for (const int code : x) {
    const float steps = std::round(e(code) * inverse);
    y.push_back(static_cast<std::int8_t>(std::min(steps - 128.0F, 127.0F)));
  }
  return y;
}

// Section 7.8 B, with exp computed for each code.
Codes naive_fixed(const Codes& x, float scale, float beta, double limit) {
  const double real = std::min(double{beta} * double{scale} * 67108864.0, limit);
  const QuantizedMultiplier m = quantize_multiplier(real);
  const double diff_min = -std::floor(31.0 * 67108864.0 / std::ldexp(1.0, m.shift));
  const int max = *std::max_element(x.begin(), x.end());
  std::int64_t sum = 0;
  std::vector<std::int32_t> exps;
  for (const int code : x) {
    const int d = code - max;
    if (d < diff_min) {
      exps.push_back(-1);
      continue;
    }
    const std::int64_t shifted = std::int64_t{d} * (std::int64_t{1} << m.shift);
    const std::int32_t z =
        saturating_rounding_doubling_high_mul(static_cast<std::int32_t>(shifted), m.multiplier);
    exps.push_back(exp_on_negative_values(z, 5));
    sum += rounding_divide_by_pot(exps.back(), 12);
  }
  int headroom = 0;
  while (((sum << headroom) & 0x80000000LL) == 0) {
    ++headroom;
  }
  const std::int32_t r =
      one_over_one_plus_x(static_cast<std::int32_t>((sum << headroom) - 0x80000000LL));
  Codes y;
  for (const std::int32_t e : exps) {
    const double scaled =
        e < 0 ? 0.0
              : std::round(
                    std::ldexp(static_cast<double>(saturating_rounding_doubling_high_mul(r, e)),
                               headroom - 12 - 31 + 8));
    y.push_back(static_cast<std::int8_t>(std::min(scaled - 128.0, 127.0)));
  }
  return y;
}

Codes random_row(PortableRandom& random, std::size_t size) {
  const std::int32_t low = random.integer(-128, 120);
  Codes x(size);
  for (std::int8_t& code : x) {
    code = static_cast<std::int8_t>(random.integer(low, 127));
  }
  return x;
}

Codes run(const SoftmaxInt8& softmax, const Codes& x) {
  Codes y(x.size());
  softmax.run(x, y);
  return y;
}

TEST(SoftmaxInt8, AgreesWithNaive) {
  PortableRandom random(150);
  for (int i = 0; i < 600; ++i) {
    const float scale = random.positive(1e-4F, 60.0F);
    const float beta = i % 3 == 0 ? random.positive(0.1F, 2.0F) : 1.0F;
    const Codes x = random_row(random, static_cast<std::size_t>(random.integer(1, 40)));
    EXPECT_EQ(run(SoftmaxInt8::make(scale, beta, Rounding::fp32), x), naive_float(x, scale, beta));
    EXPECT_EQ(run(SoftmaxInt8::make(scale, beta, Rounding::double_rounding), x),
              naive_fixed(x, scale, beta, 2147483647.0))
        << scale << " " << beta;
    EXPECT_EQ(run(SoftmaxInt8::make(scale, beta, Rounding::single_rounding), x),
              naive_fixed(x, scale, beta, 1073741823.0))
        << scale << " " << beta;
  }
}

TEST(SoftmaxInt8, IsCloseToTheRealSoftmax) {
  PortableRandom random(151);
  for (int i = 0; i < 200; ++i) {
    const float scale = random.positive(1e-3F, 1.0F);
    const Codes x = random_row(random, 10);
    double sum = 0.0;
    for (const int code : x) {
      sum += std::exp(double{scale} * code);
    }
    for (const Rounding rounding : kContracts) {
      const Codes y = run(SoftmaxInt8::make(scale, 1.0F, rounding), x);
      for (std::size_t k = 0; k < x.size(); ++k) {
        const double want = std::exp(double{scale} * x[k]) / sum * 256.0 - 128.0;
        EXPECT_NEAR(y[k], std::min(want, 127.0), 0.51);
      }
    }
  }
}

TEST(SoftmaxInt8, Rows) {
  for (const Rounding rounding : kContracts) {
    const SoftmaxInt8 softmax = SoftmaxInt8::make(0.1F, 1.0F, rounding);
    EXPECT_EQ(run(softmax, {}), Codes{});
    EXPECT_EQ(run(softmax, {-128}), Codes{127});
    EXPECT_EQ(run(softmax, {7, 7}), (Codes{0, 0}));
    EXPECT_EQ(run(softmax, {127, -128, -128}), (Codes{127, -128, -128}));
    // Uniform rows, beyond 512 too, where upstream shifts by more than 31.
    EXPECT_EQ(run(softmax, Codes(256, 3)), Codes(256, -127));
    EXPECT_EQ(run(softmax, Codes(511, 3)), Codes(511, -127));
    EXPECT_EQ(run(softmax, Codes(520, 3)), Codes(520, -128));
    EXPECT_EQ(run(softmax, Codes(4095, 3)), Codes(4095, -128));
    Codes in_place{10, 20, 30};
    softmax.run(in_place, in_place);
    EXPECT_EQ(in_place, run(softmax, {10, 20, 30}));
  }
}

TEST(SoftmaxInt8, ContractsChooseTheAlgorithm) {
  // A row on which the table and the fixed point differ by one, which is rare.
  PortableRandom random(152);
  int differ = 0;
  for (int i = 0; i < 20000; ++i) {
    const float scale = random.positive(1e-2F, 0.3F);
    const Codes x = random_row(random, 10);
    const Codes a = run(SoftmaxInt8::make(scale, 1.0F, Rounding::fp32), x);
    const Codes b = run(SoftmaxInt8::make(scale, 1.0F, Rounding::double_rounding), x);
    for (std::size_t k = 0; k < x.size(); ++k) {
      EXPECT_LE(std::abs(a[k] - b[k]), 1);
      differ += a[k] != b[k] ? 1 : 0;
    }
  }
  EXPECT_GT(differ, 0);
  EXPECT_LT(differ, 100);
}

TEST(SoftmaxInt8, Errors) {
  for (const float bad : {0.0F, -1.0F, kInf, kNan}) {
    expect_throws<InvalidArgument>([&] { (void)SoftmaxInt8::make(bad, 1, Rounding::fp32); },
                                   {"softmax"});
    expect_throws<InvalidArgument>([&] { (void)SoftmaxInt8::make(1, bad, Rounding::fp32); },
                                   {"softmax"});
  }
  EXPECT_NO_THROW((void)SoftmaxInt8::make(1e-9F, 1, Rounding::fp32));
  expect_throws<InvalidArgument>(
      [] { (void)SoftmaxInt8::make(1e-9F, 1, Rounding::double_rounding); }, {"too small"});
  expect_throws<InvalidArgument>(
      [] { (void)SoftmaxInt8::make(std::ldexp(1.0F, -26), 1, Rounding::single_rounding); },
      {"too small"});
  Codes x(3);
  Codes y(2);
  const SoftmaxInt8 softmax = SoftmaxInt8::make(0.1F, 1, Rounding::single_rounding);
  expect_throws<InvalidArgument>([&] { softmax.run(x, y); }, {"3", "2"});
  Codes row(4096);
  expect_throws<InvalidArgument>([&] { softmax.run(row, row); }, {"4096", "at most 4095"});
  EXPECT_NO_THROW(SoftmaxInt8::make(0.1F, 1, Rounding::fp32).run(row, row));
}

TEST(SoftmaxScaling, Limits) {
  EXPECT_EQ(preprocess_softmax_scaling(1, 1, 5, Rounding::double_rounding),
            (QuantizedMultiplier{1 << 30, 27}));
  EXPECT_EQ(preprocess_softmax_scaling(1, 1e9, 5, Rounding::double_rounding),
            (QuantizedMultiplier{kInt32Max, 31}));
  EXPECT_EQ(preprocess_softmax_scaling(1, 1e9, 5, Rounding::single_rounding),
            (QuantizedMultiplier{kInt32Max - 1, 30}));
  EXPECT_EQ(calculate_input_radius(5, 27), 15);  // 31 * 2^26 / 2^27, rounded down
  EXPECT_EQ(calculate_input_radius(5, 31), 0);
}

}  // namespace
}  // namespace octet::test::softmax_test
