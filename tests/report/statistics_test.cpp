#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/report/statistics.h>

#include <array>
#include <cmath>
#include <vector>

namespace octet::test::statistics_test {
namespace {

// Newcombe, Statistics in Medicine 1998, table I, method 3: Wilson's score interval.
TEST(WilsonInterval, IsThatOfPublishedExamples) {
  const Proportion first = wilson_interval(81, 263);
  EXPECT_NEAR(first.low, 0.2553, 5e-5);
  EXPECT_NEAR(first.high, 0.3662, 5e-5);
  const Proportion second = wilson_interval(15, 148);
  EXPECT_NEAR(second.low, 0.0624, 5e-5);
  EXPECT_NEAR(second.high, 0.1605, 5e-5);
  const Proportion none = wilson_interval(0, 20);
  EXPECT_EQ(none.low, 0.0);
  EXPECT_NEAR(none.high, 0.1611, 5e-5);
  const Proportion one = wilson_interval(1, 29);
  EXPECT_NEAR(one.low, 0.0061, 5e-5);
  EXPECT_NEAR(one.high, 0.1718, 5e-5);
}

TEST(WilsonInterval, HoldsAtItsEnds) {
  const Proportion all = wilson_interval(10, 10);
  // 1 / (1 + z^2 / n)
  EXPECT_NEAR(all.low, 10.0 / (10.0 + 1.959964 * 1.959964), 1e-6);
  EXPECT_EQ(all.high, 1.0);
  EXPECT_EQ(wilson_interval(0, 0), (Proportion{.count = 0, .total = 0, .low = 0.0, .high = 1.0}));
  EXPECT_THROW(wilson_interval(3, 2), InvalidArgument);
}

TEST(McNemarTest, IsExactForSmallCounts) {
  // 2 (1 + 6) / 64
  EXPECT_NEAR(mcnemar_test(1, 5).p, 0.21875, 1e-12);
  EXPECT_NEAR(mcnemar_test(5, 1).p, 0.21875, 1e-12);
  // 2 / 32
  EXPECT_NEAR(mcnemar_test(0, 5).p, 0.0625, 1e-12);
  // 2 (1 + 10 + 45) / 1024
  EXPECT_NEAR(mcnemar_test(2, 8).p, 0.109375, 1e-12);
  EXPECT_EQ(mcnemar_test(3, 3).p, 1.0);
  EXPECT_EQ(mcnemar_test(0, 0).p, 1.0);
}

TEST(McNemarTest, TakesCountsWhoseTermsAreNoDoubles) {
  EXPECT_EQ(mcnemar_test(1000, 1000).p, 1.0);
  EXPECT_LT(mcnemar_test(0, 5000).p, 1e-300);
  // 1900 of 4000 is 3.16 standard deviations from the middle.
  EXPECT_NEAR(mcnemar_test(1900, 2100).p, 0.00164, 1e-5);
}

TEST(McNemarTest, CountsWhatOneAloneHasRight) {
  const std::vector<std::int32_t> labels = {0, 1, 2, 3, 4};
  const std::vector<std::int32_t> first = {0, 1, 2, 0, 0};
  const std::vector<std::int32_t> second = {0, 0, 0, 3, 1};
  const PairedTest test = mcnemar_test(first, second, labels);
  EXPECT_EQ(test.only_first_right, 2U);
  EXPECT_EQ(test.only_second_right, 1U);
  EXPECT_EQ(test.p, 1.0);
  EXPECT_THROW(mcnemar_test(first, second, std::span(labels).first(4)), InvalidArgument);
}

TEST(NoiseSums, GiveTheRatioInDecibels) {
  NoiseSums sums;
  EXPECT_FALSE(sums.sqnr_db());
  sums.add(3.0, 3.0);
  EXPECT_TRUE(std::isinf(*sums.sqnr_db()));
  sums.add(4.0, 3.5);
  // 10 log10(25 / 0.25)
  EXPECT_NEAR(*sums.sqnr_db(), 20.0, 1e-12);
}

TEST(Median, IsTheMiddleOrTheMeanOfTwo) {
  EXPECT_EQ(median({}), 0.0);
  EXPECT_EQ(median(std::array{5.0, 1.0, 3.0}), 3.0);
  EXPECT_EQ(median(std::array{5.0, 1.0, 3.0, 2.0}), 2.5);
}

}  // namespace
}  // namespace octet::test::statistics_test
