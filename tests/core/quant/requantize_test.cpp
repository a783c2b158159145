#include <octet/core/quant/requantize.h>
#include <octet/tests/core/quant/tensorflow/reference.h>

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include <octet/core/error.h>
#include <octet/core/quant/round.h>
#include <octet/tests/core/quant/quant_testing.h>

namespace octet::test::requantize_test {
namespace {

/// The rounding modes of int8.
constexpr auto kContracts = {Rounding::fp32, Rounding::single_rounding, Rounding::double_rounding};

TEST(Rounding, Names) {
  for (const Rounding rounding : kRoundings) {
    EXPECT_EQ(parse_rounding(to_string(rounding)), rounding);
  }
  EXPECT_EQ(to_string(Rounding::q15), "q15");
  EXPECT_EQ(to_string(Rounding::fp32), "fp32");
  EXPECT_EQ(to_string(Rounding::single_rounding), "single");
  EXPECT_EQ(to_string(Rounding::double_rounding), "double");
  expect_throws<InvalidArgument>([] { (void)parse_rounding("half"); }, {"\"half\"", "fp32"});
}

struct Scales {
  float in;
  std::vector<float> weights;
  float out;
};

// Sections 6.1 to 6.4, one accumulator, written out again in wide arithmetic.
double naive_apply(std::int32_t acc, const Scales& s, std::size_t c, Rounding rounding,
                   bool fully_connected) {
  const float w = s.weights[s.weights.size() == 1 ? 0 : c];
  if (rounding == Rounding::fp32) {
    const float product = s.in * w;
    const float factor = product / s.out;
    const float scaled = static_cast<float>(acc) * factor;
    return std::nearbyint(scaled);
  }
  const bool in_float = fully_connected && s.weights.size() == 1;
  const float float_product = s.in * w;
  const double product = in_float ? double{float_product} : double{s.in} * double{w};
  int shift = 0;
  double m = std::round(std::frexp(product / double{s.out}, &shift) * 2147483648.0);
  if (m == 2147483648.0) {
    m /= 2;
    ++shift;
  }
  const long double exact = static_cast<long double>(acc) * m;
  if (rounding == Rounding::single_rounding) {
    return static_cast<double>(std::floor(std::ldexp(exact, shift - 31) + 0.5L));
  }
  const double high =
      static_cast<double>(std::floor(std::ldexp(exact, std::max(shift, 0) - 31) + 0.5L));
  return std::round(std::ldexp(high, std::min(shift, 0)));
}

Scales random_scales(PortableRandom& random, std::size_t channels) {
  Scales s{random.positive(1e-3F, 0.1F), {}, random.positive(1e-2F, 1.0F)};
  for (std::size_t c = 0; c < channels; ++c) {
    s.weights.push_back(random.positive(1e-3F, 0.1F));
  }
  return s;
}

std::vector<std::int32_t> random_accumulators(PortableRandom& random, std::size_t size) {
  std::vector<std::int32_t> acc(size);
  for (std::int32_t& a : acc) {
    a = random.integer(-4000000, 4000000) >> random.integer(0, 12);
  }
  return acc;
}

void expect_agrees(std::size_t channels, Rounding rounding, bool fully_connected) {
  PortableRandom random(static_cast<std::uint32_t>(channels) + 130);
  for (int i = 0; i < 20; ++i) {
    const Scales s = random_scales(random, channels);
    const Requantizer requantizer =
        fully_connected ? Requantizer::fully_connected(s.in, s.weights, s.out, rounding)
                        : Requantizer::convolution(s.in, s.weights, s.out, rounding);
    EXPECT_EQ(requantizer.channels(), channels);
    const std::size_t size = channels == 1 ? static_cast<std::size_t>(i) * 5 + 1 : channels * 3;
    const std::vector<std::int32_t> acc = random_accumulators(random, size);
    const std::int32_t zero_point = random.integer(-128, 127);
    const std::int32_t lo = random.integer(-128, zero_point);
    const std::int32_t hi = random.integer(zero_point, 127);
    std::vector<std::int8_t> codes(size);
    requantizer.requantize(acc, codes, zero_point, lo, hi);
    for (std::size_t k = 0; k < size; ++k) {
      const double want = naive_apply(acc[k], s, k % channels, rounding, fully_connected);
      EXPECT_EQ(requantizer.apply(acc[k], k % channels), want) << to_string(rounding);
      EXPECT_EQ(codes[k], std::clamp(want + zero_point, double(lo), double(hi)))
          << to_string(rounding) << " " << acc[k];
    }
  }
}

TEST(Requantizer, AgreesWithNaive) {
  for (const Rounding rounding : kContracts) {
    for (std::size_t channels = 1; channels < 36; ++channels) {
      expect_agrees(channels, rounding, true);
      expect_agrees(channels, rounding, false);
    }
  }
}

TEST(Requantizer, Fp32RoundsTiesToEven) {
  const Requantizer half =
      Requantizer::fully_connected(1.0F, std::vector<float>{0.5F}, 1.0F, Rounding::fp32);
  const std::vector<std::int32_t> acc{1, 3, 5, -1, -3, -5, 255, -255};
  std::vector<std::int8_t> codes(acc.size());
  half.requantize(acc, codes, 0, -128, 127);
  EXPECT_EQ(codes, (std::vector<std::int8_t>{0, 2, 2, 0, -2, -2, 127, -128}));
  // An odd zero point does not move the ties.
  half.requantize(acc, codes, 1, -128, 127);
  EXPECT_EQ(codes, (std::vector<std::int8_t>{1, 3, 3, 1, -1, -1, 127, -127}));
  EXPECT_EQ(half.apply(5), 2);
  EXPECT_EQ(half.apply(-3), -2);
}

// The accumulator and every product are rounded to float32.
TEST(Requantizer, Fp32RoundsEachStep) {
  PortableRandom random(131);
  int factor_differs = 0;
  for (int i = 0; i < 1000; ++i) {
    const Scales s = random_scales(random, 1);
    const Requantizer r = Requantizer::fully_connected(s.in, s.weights, s.out, Rounding::fp32);
    const float product = s.in * s.weights[0];
    EXPECT_EQ(r.factors()[0], product / s.out);
    const double exact = double{s.in} * double{s.weights[0]} / double{s.out};
    factor_differs += r.factors()[0] != static_cast<float>(exact) ? 1 : 0;
  }
  EXPECT_GT(factor_differs, 0);
  const Requantizer one =
      Requantizer::fully_connected(1.0F, std::vector<float>{1.0F}, 1.0F, Rounding::fp32);
  EXPECT_EQ(one.apply(16777217), 16777216);
  EXPECT_EQ(one.apply(kInt32Max), kInt32Max);
  EXPECT_EQ(one.apply(kInt32Min), kInt32Min);
}

// Section 6.4: only a FULLY_CONNECTED quantized per tensor multiplies the scales in float32.
TEST(Requantizer, FloatAndDoubleProducts) {
  PortableRandom random(132);
  int differ = 0;
  for (int i = 0; i < 200; ++i) {
    const Scales s = random_scales(random, 1);
    const std::vector<float> twice{s.weights[0], s.weights[0]};
    const float product = s.in * s.weights[0];
    const QuantizedMultiplier in_float = quantize_multiplier(double{product} / double{s.out});
    const QuantizedMultiplier in_double =
        quantize_multiplier(double{s.in} * double{s.weights[0]} / double{s.out});
    const auto contract = Rounding::double_rounding;
    EXPECT_EQ(Requantizer::fully_connected(s.in, s.weights, s.out, contract).multipliers()[0],
              in_float);
    EXPECT_EQ(Requantizer::fully_connected(s.in, twice, s.out, contract).multipliers()[1],
              in_double);
    EXPECT_EQ(Requantizer::convolution(s.in, s.weights, s.out, contract).multipliers()[0],
              in_double);
    differ += in_float == in_double ? 0 : 1;
  }
  EXPECT_GT(differ, 50);
}

TEST(Requantizer, ContractsDiffer) {
  // acc * 1/8 for 3: single 0.375 -> 0, double 1.5 -> 2 -> 1.
  const std::vector<float> eighth{0.125F};
  const auto apply = [&](Rounding rounding, std::int32_t acc) {
    return Requantizer::fully_connected(1.0F, eighth, 1.0F, rounding).apply(acc);
  };
  EXPECT_EQ(apply(Rounding::fp32, 3), 0);
  EXPECT_EQ(apply(Rounding::single_rounding, 3), 0);
  EXPECT_EQ(apply(Rounding::double_rounding, 3), 1);
  EXPECT_EQ(apply(Rounding::fp32, 4), 0);             // 0.5: to even
  EXPECT_EQ(apply(Rounding::single_rounding, 4), 1);  // up
  EXPECT_EQ(apply(Rounding::single_rounding, -4), 0);
  EXPECT_EQ(apply(Rounding::double_rounding, -4), -1);  // away
}

/// Contract q15 by its definition, in numbers that hold every product.
double naive_q15(std::int64_t acc, double ratio) {
  int shift = 0;
  double m = std::round(std::frexp(ratio, &shift) * 2147483648.0);
  if (m == 2147483648.0) {
    m /= 2;
    ++shift;
  }
  const double reduced = m < 2147418112.0 ? std::floor((m + 32768.0) / 65536.0) : 32767.0;
  const long double sum = static_cast<long double>(acc) * reduced + std::ldexp(1.0L, 14 - shift);
  return static_cast<double>(std::floor(std::ldexp(sum, shift - 15)));
}

TEST(Requantizer, Q15AgreesWithNaive) {
  PortableRandom random(134);
  for (std::size_t channels = 1; channels < 20; ++channels) {
    const Scales s = random_scales(random, channels);
    const Requantizer of_dense =
        Requantizer::fully_connected(s.in, s.weights, s.out, Rounding::q15);
    const Requantizer of_conv = Requantizer::convolution(s.in, s.weights, s.out, Rounding::q15);
    std::vector<std::int64_t> acc(channels * 50);
    for (std::int64_t& a : acc) {
      a = ((std::int64_t{random.integer(-16384, 16383)} << 32) + random.bits()) >>
          random.integer(0, 40);
    }
    std::vector<std::int16_t> codes(acc.size());
    of_conv.requantize(acc, codes, -300, 32767);
    for (std::size_t i = 0; i < acc.size(); ++i) {
      const float w = s.weights[i % channels];
      const double exact = double{s.in} * double{w} / double{s.out};
      const double want = std::clamp(naive_q15(acc[i], exact), -2147483648.0, 2147483647.0);
      EXPECT_EQ(of_conv.apply_wide(acc[i], i % channels), want);
      EXPECT_EQ(codes[i], std::clamp(want, -300.0, 32767.0));
      const float in_float = s.in * w;
      const double of_floats = channels == 1 ? double{in_float} / double{s.out} : exact;
      EXPECT_EQ(of_dense.apply_wide(acc[i], i % channels),
                std::clamp(naive_q15(acc[i], of_floats), -2147483648.0, 2147483647.0));
    }
  }
}

// 15 bits of a multiplier: 1/3 is 21845 / 65536.
TEST(Requantizer, Q15KeepsFifteenBits) {
  const Requantizer third =
      Requantizer::convolution(1.0F, std::vector<float>{1.0F / 3}, 1.0F, Rounding::q15);
  EXPECT_EQ(third.apply_wide(3), 1);
  EXPECT_EQ(third.apply_wide(300000), 99998);  // 300000 * 21845 / 65536 = 99998.47
  EXPECT_EQ(Requantizer::convolution(1, std::vector<float>{0.5F}, 1, Rounding::q15).apply_wide(-3),
            -1);
}

TEST(Requantizer, Q15Refuses) {
  const std::vector<float> one{1.0F};
  expect_throws<NumericError>([&] { (void)Requantizer::convolution(128, one, 1, Rounding::q15); },
                              {"128", "q15"});
  EXPECT_NO_THROW((void)Requantizer::convolution(127, one, 1, Rounding::q15));
  const Requantizer r = Requantizer::convolution(1, one, 1, Rounding::q15);
  std::vector<std::int64_t> acc(2);
  std::vector<std::int16_t> codes(2);
  EXPECT_NO_THROW(r.requantize(acc, codes, -32768, 32767));
  expect_throws<InvalidArgument>([&] { r.requantize(acc, codes, -32769, 0); }, {"-32769"});
  expect_throws<InvalidArgument>([&] { r.requantize(acc, codes, 1, 0); }, {"1..0"});
  expect_throws<InvalidArgument>([&] { r.requantize(acc, std::span(codes).first(1), 0, 1); },
                                 {"2 accumulators"});
  const Requantizer single = Requantizer::convolution(1, one, 1, Rounding::single_rounding);
  expect_throws<InvalidArgument>([&] { single.requantize(acc, codes, 0, 1); }, {"single"});
  std::vector<std::int32_t> narrow(2);
  std::vector<std::int8_t> bytes(2);
  expect_throws<InvalidArgument>([&] { r.requantize(narrow, bytes, 0, -128, 127); }, {"int64"});
  expect_throws<InvalidArgument>([&] { r.require_fitting(std::int64_t{1} << 47, "fc"); },
                                 {"fc", "2^47"});
  expect_throws<InvalidArgument>([&] { r.require_fitting(std::int64_t{1} << 31, "fc"); },
                                 {"fc", "wrap"});
  EXPECT_NO_THROW(r.require_fitting(std::int64_t{1} << 30, "fc"));
}

TEST(Requantizer, ExtremeAccumulatorsAndScales) {
  const std::vector<std::int32_t> acc{kInt32Min, kInt32Min + 1, -1, 0, 1, kInt32Max};
  std::vector<std::int8_t> codes(acc.size());
  for (const Rounding rounding : kContracts) {
    for (const float weight : {1e-30F, 1e-9F, 1.0F, 1000.0F, 1e10F, 1e30F}) {
      Requantizer::fully_connected(1.0F, std::vector<float>{weight}, 1.0F, rounding)
          .requantize(acc, codes, 5, -128, 127);
      EXPECT_EQ(codes[3], 5);
      if (weight >= 1.0F) {
        EXPECT_EQ(codes[0], -128) << to_string(rounding) << " " << weight;
        EXPECT_EQ(codes[5], 127) << to_string(rounding) << " " << weight;
      }
      if (weight >= 1000.0F) {
        EXPECT_EQ(codes[2], -128) << to_string(rounding) << " " << weight;
        EXPECT_EQ(codes[4], 127) << to_string(rounding) << " " << weight;
      }
      if (weight < 1e-9F) {
        EXPECT_EQ(codes, std::vector<std::int8_t>(6, 5));
      }
    }
  }
}

TEST(Requantizer, Errors) {
  const std::vector<float> one{1.0F};
  for (const float bad : {0.0F, -1.0F, kInf, kNan}) {
    expect_throws<InvalidArgument>(
        [&] { (void)Requantizer::fully_connected(bad, one, 1, Rounding::fp32); }, {"input scale"});
    expect_throws<InvalidArgument>(
        [&] { (void)Requantizer::convolution(1, one, bad, Rounding::fp32); }, {"output scale"});
    expect_throws<InvalidArgument>(
        [&] {
          (void)Requantizer::fully_connected(1, std::vector<float>{1, bad}, 1, Rounding::fp32);
        },
        {"weight scale"});
  }
  expect_throws<InvalidArgument>([] { (void)Requantizer::convolution(1, {}, 1, Rounding::fp32); },
                                 {"none"});
  for (const Rounding rounding : kContracts) {
    expect_throws<NumericError>(
        [&] { (void)Requantizer::convolution(1e30F, std::vector<float>{1e30F}, 1, rounding); },
        {"beyond float32"});
  }
  const Requantizer r =
      Requantizer::fully_connected(1, std::vector<float>{1, 1, 1}, 1, Rounding::fp32);
  std::vector<std::int32_t> acc(6);
  std::vector<std::int8_t> codes(6);
  EXPECT_NO_THROW(r.requantize(acc, codes, 0, -128, 127));
  const auto call = [&](std::size_t size, std::int32_t zero, std::int32_t lo, std::int32_t hi) {
    return
        [&, size, zero, lo, hi] { r.requantize(acc, std::span(codes).first(size), zero, lo, hi); };
  };
  expect_throws<InvalidArgument>(call(5, 0, -128, 127), {"6", "5"});
  acc.resize(5);
  expect_throws<InvalidArgument>(call(5, 0, -128, 127), {"3 channels"});
  acc.resize(6);
  expect_throws<InvalidArgument>(call(6, 128, -128, 127), {"zero point 128"});
  expect_throws<InvalidArgument>(call(6, -129, -128, 127), {"zero point -129"});
  expect_throws<InvalidArgument>(call(6, 0, -129, 127), {"-129..127"});
  expect_throws<InvalidArgument>(call(6, 0, -128, 128), {"-128..128"});
  expect_throws<InvalidArgument>(call(6, 0, 3, 2), {"3..2"});
}

TEST(RequantizeReference, RoundsADoubleProduct) {
  EXPECT_EQ(requantize_reference(1, 1.0F, 0.5F, 1.0F), 1);
  EXPECT_EQ(requantize_reference(-1, 1.0F, 0.5F, 1.0F), -1);
  EXPECT_EQ(requantize_reference(3, 1.0F, 0.125F, 1.0F), 0);
  EXPECT_EQ(requantize_reference(kInt32Max, 1e10F, 1e10F, 1.0F), kInt32Max);
  EXPECT_EQ(requantize_reference(kInt32Min, 1e10F, 1e10F, 1.0F), kInt32Min);
  PortableRandom random(133);
  for (int i = 0; i < 500; ++i) {
    const Scales s = random_scales(random, 1);
    const std::int32_t acc = random.integer(-4000000, 4000000);
    const double factor = double{s.in} * double{s.weights[0]} / double{s.out};
    EXPECT_EQ(requantize_reference(acc, s.in, s.weights[0], s.out), std::round(acc * factor));
  }
}

TEST(CheckBiasScale, AllowsTwoPercentOfTheOutputScale) {
  EXPECT_NO_THROW(check_bias_scale(0.5F, 0.5F, 0.25F, 1.0F, "fc"));
  EXPECT_NO_THROW(check_bias_scale(0.5F, 0.5F, 0.265F, 1.0F, "fc"));
  for (const float bad : {0.28F, 0.22F, kNan}) {
    expect_throws<InvalidArgument>([&] { check_bias_scale(0.5F, 0.5F, bad, 1.0F, "fc"); },
                                   {"fc", "bias scale", "0.25"});
  }
}

/// What ruy's SIMD kernels on x86 compute: half up twice.
std::int32_t half_up_twice(std::int32_t acc, QuantizedMultiplier m) {
  const std::int64_t high = (std::int64_t{acc} * m.multiplier + (std::int64_t{1} << 30)) >> 31;
  const int right = -m.shift;
  return static_cast<std::int32_t>((high + (std::int64_t{1} << (right - 1))) >> right);
}

TEST(Rounding, SingleIsNotLitertOnX86) {
  // 1 / 4: the first step halves it and rounds 1/2 up, the second does the same. One step gives 0.
  const QuantizedMultiplier quarter{std::int32_t{1} << 30, -1};
  EXPECT_EQ(half_up_twice(1, quarter), 1);
  EXPECT_EQ(multiply_by_quantized_multiplier_single(1, quarter), 0);
  EXPECT_EQ(multiply_by_quantized_multiplier_double(1, quarter), 1);
  // Below 0 half up differs from the second rounding of double, away from zero.
  EXPECT_EQ(half_up_twice(-2, quarter), 0);
  EXPECT_EQ(multiply_by_quantized_multiplier_double(-2, quarter), -1);

  PortableRandom random(31);
  int from_single = 0;
  int from_double = 0;
  constexpr int kCount = 200000;
  for (int i = 0; i < kCount; ++i) {
    const QuantizedMultiplier m = quantize_multiplier(random.positive(1e-3F, 0.01F));
    const std::int32_t acc = random.integer(-20000, 20000);
    const std::int32_t x86 = half_up_twice(acc, m);
    const std::int32_t single = multiply_by_quantized_multiplier_single(acc, m);
    const std::int32_t twice = multiply_by_quantized_multiplier_double(acc, m);
    // The first rounding can only lift a value to the middle: never below single.
    ASSERT_TRUE(x86 == single || x86 == single + 1) << acc;
    ASSERT_LE(std::abs(x86 - twice), 1) << acc;
    from_single += x86 != single ? 1 : 0;
    from_double += x86 != twice ? 1 : 0;
  }
  EXPECT_GT(from_single, 0);
  EXPECT_LT(from_single, kCount / 100);
  EXPECT_GT(from_double, 0);
}

}  // namespace
}  // namespace octet::test::requantize_test
