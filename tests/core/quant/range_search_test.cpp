#include <octet/core/quant/range_search.h>

#include <algorithm>
#include <array>
#include <cmath>

#include <gtest/gtest.h>

#include <octet/core/error.h>
#include <octet/core/parallel.h>
#include <octet/core/quant/histogram.h>
#include <octet/tests/core/keep_threads.h>
#include <octet/tests/core/quant/quant_testing.h>

namespace octet::test::range_search_test {
namespace {

MagnitudeHistogram histogram_of(std::span<const float> values) {
  MagnitudeHistogram histogram;
  histogram.add(values);
  return histogram;
}

/// Mostly small, with a few outliers: what trained weights look like.
std::vector<float> bell(std::uint32_t seed, std::size_t size, float lift = 0.0F) {
  PortableRandom random(seed);
  std::vector<float> values(size);
  for (float& x : values) {
    float sum = 0.0F;
    for (int i = 0; i < 6; ++i) sum += random.real(-1.0F, 1.0F);
    x = sum * sum * sum * 0.01F + lift;
  }
  return values;
}

/// (x - the nearest real of the grid)^2, summed: a loop over all codes instead of a quantizer.
double error_by_hand(std::span<const float> values, const QuantParams& grid) {
  double sum = 0.0;
  for (const float x : values) {
    double nearest = 1e300;
    for (std::int32_t q = grid.qmin; q <= grid.qmax; ++q) {
      const double real = (q - grid.zero_point()) * double{grid.scale()};
      nearest = std::min(nearest, std::fabs(real - double{x}));
    }
    sum += nearest * nearest;
  }
  return sum;
}

double error_of_clip(std::span<const float> values, float clip, const QuantSpec& spec) {
  const auto [low, high] = std::ranges::minmax(values);
  const float t = clip * std::max(-low, high);
  const float min = std::max(std::min(low, 0.0F), -t);
  const float max = std::min(std::max(high, 0.0F), t);
  return error_by_hand(values, choose_quant_params(min, max, spec, "x"));
}

/// The smallest error of all clips, by hand.
double least_error(std::span<const float> values, const QuantSpec& spec) {
  double least = 1e300;
  for (int j = 1; j <= 100; ++j) {
    least = std::min(least, error_of_clip(values, static_cast<float>(j) / 100.0F, spec));
  }
  return least;
}

TEST(MseClip, IsTheBestOfAHundredByHand) {
  std::uint32_t seed = 0;
  for (const int bits : {2, 3, 4, 6, 8}) {
    for (const bool narrow : {true, false}) {
      for (const bool symmetric : {true, false}) {
        for (const float lift : {0.0F, 0.7F}) {
          const QuantSpec spec{.num_bits = bits, .narrow_range = narrow, .symmetric = symmetric};
          const std::vector<float> values = bell(++seed, 301, lift);
          const float clip = mse_clip(values, spec, "x");
          EXPECT_LE(error_of_clip(values, clip, spec), least_error(values, spec) * (1.0 + 1e-9))
              << bits << narrow << symmetric << lift;
        }
      }
    }
  }
}

TEST(MseClip, ClipsOutliersAtFewBitsAndHardlyAtEight) {
  const std::vector<float> values = bell(5, 2000);
  const float at_4 = mse_clip(values, {.num_bits = 4, .symmetric = true}, "x");
  const float at_8 = mse_clip(values, {.num_bits = 8, .symmetric = true}, "x");
  EXPECT_LT(at_4, 0.7F);
  EXPECT_GT(at_8, at_4);
}

TEST(MseClip, TakesCodesThatInt8DoesNotHold) {
  const std::vector<float> values = bell(6, 200);
  const QuantSpec bytes{.is_signed = false};
  EXPECT_LE(error_of_clip(values, mse_clip(values, bytes, "x"), bytes),
            least_error(values, bytes) * (1.0 + 1e-9));
  EXPECT_GT(mse_clip(values, {.num_bits = 16, .symmetric = true}, "x"), 0.98F);
}

TEST(MseClip, OfEqualErrorsIsTheSmallest) {
  // Without values, all errors are 0.
  EXPECT_EQ(mse_clip(MagnitudeHistogram(), {-1.0F, 10.0F}, {.num_bits = 4}, "x"), 0.01F);
}

TEST(MseClip, LeavesWhatIsTooNarrowForAGridAlone) {
  EXPECT_EQ(mse_clip(std::vector<float>(5), {.num_bits = 4, .symmetric = true}, "x"), 1.0F);
  EXPECT_EQ(mse_clip(std::vector<float>{}, {.num_bits = 4, .symmetric = true}, "x"), 1.0F);
  EXPECT_EQ(mse_clip(std::vector{1e-7F, -2e-8F}, {.num_bits = 4}, "x"), 1.0F);
}

TEST(MseClip, RefusesWhatIsNotFinite) {
  for (const float x : {kNan, kInf}) {
    expect_throws<NumericError>(
        [&] {
          (void)mse_clip(std::vector{1.0F, x}, {}, "dense/kernel");
        },
        {"dense/kernel"});
  }
}

TEST(MseClip, DoesNotDependOnThreads) {
  const KeepThreads keep;
  const std::vector<float> values = bell(9, 50000);
  set_num_threads(1);
  const QuantSpec spec{.num_bits = 3, .symmetric = true};
  const float clip = mse_clip(values, spec, "x");
  for (const int threads : {2, 5}) {
    set_num_threads(threads);
    EXPECT_EQ(mse_clip(values, spec, "x"), clip);
  }
}

TEST(MseClip, OfAHistogramIsNearlyThatOfTheValues) {
  std::uint32_t seed = 40;
  for (const int bits : {2, 4, 8}) {
    for (const float lift : {0.0F, 0.3F}) {
      const QuantSpec spec{.num_bits = bits};
      const std::vector<float> values = bell(++seed, 3000, lift);
      const MinMax limits = min_max(values);
      const float clip = mse_clip(histogram_of(values), limits, spec, "x");
      EXPECT_LE(error_of_clip(values, clip, spec), least_error(values, spec) * 1.02) << bits;
    }
  }
}

TEST(Percentile, OfTheWorkedExample) {
  const std::vector<float> values = {0.1F, -0.2F, 0.3F,  0.4F, -0.5F,
                                     0.6F, 0.7F,  -0.8F, 0.9F, 10.0F};
  EXPECT_EQ(percentile_magnitude(values, 90.0, "x"), 0.9F);
  EXPECT_EQ(percentile_magnitude(values, 100.0, "x"), 10.0F);
  const MagnitudeHistogram histogram = histogram_of(values);
  const MinMax limits = min_max(values);
  const double found = percentile_magnitude(histogram, limits, 90.0, "x");
  EXPECT_GE(found, 0.9F);
  EXPECT_LE(found, 0.9 + histogram.width());
  EXPECT_EQ(percentile_magnitude(histogram, limits, 100.0, "x"), 10.0F);
}

TEST(Percentile, IsTheKthOfTheSortedMagnitudes) {
  PortableRandom random(11);
  for (int i = 0; i < 50; ++i) {
    const auto n = static_cast<std::size_t>(random.integer(1, 400));
    std::vector<float> values = random.reals(n, -3.0F, 2.0F);
    // Zeros count as all others.
    for (std::size_t j = 0; j < n / 3; ++j) values[j] = 0.0F;
    std::vector<float> sorted = values;
    for (float& x : sorted) x = std::fabs(x);
    std::ranges::sort(sorted);
    const double percentile = random.real(0.01F, 100.0F);
    const double k = std::max(1.0, std::floor(percentile / 100.0 * static_cast<double>(n) + 0.5));
    const float expected = sorted[static_cast<std::size_t>(k) - 1];
    EXPECT_EQ(percentile_magnitude(values, percentile, "x"), expected);
    const MagnitudeHistogram histogram = histogram_of(values);
    const float in_bins = percentile_magnitude(histogram, min_max(values), percentile, "x");
    EXPECT_GE(in_bins, expected);
    EXPECT_LE(in_bins, double{expected} + histogram.width());
  }
  EXPECT_EQ(percentile_magnitude(std::vector<float>{}, 50.0, "x"), 0.0F);
  // k is 0 where there are too few.
  EXPECT_EQ(percentile_magnitude(std::vector{2.0F, -1.0F}, 10.0, "x"), 1.0F);
}

TEST(Percentile, RefusesOthersByName) {
  for (const double percentile : {0.0, -1.0, 100.5, std::nan("")}) {
    expect_throws<InvalidArgument>(
        [&] { (void)percentile_magnitude(std::vector{1.0F}, percentile, "dense/kernel"); },
        {"dense/kernel", "percentile"});
  }
}

/// The rule of entropy_magnitude(), bin by bin: the number of bins that are kept.
std::size_t bins_by_hand(const MagnitudeHistogram& histogram, std::size_t levels) {
  const std::vector<std::uint64_t> counts = histogram.magnitudes();
  std::vector<double> bins(counts.begin(), counts.end());
  bins[0] = bins[1];
  double least = 1e300;
  std::size_t best = 0;
  std::size_t used = 0;
  double all = 0.0;
  for (std::size_t j = 0; j < bins.size(); ++j) {
    all += bins[j];
    if (bins[j] > 0) used = j + 1;
  }
  for (std::size_t size = levels; size <= used; ++size) {
    std::vector<double> p(bins.begin(), bins.begin() + static_cast<std::ptrdiff_t>(size));
    std::vector<double> sums(levels);
    std::vector<double> filled(levels);
    double kept = 0.0;
    for (std::size_t j = 0; j < size; ++j) {
      if (bins[j] > 0) filled[j * levels / size] += 1.0;
      sums[j * levels / size] += bins[j];
      kept += bins[j];
    }
    p[size - 1] += all - kept;
    double sum = 0.0;
    for (std::size_t j = 0; j < size; ++j) {
      if (p[j] == 0.0) continue;
      const std::size_t group = j * levels / size;
      const double q = bins[j] > 0 ? sums[group] / filled[group] / kept : 0.0;
      sum += p[j] / all * std::log(p[j] / all / q);
    }
    if (sum < least * (1.0 - 1e-12)) {
      least = sum;
      best = size;
    }
  }
  return best;
}

TEST(Entropy, IsTheLeastDivergenceByHand) {
  std::uint32_t seed = 20;
  for (const bool one_sign : {false, true}) {
    for (const bool symmetric : {true, false}) {
      const QuantSpec spec{.symmetric = symmetric};
      int by_levels = 0;
      for (int i = 0; i < 4; ++i) {
        std::vector<float> values = bell(++seed, 1000);
        for (float& x : values) x = one_sign ? std::fabs(x) : x;
        const MinMax limits = min_max(values);
        const MagnitudeHistogram histogram = histogram_of(values);
        const auto by_hand = [&](std::size_t levels) {
          const auto bins = static_cast<double>(bins_by_hand(histogram, levels));
          return static_cast<float>(std::min(bins * histogram.width(), double{magnitude(limits)}));
        };
        const float expected = by_hand(one_sign && !symmetric ? 256 : 128);
        EXPECT_FLOAT_EQ(entropy_magnitude(histogram, limits, spec, "x"), expected);
        EXPECT_LT(expected, magnitude(limits));
        by_levels += by_hand(256) != by_hand(128) ? 1 : 0;
      }
      EXPECT_GT(by_levels, 0) << "nothing tells 128 levels from 256";
    }
  }
}

TEST(Entropy, LeavesALoneOutlierOut) {
  std::vector<float> values = PortableRandom(3).reals(20000, -1.0F, 1.0F);
  values.push_back(12.0F);
  const float t =
      entropy_magnitude(histogram_of(values), min_max(values), {.symmetric = true}, "x");
  EXPECT_GT(t, 0.9F);
  EXPECT_LT(t, 2.0F);
}

TEST(Entropy, OfAFewBinsKeepsAll) {
  const std::vector<float> zeros(10);
  EXPECT_EQ(entropy_magnitude(histogram_of(zeros), min_max(zeros), {}, "x"), 0.0F);
}

TEST(Entropy, DoesNotDependOnThreads) {
  const KeepThreads keep;
  const std::vector<float> values = bell(31, 30000);
  const MagnitudeHistogram histogram = histogram_of(values);
  set_num_threads(1);
  const float t = entropy_magnitude(histogram, min_max(values), {}, "x");
  set_num_threads(4);
  EXPECT_EQ(entropy_magnitude(histogram, min_max(values), {}, "x"), t);
}

TEST(Entropy, RefusesOtherBitsThanEight) {
  for (const int bits : {2, 4, 7, 16}) {
    expect_throws<InvalidArgument>(
        [&] {
          (void)entropy_magnitude(MagnitudeHistogram(), {}, {.num_bits = bits}, "dense/output");
        },
        {"dense/output", "8 bits", std::to_string(bits)});
  }
}

}  // namespace
}  // namespace octet::test::range_search_test
