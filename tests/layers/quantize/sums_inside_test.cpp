#include <gtest/gtest.h>
#include <octet/layers/quantize/sums_inside.h>
#include <octet/tests/core/draw.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace octet::test::sums_inside_test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Case {
  RealLimits clamp;
  GradientWindow window;
};

/// Sums that lie around the edges of a window, and the farthest ones.
std::vector<std::int32_t> sums_to_try(const GradientWindow& window, float scale, Draw& draw) {
  std::vector<std::int32_t> sums = {std::numeric_limits<std::int32_t>::min(),
                                    std::numeric_limits<std::int32_t>::max(), 0, -1, 1};
  for (const float edge : {window.lo, window.hi, window.above, window.below}) {
    const double at = double{edge} / double{scale};
    if (std::abs(at) > 2e9) continue;
    for (int i = -200; i <= 200; ++i)
      sums.push_back(static_cast<std::int32_t>(std::lround(at)) + i);
  }
  for (int i = 0; i < 50; ++i) sums.push_back(draw.between(-2000000, 2000000));
  return sums;
}

TEST(SumsInside, AreThoseWhoseRealValuesAre) {
  const std::vector<Case> cases = {
      {{-kInfinity, kInfinity}, {-1.0F, 1.5F, -kInfinity, kInfinity}},
      {{0.0F, kInfinity}, {0.0F, 3.0F, 0.0F, kInfinity}},
      {{0.0F, 6.0F}, {0.0F, 6.1F, 0.0F, 6.0F}},
      {{-1.0F, 1.0F}, {-2.0F, 2.0F, -1.0F, 1.0F}},
      {{-kInfinity, kInfinity}, {-kInfinity, kInfinity, -kInfinity, kInfinity}},
      {{0.0F, 6.0F}, {7.0F, 8.0F, 0.0F, 6.0F}},
      {{0.0F, kInfinity}, {-3.0F, 100.0F, -1.0F, kInfinity}},
  };
  for (std::size_t c = 0; c < cases.size(); ++c) {
    const auto& [clamp, window] = cases[c];
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      Draw draw(seed);
      const auto units = static_cast<std::size_t>(draw.between(1, 70));
      std::vector<float> scales(units);
      for (float& scale : scales) scale = std::exp2(draw.uniform(-32.0F, 3.0F));
      const SumsInside inside(scales, clamp, window);
      std::vector<std::vector<std::int32_t>> columns;
      std::size_t rows = 0;
      for (const float scale : scales) {
        columns.push_back(sums_to_try(window, scale, draw));
        rows = std::max(rows, columns.back().size());
      }
      std::vector<std::int32_t> sums(rows * units);
      std::vector<std::int8_t> expected(sums.size());
      for (std::size_t i = 0; i < sums.size(); ++i) {
        const auto& column = columns[i % units];
        sums[i] = column[i / units % column.size()];
        const float real =
            std::clamp(static_cast<float>(sums[i]) * scales[i % units], clamp.lo, clamp.hi);
        expected[i] =
            real >= window.lo && real <= window.hi && real > window.above && real < window.below;
      }
      std::vector<std::int8_t> mask(sums.size(), 7);
      const auto count = static_cast<Index>(rows);
      inside.write_mask(sums.data(), 0, 3, mask.data());
      inside.write_mask(sums.data(), 3, count, mask.data());
      EXPECT_EQ(mask, expected) << "case " << c << ", seed " << seed;
    }
  }
}

}  // namespace
}  // namespace octet::test::sums_inside_test
