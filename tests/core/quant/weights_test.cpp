#include <cmath>

#include <gtest/gtest.h>

#include <octet/core/error.h>
#include <octet/core/quant/bias.h>
#include <octet/tests/core/quant/quant_testing.h>
#include <octet/tests/core/quant/tensorflow/symmetric.h>

namespace octet::test::weights_test {
namespace {

using Shape = std::vector<std::int64_t>;

TEST(Symmetric, AgreesWithNaive) {
  PortableRandom random(70);
  const Shape shape{4, 3, 5};
  const std::vector<float> w = random.reals(60, -2.0F, 2.0F);
  for (int axis = 0; axis < 3; ++axis) {
    const std::size_t inner = axis == 0 ? 15 : (axis == 1 ? 5 : 1);
    const auto channels = static_cast<std::size_t>(shape[static_cast<std::size_t>(axis)]);
    ASSERT_GT(channels, 0U);
    std::vector<float> largest(channels, 0.0F);
    for (std::size_t i = 0; i < w.size(); ++i) {
      float& m = largest[i / inner % channels];
      m = std::max(m, std::fabs(w[i]));
    }
    const std::vector<float> scales = symmetric_per_channel_scales(w, shape, axis);
    const std::vector<float> inverses = symmetric_per_channel_inverse_scales(w, shape, axis);
    std::vector<std::int8_t> codes(w.size());
    symmetric_per_channel_quantize(w, shape, axis, inverses, codes);
    for (std::size_t c = 0; c < channels; ++c) {
      EXPECT_EQ(scales[c], largest[c] / 127.0F);
      EXPECT_EQ(inverses[c], 127.0F / largest[c]);
    }
    for (std::size_t i = 0; i < w.size(); ++i) {
      EXPECT_EQ(codes[i], std::round(w[i] * inverses[i / inner % channels]));
      EXPECT_LE(std::abs(int{codes[i]}), 127);
    }
  }
}

TEST(Symmetric, ZeroAndTinyChannels) {
  const std::vector<float> w{0.0F, -0.0F, 1e-45F, 1e-40F, -1.0F, 0.5F};
  const Shape shape{3, 2};
  const std::vector<float> scales = symmetric_per_channel_scales(w, shape, 0);
  EXPECT_EQ(scales, (std::vector<float>{static_cast<float>(1e-6 / 254),
                                        static_cast<float>(1e-6 / 254), 1.0F / 127.0F}));
  const std::vector<float> inverses = symmetric_per_channel_inverse_scales(w, shape, 0);
  EXPECT_EQ(inverses, (std::vector<float>{0.0F, 0.0F, 127.0F}));
  std::vector<std::int8_t> codes(6);
  symmetric_per_channel_quantize(w, shape, 0, inverses, codes);
  EXPECT_EQ(codes, (std::vector<std::int8_t>{0, 0, 0, 0, -127, 64}));
}

TEST(Symmetric, NeverReachesMinus128) {
  std::vector<std::int8_t> codes(2);
  symmetric_per_channel_quantize(std::vector<float>{-500.0F, 500.0F}, Shape{1, 2}, 0,
                                 std::vector<float>{1.0F}, codes);
  EXPECT_EQ(codes, (std::vector<std::int8_t>{-127, 127}));
}

TEST(Symmetric, Errors) {
  const std::vector<float> w(6);
  std::vector<std::int8_t> codes(6);
  expect_throws<InvalidArgument>(
      [&] {
        (void)symmetric_per_channel_scales(w, Shape{3, 2}, 2);
      },
      {"axis 2"});
  expect_throws<InvalidArgument>(
      [&] {
        (void)symmetric_per_channel_scales(w, Shape{3, 3}, 0);
      },
      {"9"});
  expect_throws<NumericError>(
      [] {
        (void)symmetric_per_channel_scales(std::vector<float>{1.0F, kNan}, Shape{2}, 0);
      },
      {"weight 1", "nan"});
  expect_throws<InvalidArgument>(
      [&] {
        symmetric_per_channel_quantize(w, Shape{3, 2}, 0, std::vector<float>{1.0F}, codes);
      },
      {"3 inverse scales"});
}

TEST(Bias, ScalesAreComputedInDouble) {
  const std::vector<double> scales = bias_scales(0.1F, std::vector<float>{0.3F, 0.7F});
  EXPECT_EQ(scales,
            (std::vector<double>{double{0.1F} * double{0.3F}, double{0.1F} * double{0.7F}}));
  EXPECT_NE(scales[0], double{0.1F * 0.3F});
  for (const float bad : {0.0F, -1.0F, kInf, kNan}) {
    expect_throws<InvalidArgument>([&] { (void)bias_scales(bad, std::vector<float>{1.0F}); },
                                   {"scale"});
    expect_throws<InvalidArgument>([&] { (void)bias_scales(1.0F, std::vector<float>{bad}); },
                                   {"scale"});
  }
}

TEST(Bias, Quantize) {
  std::vector<std::int32_t> codes(4);
  quantize_bias(std::vector<float>{0.25F, -0.25F, 0.75F, -1e30F}, std::vector<double>{0.5}, codes,
                "bias");
  EXPECT_EQ(codes, (std::vector<std::int32_t>{1, -1, 2, kInt32Min}));
  quantize_bias(std::vector<float>{1, 1, 1, 1}, std::vector<double>{1, 0.5, 0.25, 1e-20}, codes,
                "bias");
  EXPECT_EQ(codes, (std::vector<std::int32_t>{1, 2, 4, kInt32Max}));
  expect_throws<NumericError>(
      [&] {
        quantize_bias(std::vector<float>{0, 0, kNan, 0}, std::vector<double>{1}, codes, "d/bias");
      },
      {"d/bias", "bias 2"});
  expect_throws<InvalidArgument>(
      [&] {
        quantize_bias(std::vector<float>{0, 0}, std::vector<double>{1, 1, 1}, codes, "d/bias");
      },
      {"d/bias", "3 for 2"});
  expect_throws<InvalidArgument>(
      [&] { quantize_bias(std::vector<float>{0}, std::vector<double>{1}, codes, "b"); },
      {"1", "4"});
  expect_throws<InvalidArgument>(
      [&] {
        quantize_bias(std::vector<float>{0}, std::vector<double>{0}, std::span(codes).first(1),
                      "b");
      },
      {"scale 0"});
}

TEST(Bias, EnlargesScalesThatAreTooSmall) {
  constexpr std::int32_t kLargestCode = kInt32Max / 2;
  constexpr double kLimit = kLargestCode;
  const std::vector<float> bias{1.0F, -3.0F, 0.0F};
  std::vector<float> scales{1e-10F, 1e-10F, 1e-10F};
  EXPECT_EQ(fit_weight_scales_to_bias(bias, 0.5F, scales, "b"), 2U);
  EXPECT_EQ(scales[2], 1e-10F);
  for (std::size_t c = 0; c < 2; ++c) {
    const double steps = std::fabs(double{bias[c]}) / (0.5 * double{scales[c]});
    EXPECT_LT(steps, kLimit);
    EXPECT_GT(steps, kLimit * 0.999);
  }
  // One scale for all follows the largest bias.
  std::vector<float> one{1e-10F};
  EXPECT_EQ(fit_weight_scales_to_bias(bias, 0.5F, one, "b"), 1U);
  EXPECT_EQ(one[0], scales[1]);
  std::vector<float> largest_first{1e-10F};
  fit_weight_scales_to_bias(std::vector<float>{-3.0F, 1.0F}, 0.5F, largest_first, "b");
  EXPECT_EQ(largest_first[0], scales[1]);
  std::vector<float> fine{0.01F};
  EXPECT_EQ(fit_weight_scales_to_bias(bias, 0.5F, fine, "b"), 0U);
  EXPECT_EQ(fine[0], 0.01F);
  // Only the smaller scale of two is too small; only the negative bias is too large.
  std::vector<float> first{1e-10F, 1.0F};
  EXPECT_EQ(fit_weight_scales_to_bias(std::vector<float>{1.0F, 1.0F}, 0.5F, first, "b"), 1U);
  std::vector<float> negative{3e-9F};
  EXPECT_EQ(fit_weight_scales_to_bias(std::vector<float>{-3.0F, 1.0F}, 0.5F, negative, "b"), 1U);
  // Exactly at the limit counts as too small.
  std::vector<float> exact{0.5F};
  EXPECT_EQ(fit_weight_scales_to_bias(std::vector<float>{1073741824.0F}, 2.0F, exact, "b"), 1U);
  expect_throws<NumericError>(
      [] {
        std::vector<float> tiny{1e-30F};
        fit_weight_scales_to_bias(std::vector<float>{3e38F}, 1e-30F, tiny, "d/bias");
      },
      {"d/bias", "too large"});
}

}  // namespace
}  // namespace octet::test::weights_test
