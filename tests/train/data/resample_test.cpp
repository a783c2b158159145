#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/tests/core/thrown.h>
#include <octet/train/data/resample.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <span>
#include <vector>

namespace octet::test::resample_test {
namespace {

using std::numbers::pi;

std::vector<float> noise(std::size_t count) {
  std::vector<float> signal(count);
  for (std::size_t i = 0; i < count; ++i) {
    signal[i] = static_cast<float>(std::sin(1.0 + static_cast<double>(i * i % 977) * 12.9898));
  }
  return signal;
}

std::vector<float> sine(std::size_t count, double hz, int rate) {
  std::vector<float> signal(count);
  for (std::size_t i = 0; i < count; ++i) {
    signal[i] = static_cast<float>(std::sin(2.0 * pi * hz * static_cast<double>(i) / rate + 0.3));
  }
  return signal;
}

/// The formula of Resampler as it stands there, sample by sample.
std::vector<double> naive(const std::vector<float>& x, int from, int to) {
  const double ratio = static_cast<double>(to) / from;
  const double c = 0.9 * std::min(1.0, ratio);
  const auto h = [&](double u) {
    const double v = c * u;
    if (std::abs(v) >= 32.0) return 0.0;
    const double window = 0.42 + 0.5 * std::cos(pi * v / 32.0) + 0.08 * std::cos(pi * v / 16.0);
    return (v == 0.0 ? 1.0 : std::sin(pi * v) / (pi * v)) * window;
  };
  std::vector<double> y;
  for (std::size_t n = 0;
       n * static_cast<std::size_t>(from) < x.size() * static_cast<std::size_t>(to); ++n) {
    const double place = static_cast<double>(n) / ratio;
    double sum = 0.0;
    double weights = 0.0;
    const long reach = std::lround(std::ceil(32.0 / c)) + 1;
    const long middle = std::lround(std::floor(place));
    for (long k = middle - reach; k <= middle + reach; ++k) {
      const double weight = h(place - static_cast<double>(k));
      weights += weight;
      if (k >= 0 && k < std::ssize(x)) sum += x[static_cast<std::size_t>(k)] * weight;
    }
    y.push_back(sum / weights);
  }
  return y;
}

struct Rates {
  int from;
  int to;
};

constexpr Rates kRates[] = {{44100, 16000}, {16000, 44100}, {48000, 16000}, {8000, 16000},
                            {16000, 8000},  {22050, 16000}, {11025, 8000},  {100, 7},
                            {3, 1000},      {16000, 16000}, {47999, 48000}};

TEST(Resample, IsTheFormula) {
  for (const auto& [from, to] : kRates) {
    for (const std::size_t count : {1U, 2U, 77U, 400U}) {
      const std::vector<float> x = noise(count);
      const std::vector<double> expected = naive(x, from, to);
      const Resampler resampler(from, to);
      const std::vector<float> found = resampler.resample(x, 1);
      ASSERT_EQ(found.size(), expected.size()) << from << ' ' << to << ' ' << count;
      ASSERT_EQ(resampler.samples(count), expected.size());
      for (std::size_t n = 0; n < found.size(); ++n) {
        ASSERT_NEAR(found[n], expected[n], 2e-6) << from << ' ' << to << ' ' << n;
      }
    }
  }
}

TEST(Resample, SinesStaySinesUpToAFrequencyAndVanishAboveAnother) {
  for (const auto& [from, to] : kRates) {
    const double half = 0.5 * std::min(from, to);
    const Resampler resampler(from, to);
    const double ratio = static_cast<double>(to) / from;
    const auto count = static_cast<std::size_t>(std::ceil(200.0 / std::min(ratio, 1.0)));
    // As many as are far enough from the ends.
    const auto edge = static_cast<std::size_t>(std::ceil(36.0 * std::max(ratio, 1.0)));
    for (const double share : {0.01, 0.2, 0.5, 0.8, 1.0, 1.3, 1.9}) {
      const double hz = share * half;
      // No file holds more than half its rate.
      if (hz >= 0.5 * from) continue;
      const std::vector<float> found = resampler.resample(sine(count, hz, from), 1);
      const std::vector<float> expected = sine(found.size(), hz, to);
      for (std::size_t n = edge; n + edge < found.size(); ++n) {
        const float wanted = share <= 0.8 ? expected[n] : 0.0F;
        ASSERT_NEAR(found[n], wanted, 1e-3) << from << ' ' << to << ' ' << share << ' ' << n;
      }
    }
    const std::vector<float> constant = resampler.resample(std::vector<float>(count, 0.7F), 1);
    for (std::size_t n = edge; n + edge < constant.size(); ++n) {
      ASSERT_NEAR(constant[n], 0.7F, 1e-6) << from << ' ' << to;
    }
  }
}

TEST(Resample, ChannelsAreResampledEachForItself) {
  const std::vector<float> both = noise(300);
  std::vector<float> left;
  std::vector<float> right;
  for (std::size_t i = 0; i < both.size(); i += 2) {
    left.push_back(both[i]);
    right.push_back(both[i + 1]);
  }
  const Resampler resampler(48000, 22050);
  const std::vector<float> found = resampler.resample(both, 2);
  const std::vector<float> first = resampler.resample(left, 1);
  const std::vector<float> second = resampler.resample(right, 1);
  ASSERT_EQ(found.size(), 2 * first.size());
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(found[2 * i], first[i]);
    EXPECT_EQ(found[2 * i + 1], second[i]);
  }
}

TEST(Resample, TheFirstSamplesNeedNoMoreThanItSays) {
  const std::vector<float> x = noise(3000);
  for (const auto& [from, to] : kRates) {
    const Resampler resampler(from, to);
    EXPECT_EQ(resampler.needed(0), 0U);
    const std::vector<float> whole = resampler.resample(x, 1);
    for (const std::size_t count : {1U, 2U, 100U}) {
      const std::size_t needed = std::min(resampler.needed(count), x.size());
      const std::vector<float> found =
          resampler.resample(std::span<const float>(x).first(needed), 1);
      ASSERT_GE(found.size(), std::min(count, whole.size()));
      for (std::size_t i = 0; i < std::min(count, whole.size()); ++i) {
        ASSERT_EQ(found[i], whole[i]) << from << ' ' << to << ' ' << i;
      }
    }
  }
}

TEST(Resample, ValuesStayFinite) {
  const float most = std::numeric_limits<float>::max();
  std::vector<float> x(100, most);
  for (std::size_t i = 0; i < x.size(); i += 3) x[i] = -most;
  for (const float value : Resampler(8000, 44100).resample(x, 1)) {
    EXPECT_TRUE(std::isfinite(value));
  }
}

TEST(Resample, WhatIsRefusedIsNamed) {
  for (const Rates& rates : {Rates{0, 8000}, {8000, -1}}) {
    expect_throws<InvalidArgument>([&] { Resampler(rates.from, rates.to); },
                                   {"expected rates of at least 1 sample a second"});
  }
  for (const Rates& rates : {Rates{44101, 1 << 30}, {1 << 30, 1}, {1, 1 << 20}}) {
    expect_throws<InvalidArgument>([&] { Resampler(rates.from, rates.to); },
                                   {"expected rates of a simple ratio", "the most are 4194304"});
  }
  expect_throws<InvalidArgument>([] { Resampler(8000, 16000).resample(noise(3), 2); },
                                 {"expected samples of 2 channels, found 3 values"});
  EXPECT_TRUE(Resampler(8000, 16000).resample({}, 2).empty());
}

}  // namespace
}  // namespace octet::test::resample_test
