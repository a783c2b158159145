#include <octet/runtime/operators/quantization.h>

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include <octet/core/error.h>
#include <octet/tests/core/quant/contracts.h>
#include <octet/tests/core/quant/quant_testing.h>

namespace octet::test::element_requantizer_test {
namespace {

using detail::ElementRequantizer;

TEST(ActivationRange, Limits) {
  const auto range = [](FusedActivation a, float scale, std::int32_t zero) {
    return activation_range(a, scale, zero, -128, 127);
  };
  EXPECT_EQ(range(FusedActivation::none, 0.1F, 5), (ActivationRange{-128, 127}));
  EXPECT_EQ(range(FusedActivation::relu, 0.1F, 5), (ActivationRange{5, 127}));
  EXPECT_EQ(range(FusedActivation::relu, 0.1F, -128), (ActivationRange{-128, 127}));
  EXPECT_EQ(range(FusedActivation::relu6, 0.1F, 5), (ActivationRange{5, 65}));
  EXPECT_EQ(range(FusedActivation::relu6, 0.01F, 5), (ActivationRange{5, 127}));
  EXPECT_EQ(range(FusedActivation::relu_n1_to_1, 0.1F, 5), (ActivationRange{-5, 15}));
  EXPECT_EQ(range(FusedActivation::relu_n1_to_1, 0.001F, 5), (ActivationRange{-128, 127}));
  // A half rounds away from zero: 6 / 4 = 1.5, -1 / 2 = -0.5.
  EXPECT_EQ(range(FusedActivation::relu6, 4.0F, 0).hi, 2);
  EXPECT_EQ(range(FusedActivation::relu_n1_to_1, 2.0F, 0), (ActivationRange{-1, 1}));
  // Any integer type.
  EXPECT_EQ(activation_range(FusedActivation::relu6, 0.001F, 0, -32768, 32767),
            (ActivationRange{0, 6000}));
}

TEST(ActivationRange, TheQuotientIsFloat32) {
  int differ = 0;
  PortableRandom random(140);
  for (int i = 0; i < 200000; ++i) {
    const float scale = 6.0F / (static_cast<float>(random.integer(1, 100)) + 0.5F);
    const auto got = activation_range(FusedActivation::relu6, scale, 0, -128, 127).hi;
    EXPECT_EQ(got, std::round(6.0F / scale));
    differ += got != std::round(6.0 / double{scale}) ? 1 : 0;
  }
  EXPECT_GT(differ, 0);
}

TEST(ActivationRange, Errors) {
  for (const float bad : {0.0F, -1.0F, kInf, kNan}) {
    expect_throws<InvalidArgument>(
        [&] { (void)activation_range(FusedActivation::none, bad, 0, -128, 127); }, {"scale"});
  }
  expect_throws<InvalidArgument>(
      [] { (void)activation_range(FusedActivation::relu6, 1e-10F, 0, -128, 127); },
      {"no_integer_overflow_from_quantization"});
  expect_throws<InvalidArgument>(  // 2^31 exactly, though the zero point would bring it back
      [] {
        const float scale = std::ldexp(6.0F, -31);
        (void)activation_range(FusedActivation::relu6, scale, -1, -128, 127);
      },
      {"no_integer_overflow_from_quantization"});
  expect_throws<InvalidArgument>(  // fits alone, but not with the zero point
      [] {
        (void)activation_range(FusedActivation::relu6, 6.0F / 2147483520.0F, kInt32Max, -128, 127);
      },
      {"no_integer_overflow_from_quantization"});
  expect_throws<InvalidArgument>(
      [] { (void)activation_range(FusedActivation::relu, 1.0F, 200, -128, 127); },
      {"relu", "no value of -128..127"});
  EXPECT_EQ(to_string(FusedActivation::relu_n1_to_1), "relu_n1_to_1");
  EXPECT_EQ(to_string(FusedActivation::none), "none");
}

// The factor is that of QUANTIZE or that of an activation. XNNPACK's steps of 1/256 under fp32, and
// TensorFlow Lite's two roundings for all else.
std::int32_t naive(std::int32_t code, const QuantParams& in, const QuantParams& out, double factor,
                   ActivationRange limits, Rounding rounding) {
  const std::int32_t centred = code - in.zero_point();
  const float ratio = in.scale() / out.scale();
  std::int32_t scaled = 0;
  if (rounding == Rounding::fp32 && ratio >= 1.0F / 256 && ratio <= 128.0F) {
    const double steps = std::nearbyint(256.0F * ratio);
    scaled = static_cast<std::int32_t>(std::floor((centred * steps + 128) / 256));
  } else {
    scaled = multiply_by_quantized_multiplier(centred, quantize_multiplier(factor),
                                              Rounding::double_rounding);
  }
  return std::clamp(scaled + out.zero_point(), limits.lo, limits.hi);
}

TEST(ElementRequantizer, AgreesWithNaive) {
  PortableRandom random(141);
  for (int i = 0; i < 100; ++i) {
    const QuantParams in =
        QuantParams::per_tensor(random.positive(0.01F, 1.0F), random.integer(-128, 127));
    const QuantParams out =
        QuantParams::per_tensor(random.positive(0.1F, 1.0F), random.integer(-128, 127));
    const double exact = double{in.scale()} / double{out.scale()};
    const auto rounded = double{in.scale() / out.scale()};
    for (const Rounding rounding : kContracts) {
      const ElementRequantizer quantize = ElementRequantizer::quantize(in, out, rounding);
      for (std::int32_t code = -128; code <= 127; ++code) {
        EXPECT_EQ(quantize.apply(code), naive(code, in, out, exact, {-128, 127}, rounding));
      }
      for (const FusedActivation activation :
           {FusedActivation::relu, FusedActivation::relu6, FusedActivation::relu_n1_to_1}) {
        const ActivationRange range =
            activation_range(activation, out.scale(), out.zero_point(), -128, 127);
        const ElementRequantizer op = ElementRequantizer::activation(activation, in, out);
        EXPECT_EQ(op.range(), range);
        for (std::int32_t code = -128; code <= 127; ++code) {
          EXPECT_EQ(op.apply(code),
                    naive(code, in, out, rounded, range, Rounding::double_rounding));
        }
      }
    }
  }
}

// Section 6.4: RELU's factor passes through float32, QUANTIZE's does not. int16 codes and a large
// product make the difference visible.
TEST(ElementRequantizer, FactorsOfQuantizeAndActivationDiffer) {
  const QuantParams in = QuantParams::per_tensor(0.3F, 0, -2147483647, 2147483647);
  const QuantParams out = QuantParams::per_tensor(0.7F, 0, -2147483647, 2147483647);
  const ElementRequantizer quantize = ElementRequantizer::quantize(in, out);
  const ElementRequantizer relu = ElementRequantizer::activation(FusedActivation::relu, in, out);
  constexpr std::int32_t kCode = 2000000000;
  EXPECT_NEAR(quantize.apply(kCode), kCode * (double{0.3F} / double{0.7F}), 1.0);
  EXPECT_NEAR(relu.apply(kCode), kCode * double{0.3F / 0.7F}, 1.0);
  EXPECT_NE(quantize.apply(kCode), relu.apply(kCode));
}

// What RELU of LiteRT.js and tfjs-tflite gives after TANH: 43 * 0.1724 = 7.41 becomes 8, because
// the first rounding is to quarters.
TEST(ElementRequantizer, AnActivationRoundsTwice) {
  const QuantParams in = QuantParams::per_tensor(0.0078125F, 0);
  const QuantParams out = QuantParams::per_tensor(0.0453210175F, -1);
  const ElementRequantizer relu = ElementRequantizer::activation(FusedActivation::relu, in, out);
  const std::vector<std::pair<int, int>> measured = {{-6, -1}, {0, -1},  {6, 0},   {18, 2},
                                                     {43, 7},  {48, 7},  {63, 10}, {66, 11},
                                                     {72, 12}, {78, 13}, {95, 16}, {97, 16}};
  for (const auto& [code, expected] : measured) EXPECT_EQ(relu.apply(code), expected) << code;
}

TEST(ElementRequantizer, Int8ToUint8FlipsTheTopBit) {
  const QuantParams in = QuantParams::per_tensor(0.37F, -11);
  const QuantParams out = QuantParams::per_tensor(0.37F, 117, 0, 255);
  std::vector<std::int8_t> codes;
  for (int code = -128; code <= 127; ++code) {
    codes.push_back(static_cast<std::int8_t>(code));
  }
  for (const Rounding rounding : kContracts) {
    std::vector<std::uint8_t> there(256);
    std::vector<std::int8_t> back(256);
    ElementRequantizer::quantize(in, out, rounding).run<std::int8_t, std::uint8_t>(codes, there);
    for (std::size_t i = 0; i < 256; ++i) {
      EXPECT_EQ(there[i], static_cast<std::uint8_t>(codes[i]) ^ 0x80U);
    }
    ElementRequantizer::quantize(out, in, rounding).run<std::uint8_t, std::int8_t>(there, back);
    EXPECT_EQ(back, codes);
  }
}

TEST(ElementRequantizer, ExtremeCodes) {
  const QuantParams in = QuantParams::per_tensor(1.0F, kInt32Max, kInt32Min, kInt32Max);
  const QuantParams out = QuantParams::per_tensor(1e-3F, -100);
  for (const Rounding rounding : kContracts) {
    const ElementRequantizer r = ElementRequantizer::quantize(in, out, rounding);
    EXPECT_EQ(r.apply(kInt32Min), -128);
    EXPECT_EQ(r.apply(kInt32Max), -100);
  }
}

TEST(ElementRequantizer, Errors) {
  const QuantParams one = QuantParams::per_tensor(1.0F, 0);
  const QuantParams two{{1.0F, 1.0F}, {0, 0}};
  expect_throws<InvalidArgument>([&] { (void)ElementRequantizer::quantize(two, one); },
                                 {"input", "found 2"});
  expect_throws<InvalidArgument>([&] { (void)ElementRequantizer::quantize(one, {}); }, {"output"});
  expect_throws<NumericError>(
      [&] {
        (void)ElementRequantizer::quantize(QuantParams::per_tensor(1e30F, 0),
                                           QuantParams::per_tensor(1e-30F, 0), Rounding::fp32);
      },
      {"beyond float32"});
  const ElementRequantizer r = ElementRequantizer::quantize(one, one);
  std::vector<std::int8_t> codes(3);
  std::vector<std::uint8_t> unsigned_codes(3);
  expect_throws<InvalidArgument>(
      [&] { (r.run<std::int8_t, std::int8_t>(codes, std::span(codes).first(2))); }, {"3", "2"});
  expect_throws<InvalidArgument>([&] { (r.run<std::int8_t, std::uint8_t>(codes, unsigned_codes)); },
                                 {"-128..127", "0..255"});
}

}  // namespace
}  // namespace octet::test::element_requantizer_test
