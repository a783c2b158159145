#include <octet/layers/initializer.h>
#include <octet/tests/core/ops/op_testing.h>

#include <algorithm>

namespace octet::test::initializer_test {
namespace {

constexpr Index kIn = 400;
constexpr Index kOut = 200;

struct Moments {
  double mean = 0.0;
  double deviation = 0.0;
  double lowest = 0.0;
  double highest = 0.0;
};

Moments moments_of(Initializer initializer) {
  const std::vector<float> values =
      values_of(initialize(initializer, {kIn, kOut}, kIn, kOut, Random(5)));
  Moments m;
  for (const float v : values) m.mean += double{v};
  m.mean /= static_cast<double>(values.size());
  for (const float v : values) m.deviation += (double{v} - m.mean) * (double{v} - m.mean);
  m.deviation = std::sqrt(m.deviation / static_cast<double>(values.size()));
  m.lowest = double{*std::ranges::min_element(values)};
  m.highest = double{*std::ranges::max_element(values)};
  return m;
}

/// Uniform in +-limit: deviation limit / sqrt(3), and no value outside.
void expect_uniform(Initializer initializer, double limit) {
  const Moments m = moments_of(initializer);
  EXPECT_NEAR(m.mean, 0.0, 0.01 * limit);
  EXPECT_NEAR(m.deviation, limit / std::sqrt(3.0), 0.01 * limit);
  EXPECT_GE(m.lowest, -limit * 1.000001);
  EXPECT_LE(m.highest, limit * 1.000001);
  EXPECT_LT(m.lowest, -0.99 * limit);
  EXPECT_GT(m.highest, 0.99 * limit);
}

TEST(Initializer, GlorotUniformFillsItsLimits) {
  expect_uniform(Initializer::glorot_uniform, std::sqrt(6.0 / (kIn + kOut)));
}

TEST(Initializer, HeUniformFillsItsLimits) {
  expect_uniform(Initializer::he_uniform, std::sqrt(6.0 / kIn));
}

TEST(Initializer, HeNormalHasItsDeviation) {
  const Moments m = moments_of(Initializer::he_normal);
  const double deviation = std::sqrt(2.0 / kIn);
  EXPECT_NEAR(m.mean, 0.0, 0.02 * deviation);
  EXPECT_NEAR(m.deviation, deviation, 0.01 * deviation);
  // A normal distribution reaches four deviations in 80,000 draws; a uniform one does not.
  EXPECT_GT(m.highest, 3.5 * deviation);
}

TEST(Initializer, ZerosAreZero) {
  expect_tensor(initialize(Initializer::zeros, {2, 3}, 2, 3, Random(1)), {2, 3},
                {0, 0, 0, 0, 0, 0});
}

TEST(Initializer, TheSeedDecides) {
  const auto draw = [](std::uint64_t seed) {
    return values_of(initialize(Initializer::glorot_uniform, {9, 9}, 9, 9, Random(seed)));
  };
  EXPECT_EQ(draw(1), draw(1));
  EXPECT_NE(draw(1), draw(2));
}

TEST(Initializer, OrthogonalHasOrthogonalRowsOrColumnsOfLength1) {
  for (const Shape& shape : {Shape{3, 7}, Shape{7, 3}, Shape{2, 2, 5}, Shape{4, 4}, Shape{1, 1}}) {
    const Tensor values = initialize(Initializer::orthogonal, shape, 1, 1, Random(3));
    const Index columns = shape.dim(-1);
    const Index rows = values.size() / columns;
    const bool wide = rows <= columns;
    const auto at = [&](Index vector, Index i) {
      return double{values.span()[static_cast<std::size_t>(wide ? vector * columns + i
                                                                : i * columns + vector)]};
    };
    for (Index a = 0; a < std::min(rows, columns); ++a) {
      for (Index b = 0; b <= a; ++b) {
        double dot = 0.0;
        for (Index i = 0; i < std::max(rows, columns); ++i) dot += at(a, i) * at(b, i);
        EXPECT_NEAR(dot, a == b ? 1.0 : 0.0, 1e-6) << shape.to_string();
      }
    }
  }
}

}  // namespace
}  // namespace octet::test::initializer_test
