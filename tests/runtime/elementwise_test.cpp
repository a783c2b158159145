// QuantizedMul, and what HARD_SWISH is near to.

#include <gtest/gtest.h>
#include <octet/runtime/operators/binary.h>
#include <octet/runtime/operators/definitions.h>
#include <octet/tests/runtime/elementwise_models.h>

namespace octet::test::elementwise_test {
namespace {

using detail::QuantizedMul;

TEST(QuantizedMul, IsTheOracleOnAllPairsOfCodes) {
  Draw draw(22);
  for (int round = 0; round < 24; ++round) {
    const QuantParams a = draw_grid(draw);
    const QuantParams b = draw_grid(draw);
    // Factors within what XNNPACK takes, at its ends and beyond.
    constexpr std::array kFactors = {0.01F, 0x1p-16F, 0x1p-17F, 255.5F, 256.0F, 1.0F / 300};
    const float factor = kFactors[static_cast<std::size_t>(round) % kFactors.size()];
    const QuantParams out = quant(a.scale() * b.scale() / factor, draw.between(-128, 127));
    const auto activation = static_cast<FusedActivation>(round % 4);
    const Rounding rounding = kContracts.at(static_cast<std::size_t>(round) % 3);
    const QuantizedMul multiplier = QuantizedMul::make(a, b, out, activation, rounding);
    const oracle::Quant qa{a.scale(), a.zero_point()};
    const oracle::Quant qb{b.scale(), b.zero_point()};
    const oracle::Quant qo{out.scale(), out.zero_point()};
    std::vector<std::int8_t> first;
    std::vector<std::int8_t> second;
    std::vector<std::int8_t> expected;
    for (int x = -128; x <= 127; ++x) {
      for (int y = -128; y <= 127; ++y) {
        first.push_back(static_cast<std::int8_t>(x));
        second.push_back(static_cast<std::int8_t>(y));
        expected.push_back(
            naive_mul(first.back(), qa, second.back(), qb, qo, oracle_clamp(activation), rounding));
        ASSERT_EQ(multiplier.apply(x, y), expected.back()) << round << " " << x << " " << y;
      }
    }
    std::vector<std::int8_t> found(expected.size());
    multiplier.run(first, second, found);
    ASSERT_EQ(found, expected) << round;
  }
}

TEST(QuantizedMul, RescalesInFloatWhatXnnpackTakes) {
  const auto in_float = [](float out, Rounding rounding) {
    return QuantizedMul::make(quant(1.0F, 0), quant(1.0F, 0), quant(out, 0), FusedActivation::none,
                              rounding)
        .rescales_in_float();
  };
  EXPECT_TRUE(in_float(0x1p16F, Rounding::fp32));
  EXPECT_FALSE(in_float(std::nextafter(0x1p16F, 0x1p17F), Rounding::fp32));
  EXPECT_TRUE(in_float(std::nextafter(0x1p-8F, 1.0F), Rounding::fp32));
  EXPECT_FALSE(in_float(0x1p-8F, Rounding::fp32));
  EXPECT_FALSE(in_float(1.0F, Rounding::single_rounding));
  EXPECT_FALSE(in_float(1.0F, Rounding::double_rounding));
}

TEST(QuantizedMul, FitsAGridWhoseScaleIsNextToNothing) {
  const auto fitted = [](float scale) {
    return QuantizedMul::fitting_params(quant(0.5F, 0), quant(0.25F, 0), quant(scale, 3)).scale();
  };
  const float least = std::nextafter(0.125F / 256, 1.0F);
  EXPECT_EQ(fitted(least), least);
  EXPECT_EQ(fitted(0.125F / 256), 0.125F / 128);
  EXPECT_EQ(fitted(1e-30F), 0.125F / 128);
}

TEST(Rsqrt, IsNearTheFunction) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Draw draw(seed);
    const IntegerModel model = draw_rsqrt(draw);
    const QuantParams& in = model.tensors[0].quantization;
    const QuantParams& out = model.tensors[1].quantization;
    Interpreter interpreter(model);
    const auto found = run<std::int8_t, std::int8_t>(interpreter, every_code());
    EXPECT_EQ(found[0], 127);
    for (int i = 1; i < 256; ++i) {
      const double y = 1.0 / std::sqrt(double{in.scale()} * i);
      EXPECT_NEAR(found[static_cast<std::size_t>(i)],
                  std::clamp(y / double{out.scale()} + out.zero_point(), -128.0, 127.0), 1.0);
    }
  }
}

TEST(HardSwish, IsNearTheFunction) {
  const QuantParams in = quant(0.05F, 10);
  const QuantParams out = quant(0.03F, -100);
  Interpreter interpreter(hard_swish_model(in, out));
  const auto codes = run<std::int8_t, std::int8_t>(interpreter, every_code());
  for (int code = -128; code < 128; ++code) {
    const double x = 0.05 * (code - 10);
    const double y = x * std::clamp(x + 3, 0.0, 6.0) / 6;
    EXPECT_NEAR(codes[static_cast<std::size_t>(code + 128)],
                std::clamp(y / 0.03 - 100, -128.0, 127.0), 1.0);
  }
}

// A network whose results are all next to nothing gets a scale that the operator takes.
TEST(HardSwish, FitsAScaleThatIsNextToNothing) {
  const QuantParams measured = quant(1e-9F, 5);
  const QuantParams in = quant(0.5F, 0);
  const QuantParams fitted =
      definition(OpCode::hard_swish).fitting_grid(std::span(&in, 1), measured);
  EXPECT_EQ(fitted.scale(), 0.5F / 64);
  EXPECT_EQ(fitted.zero_point(), 5);
}

}  // namespace
}  // namespace octet::test::elementwise_test
