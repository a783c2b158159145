#include <gtest/gtest.h>
#include <octet/layers/quantize/measured_gradient.h>
#include <octet/tests/layers/quantize/int8_gradients_testing.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <span>
#include <vector>

namespace octet::test::measured_gradient_test {
namespace {

/// Rows, units and blocks off the vector width, of values of which some are masked.
TEST(MeasuredGradient, HasMaskedValuesTheirMagnitudesByBlockAndSums) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    Draw draw(seed);
    const Index rows = draw.between(1, 300);
    const Index units = draw.between(0, 1) == 0 ? draw.between(1, 9) : draw.between(60, 140);
    const Index block = draw.between(Index{1}, rows);
    const Tensor g = drawn_gradient({rows, units}, draw);
    const std::shared_ptr<std::int8_t[]> inside(
        new std::int8_t[static_cast<std::size_t>(g.size())]);
    for (Index i = 0; i < g.size(); ++i) inside[i] = draw.between(0, 2) > 0 ? 1 : 0;

    std::vector<float> values;
    std::vector<float> largest(static_cast<std::size_t>(divided_up(rows, block) * units));
    std::vector<double> sums(static_cast<std::size_t>(units));
    for (Index i = 0; i < g.size(); ++i) {
      values.push_back(inside[i] != 0 ? g.data()[i] : 0.0F);
      float& most = largest[static_cast<std::size_t>(i / units / block * units + i % units)];
      most = std::max(most, std::abs(values.back()));
      sums[static_cast<std::size_t>(i % units)] += double{values.back()};
    }
    for (const bool in_place : {false, true}) {
      const Tensor own = Tensor::from(g.shape(), values_or_none(g));
      const MeasuredGradient found(inside, own, in_place ? own : Tensor(g.shape()), block);
      EXPECT_EQ(values_or_none(found.values()), values);
      for (Index n = 0; n < divided_up(rows, block); ++n) {
        const auto* const expected = largest.data() + n * units;
        EXPECT_TRUE(
            std::ranges::equal(found.largest(n), std::span(expected, found.largest(n).size())));
      }
      for (std::size_t u = 0; u < sums.size(); ++u) {
        EXPECT_NEAR(found.bias().data()[u], sums[u], 1e-9) << "unit " << u;
      }
    }
    const Tensor masked = Tensor::from(g.shape(), values);
    EXPECT_EQ(MeasuredGradient(masked, block).all().scales,
              MeasuredGradient(masked, rows).all().scales);
  }
}

TEST(MeasuredGradient, SaysWhetherAllValuesAreFinite) {
  EXPECT_TRUE(MeasuredGradient(Tensor::from({3, 2}, {1, 2, 3, 4, 5, 6}), 2).is_finite());
  for (const float bad : {std::numeric_limits<float>::infinity(), std::nanf("")}) {
    EXPECT_FALSE(MeasuredGradient(Tensor::from({3, 2}, {1, 2, bad, 4, 5, 6}), 2).is_finite());
  }
}

}  // namespace
}  // namespace octet::test::measured_gradient_test
