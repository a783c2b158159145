#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/runtime/operators/binary.h>
#include <octet/tests/runtime/naive_graph.h>

#include <array>
#include <cmath>

namespace octet::test::quantized_add_test {
namespace {

using detail::QuantizedAdd;
using detail::SecondSign;

TEST(QuantizedAdd, IsTheOracleOnAllPairsOfCodes) {
  Draw draw(21);
  for (int round = 0; round < 48; ++round) {
    const auto grid = [&] {
      // Also scales a thousand times the output's, where fp32 is the other form.
      const float scale = std::ldexp(draw.uniform(0.5F, 1.0F), draw.between(-8, 4));
      return quant(scale, draw.between(-128, 127));
    };
    const QuantParams a = grid();
    const QuantParams b = grid();
    const QuantParams out = quant(round % 4 == 0 ? 2 * a.scale() : std::ldexp(1.0F, -6), 3);
    const auto activation = static_cast<FusedActivation>(round % 4);
    const Rounding rounding = kContracts.at(static_cast<std::size_t>(round) % 3);
    const bool subtracts = round % 8 >= 4;
    const QuantizedAdd adder = QuantizedAdd::make(a, b, out, activation, rounding,
                                                  subtracts ? SecondSign::minus : SecondSign::plus);
    const oracle::Quant qa{a.scale(), a.zero_point()};
    const oracle::Quant qb{b.scale(), b.zero_point()};
    const oracle::Quant qo{out.scale(), out.zero_point()};
    for (int first = -128; first <= 127; ++first) {
      for (int second = -128; second <= 127; ++second) {
        const auto x = static_cast<std::int8_t>(first);
        const auto y = static_cast<std::int8_t>(second);
        const std::int8_t expected =
            naive_sum(x, qa, y, qb, qo, oracle_clamp(activation), rounding, subtracts ? -1 : 1);
        ASSERT_EQ(adder.apply(first, second), expected) << round << " " << first << " " << second;
        std::int8_t run = 0;
        adder.run({&x, 1}, {&y, 1}, {&run, 1});
        ASSERT_EQ(run, expected);
      }
    }
  }
}

/// XNNPACK takes 2^-10 and leaves 2^8 to another kernel.
TEST(QuantizedAdd, RoundsOnceWhereXnnpackTakesBothScales) {
  const auto rounds_once = [](float first, float second) {
    return QuantizedAdd::make(quant(first, 0), quant(second, 0), quant(1.0F, 0),
                              FusedActivation::none, Rounding::fp32)
        .rounds_once();
  };
  constexpr float kLeast = 0x1p-10F;
  constexpr float kTooMuch = 0x1p8F;
  EXPECT_TRUE(rounds_once(kLeast, 1.0F));
  EXPECT_TRUE(rounds_once(1.0F, std::nextafter(kTooMuch, 0.0F)));
  EXPECT_FALSE(rounds_once(std::nextafter(kLeast, 0.0F), 1.0F));
  EXPECT_FALSE(rounds_once(1.0F, kTooMuch));
}

/// TFLite Micro's kernel of SUB alone.
TEST(QuantizedAdd, QuotientsAreFloatsInSubUnderContractDouble) {
  const QuantParams small = quant(0.1F, 0);
  const QuantParams large = quant(0.3F, 0);
  const QuantParams out = quant(0.7F, 0);
  const auto factors = [&](SecondSign sign, Rounding rounding) {
    const QuantizedAdd adder =
        QuantizedAdd::make(small, large, out, FusedActivation::none, rounding, sign);
    return std::array{adder.input_factor(0), adder.factor()};
  };
  const auto of_floats = std::array{quantize_multiplier(double{0.1F / 0.6F}),
                                    quantize_multiplier(std::ldexp(double{0.6F / 0.7F}, -20))};
  const auto of_doubles =
      std::array{quantize_multiplier(double{0.1F} / double{0.6F}),
                 quantize_multiplier(std::ldexp(double{0.6F} / double{0.7F}, -20))};
  EXPECT_NE(of_floats[0], of_doubles[0]);
  EXPECT_NE(of_floats[1], of_doubles[1]);
  EXPECT_EQ(factors(SecondSign::minus, Rounding::double_rounding), of_floats);
  EXPECT_EQ(factors(SecondSign::minus, Rounding::single_rounding), of_doubles);
  EXPECT_EQ(factors(SecondSign::plus, Rounding::double_rounding), of_doubles);
}

TEST(QuantizedAdd, FitsAGridWhoseScaleIsNextToNothing) {
  const auto fitted = [](float scale) {
    return QuantizedAdd::fitting_params(quant(0.5F, 0), quant(0.25F, 0), quant(scale, 3));
  };
  const float least = std::nextafter(0.5F / 256, 1.0F);
  EXPECT_EQ(fitted(least).scale(), least);
  EXPECT_EQ(fitted(0.5F / 256).scale(), 0.5F / 128);
  EXPECT_EQ(fitted(1e-30F).scale(), 0.5F / 128);
  EXPECT_EQ(fitted(1e-30F).zero_point(), 3);
}

TEST(QuantizedAdd, SaturatesWhereTheOutputsScaleIsNextToNothing) {
  const QuantParams one = quant(1.0F, 0);
  for (const float scale : {2e-6F, 1e-7F, 1e-20F, 1e-38F}) {
    for (const Rounding rounding : kContracts) {
      const QuantizedAdd adder =
          QuantizedAdd::make(one, one, quant(scale, 3), FusedActivation::none, rounding);
      EXPECT_EQ(adder.apply(1, 0), 127);
      EXPECT_EQ(adder.apply(-100, 100), 3);
      EXPECT_EQ(adder.apply(0, -1), -128);
      const std::array<std::int8_t, 3> x = {1, -100, 0};
      const std::array<std::int8_t, 3> y = {0, 100, -1};
      std::array<std::int8_t, 3> sums{};
      adder.run(x, y, sums);
      EXPECT_EQ(sums, (std::array<std::int8_t, 3>{127, 3, -128}));
    }
  }
}

TEST(QuantizedAdd, RefusesGridsThatAddDoesNotHave) {
  const QuantParams one = quant(1.0F, 0);
  QuantParams two = one;
  two.scales.push_back(1.0F);
  two.zero_points.push_back(0);
  EXPECT_THROW(
      static_cast<void>(QuantizedAdd::make(two, one, one, FusedActivation::none, Rounding::fp32)),
      InvalidArgument);
}

}  // namespace
}  // namespace octet::test::quantized_add_test
