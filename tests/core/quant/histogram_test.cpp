#include <octet/core/quant/histogram.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include <gtest/gtest.h>

#include <octet/core/error.h>
#include <octet/core/parallel.h>
#include <octet/tests/core/keep_threads.h>
#include <octet/tests/core/quant/quant_testing.h>

namespace octet::test::histogram_test {
namespace {

MagnitudeHistogram histogram_of(std::span<const float> values) {
  MagnitudeHistogram histogram;
  histogram.add(values);
  return histogram;
}

TEST(Histogram, CountsMagnitudesBySign) {
  const std::vector<float> values = {0.0F, -0.0F, 0.5F, 1.5F, 1.999F, -1.5F, -0.0009F};
  const MagnitudeHistogram histogram = histogram_of(values);
  EXPECT_EQ(histogram.exponent(), 1);
  EXPECT_EQ(histogram.width(), 2.0 / 2048.0);
  EXPECT_EQ(histogram.count(), values.size());
  std::map<std::size_t, std::uint64_t> positive;
  std::map<std::size_t, std::uint64_t> negative;
  for (std::size_t i = 0; i < MagnitudeHistogram::kBins; ++i) {
    if (histogram.positive()[i] > 0) positive[i] = histogram.positive()[i];
    if (histogram.negative()[i] > 0) negative[i] = histogram.negative()[i];
  }
  EXPECT_EQ(positive,
            (std::map<std::size_t, std::uint64_t>{{0, 2}, {512, 1}, {1536, 1}, {2046, 1}}));
  EXPECT_EQ(negative, (std::map<std::size_t, std::uint64_t>{{0, 1}, {1536, 1}}));
  EXPECT_EQ(histogram.magnitudes()[1536], 2U);
}

TEST(Histogram, TheEndOfARangeBelongsToTheNext) {
  EXPECT_EQ(histogram_of(std::vector{1.0F}).exponent(), 1);
  EXPECT_EQ(histogram_of(std::vector{1.0F}).positive()[1024], 1U);
  EXPECT_EQ(histogram_of(std::vector{std::nextafter(1.0F, 0.0F)}).exponent(), 0);
  EXPECT_EQ(histogram_of(std::vector{kFltMax}).positive()[2047], 1U);
  const float smallest = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(histogram_of(std::vector{smallest}).positive()[1024], 1U);
}

/// Values of many sizes, half of them negative, zeros among them.
std::vector<float> values_of_all_sizes(std::uint32_t seed, std::size_t size) {
  PortableRandom random(seed);
  std::vector<float> values(size);
  for (float& x : values) {
    x = random.positive(1e-6F, 50.0F) * (random.integer(0, 1) == 0 ? 1.0F : -1.0F);
    if (random.integer(0, 9) == 0) x = 0.0F;
  }
  return values;
}

TEST(Histogram, DoesNotDependOnOrderBatchesOrThreads) {
  const KeepThreads keep;
  std::vector<float> values = values_of_all_sizes(1, 100000);
  set_num_threads(1);
  const std::vector<float> expected = histogram_of(values).packed();
  std::ranges::sort(values);
  for (const int threads : {1, 2, 5}) {
    set_num_threads(threads);
    EXPECT_EQ(histogram_of(values).packed(), expected) << threads;
    MagnitudeHistogram in_batches;
    for (std::size_t begin = 0; begin < values.size(); begin += 12345) {
      const std::size_t size = std::min<std::size_t>(12345, values.size() - begin);
      in_batches.add(std::span(values).subspan(begin, size));
    }
    EXPECT_EQ(in_batches.packed(), expected) << threads;
  }
}

TEST(Histogram, GrowsAsIfItHadBeenThatWideAlways) {
  MagnitudeHistogram histogram = histogram_of(std::vector{0.0F, 0.0F});
  std::vector<float> all = {0.0F, 0.0F};
  for (const float scale : {1e-30F, 1e-3F, 1e-3F, 1.0F, 7.0F, 30.0F, 1e20F}) {
    std::vector<float> more = values_of_all_sizes(static_cast<std::uint32_t>(all.size()), 200);
    for (float& x : more) x *= scale / 50.0F;
    histogram.add(more);
    all.insert(all.end(), more.begin(), more.end());
    std::vector<std::uint64_t> counts(MagnitudeHistogram::kBins);
    for (const float x : all) {
      ++counts[static_cast<std::size_t>(std::floor(std::fabs(double{x}) / histogram.width()))];
    }
    EXPECT_EQ(histogram.magnitudes(), counts) << scale;
    EXPECT_EQ(histogram.count(), all.size());
  }
}

TEST(Histogram, AddsWhatAnotherHasCountedSince) {
  for (const float scale : {1e-9F, 1.0F, 1e9F}) {
    const std::vector<float> before = values_of_all_sizes(1, 300);
    std::vector<float> first = values_of_all_sizes(2, 200);
    for (float& x : first) x *= scale;
    const std::vector<float> second = values_of_all_sizes(3, 100);
    const MagnitudeHistogram start = histogram_of(before);
    MagnitudeHistogram one = start;
    one.add(first);
    MagnitudeHistogram other = start;
    other.add(second);
    MagnitudeHistogram sum = start;
    sum.add_new(one, start);
    sum.add_new(other, start);
    MagnitudeHistogram expected = one;
    expected.add(second);
    EXPECT_EQ(sum.packed(), expected.packed()) << scale;
    EXPECT_EQ(sum.count(), 600U);
    EXPECT_THROW(sum.add_new(start, one), InvalidArgument);
  }
}

TEST(Histogram, IsPackedWithoutLoss) {
  std::vector<float> packed = histogram_of(values_of_all_sizes(3, 500)).packed();
  // Counts beyond the whole numbers of float32.
  packed[1] = 16777215.0F;
  packed[1 + 2 * MagnitudeHistogram::kBins] = 7.0F;
  MagnitudeHistogram histogram = MagnitudeHistogram::unpacked(packed, "x");
  EXPECT_EQ(histogram.packed(), packed);
  EXPECT_EQ(histogram.positive()[0], 8U * 16777216U - 1U);
  histogram.add(std::vector{0.0F});
  EXPECT_EQ(histogram.positive()[0], 8U * 16777216U);
}

TEST(Histogram, RefusesWhatIsNoHistogram) {
  const std::vector<float> whole = histogram_of(std::vector{1.0F}).packed();
  const auto refused = [&](std::size_t at, float number) {
    std::vector<float> broken = whole;
    broken[at] = number;
    expect_throws<NumericError>(
        [&] { static_cast<void>(MagnitudeHistogram::unpacked(broken, "dense/x")); },
        {"dense/x", "histogram"});
  };
  for (const float exponent : {kNan, kInf, -150.0F, 129.0F, 0.5F}) refused(0, exponent);
  for (const float count : {kNan, -1.0F, 0.5F, 16777216.0F}) {
    refused(1, count);
    refused(whole.size() - 1, count);
  }
  const auto few = std::span(whole).first(10);
  EXPECT_THROW(static_cast<void>(MagnitudeHistogram::unpacked(few, "x")), NumericError);
  for (const float x : {kNan, kInf, -kInf}) {
    EXPECT_THROW(histogram_of(std::vector{0.0F, x}), NumericError);
  }
}

TEST(Histogram, RefusesMoreValuesThanItCanSave) {
  std::vector<float> packed = MagnitudeHistogram().packed();
  packed[1] = 16777215.0F;
  packed[1 + 2 * MagnitudeHistogram::kBins] = 16777215.0F;
  MagnitudeHistogram histogram = MagnitudeHistogram::unpacked(packed, "x");
  expect_throws<InvalidArgument>([&] { histogram.add(std::vector{1.0F}); }, {"2^48"});
}

}  // namespace
}  // namespace octet::test::histogram_test
