#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/runtime/operators/mean.h>
#include <octet/tests/runtime/mean_models.h>

namespace octet::test::mean_test {
namespace {

using detail::QuantizedMean;

/// One image, three contracts: LiteRT's own kernels tell axes that stay from axes that go.
TEST(Mean, ContractsDiffer) {
  Mean m;
  m.image = {1, 2, 3, 1};
  m.in = quant(0.05F, -128);
  m.out = quant(0.05F, -128);
  const auto differing = [&](Rounding a, bool keep_a, Rounding b, bool keep_b) {
    const auto means = [&](Rounding rounding, bool keep, std::int32_t sum) {
      m.keep_dims = keep;
      return QuantizedMean::make(m.in, m.out, m.pixels(), keep, rounding).apply(sum);
    };
    int count = 0;
    for (std::int32_t sum = -128 * 6; sum <= 127 * 6; ++sum) {
      count += means(a, keep_a, sum) == means(b, keep_b, sum) ? 0 : 1;
    }
    return count;
  };
  constexpr Rounding kSingle = Rounding::single_rounding;
  constexpr Rounding kDouble = Rounding::double_rounding;
  EXPECT_EQ(differing(kSingle, false, kDouble, false), 0);
  EXPECT_EQ(differing(kDouble, true, kDouble, false), 0);
  EXPECT_EQ(differing(Rounding::fp32, true, Rounding::fp32, false), 0);
  EXPECT_GT(differing(kSingle, true, kDouble, true), 0);
  EXPECT_GT(differing(Rounding::fp32, false, kDouble, false), 0);
}

TEST(QuantizedMean, GrowsWithTheSumAndTakesTheLargest) {
  Draw draw(8);
  for (int round = 0; round < 90; ++round) {
    const Mean m = draw_mean(draw);
    const std::int32_t n = round % 9 == 0 ? QuantizedMean::kMostValues : draw.between(1, 400);
    const Rounding rounding = kContracts.at(static_cast<std::size_t>(round) % 3);
    const QuantizedMean mean = QuantizedMean::make(m.in, m.out, n, m.keep_dims, rounding);
    const std::int64_t steps = std::min(255 * std::int64_t{n}, std::int64_t{20000});
    std::int32_t last = -128;
    for (std::int64_t i = 0; i <= steps; ++i) {
      const auto sum = static_cast<std::int32_t>(i * 255 * n / steps - 128 * std::int64_t{n});
      const std::int32_t code = mean.apply(sum);
      ASSERT_GE(code, last) << round << " " << sum;
      ASSERT_EQ(code, naive_mean(sum, n, m, rounding)) << round << " " << sum;
      last = code;
    }
  }
}

TEST(QuantizedMean, RefusesGridsAndCountsThatMeanDoesNotHave) {
  const QuantParams sound = quant(0.1F, 3);
  const auto make = [&](const QuantParams& in, const QuantParams& out, std::int32_t count) {
    return QuantizedMean::make(in, out, count, false, Rounding::fp32);
  };
  EXPECT_NO_THROW(make(sound, sound, 1));
  EXPECT_THROW(make(sound, sound, 0), InvalidArgument);
  EXPECT_THROW(make(sound, sound, QuantizedMean::kMostValues + 1), InvalidArgument);
  EXPECT_THROW(make(quant(0.0F, 0), sound, 1), InvalidArgument);
  EXPECT_THROW(make(sound, quant(0.1F, 128), 1), InvalidArgument);
  EXPECT_THROW(make(quant(1e30F, 0), quant(1e-30F, 0), 1), NumericError);
}

TEST(Mean, RefusesMorePixelsThanItsSumsHold) {
  Mean large;
  large.image = {1, 4096, 2048, 1};
  EXPECT_THROW(model_of(large).validate(), FormatError);
  EXPECT_NO_THROW(model_of(large, DType::float32).validate());
  large.image[2] = 2047;
  EXPECT_NO_THROW(model_of(large).validate());
}

}  // namespace
}  // namespace octet::test::mean_test
