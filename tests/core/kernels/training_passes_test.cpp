#include <octet/tests/core/kernels/passes_testing.h>

#include <algorithm>

namespace octet::testing {
namespace {

/// Gradients and optimizers.
class TrainingPassesTest : public PathPassesTest {};

TEST_P(TrainingPassesTest, GradientsPassInsideTheWindowOnly) {
  for (const std::size_t size : kSizes) {
    std::vector<float> x = awkward(size, 1.0F);
    x[0] = 2.0F;  // an end that is inside
    const std::vector<float> g = values(size, 2);
    std::vector<float> out(size);
    passes().window_gradient(x.data(), g.data(), size, {-2.0F, 2.0F, -0.5F, kInfinity}, out.data());
    for (std::size_t i = 0; i < size; ++i) {
      EXPECT_EQ(out[i], x[i] > -0.5F && x[i] <= 2.0F ? g[i] : 0.0F) << x[i];
    }
  }
}

TEST_P(TrainingPassesTest, ColumnsAreMaskedByTheirOwnLimits) {
  for (const std::size_t columns : kSizes) {
    const std::vector<float> x = awkward(3 * columns, 1.0F);
    std::vector<float> lo = values(columns, 5);
    std::vector<float> hi(columns, 1.5F);
    lo[0] = -0.5F;
    std::vector<float> g = values(x.size(), 6);
    const std::vector<float> before = g;
    passes().mask_columns(x.data(), 3, columns, lo.data(), hi.data(), g.data());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::size_t j = i % columns;
      EXPECT_EQ(g[i], x[i] >= lo[j] && x[i] <= hi[j] ? before[i] : 0.0F);
    }
  }
}

TEST_P(TrainingPassesTest, TotalsOfColumnsAreDoubles) {
  for (const std::size_t size : kSizes) {
    const std::vector<float> x = values(size, 3);
    std::vector<double> totals(size, 1e-12);
    passes().add_to_totals(x.data(), size, totals.data());
    for (std::size_t i = 0; i < size; ++i) {
      EXPECT_EQ(totals[i], 1e-12 + static_cast<double>(x[i]));
    }
  }
}

TEST_P(TrainingPassesTest, AllPathsComputeTheSameBits) {
  const Passes& plain = detail::kPortableKernels.passes;
  const AdamStep step{0.9F, 0.999F, 0.01F, 1e-5F, 1e-3F, 31.6F, 1e-7F};
  for (const std::size_t size : kSizes) {
    const std::vector<float> g = values(size, 1);
    std::vector<float> w[2] = {values(size, 2), values(size, 2)};
    std::vector<float> m[2] = {values(size, 3), values(size, 3)};
    std::vector<float> v[2] = {std::vector<float>(size, 0.3F), std::vector<float>(size, 0.3F)};
    plain.adam(w[0].data(), m[0].data(), v[0].data(), g.data(), size, step);
    passes().adam(w[1].data(), m[1].data(), v[1].data(), g.data(), size, step);
    EXPECT_TRUE(same_bytes(w[0], w[1]) && same_bytes(m[0], m[1]) && same_bytes(v[0], v[1]));

    // Both zeros are least, and which of them is told must not depend on the path.
    std::vector<float> zeros(size, 0.0F);
    for (std::size_t i = 0; i < size; i += 2) zeros[i] = -0.0F;
    std::vector<float> least(2);
    std::vector<float> largest(2);
    bool finite[2];
    plain.min_max(zeros.data(), size, least.data(), largest.data(), finite);
    passes().min_max(zeros.data(), size, least.data() + 1, largest.data() + 1, finite + 1);
    for (const auto& ends : {least, largest})
      EXPECT_EQ(std::signbit(ends[0]), std::signbit(ends[1]));
    EXPECT_EQ(least[0], least[1]);
    EXPECT_EQ(largest[0], largest[1]);
    EXPECT_TRUE(finite[0] && finite[1]);
  }
}

TEST_P(TrainingPassesTest, AdamFollowsItsFormula) {
  const AdamStep step{0.9F, 0.999F, 0.0F, 0.0F, 1e-3F, 2.0F, 1e-7F};
  std::vector<float> w = {1.0F};
  std::vector<float> m = {0.5F};
  std::vector<float> v = {0.04F};
  const std::vector<float> g = {-2.0F};
  passes().adam(w.data(), m.data(), v.data(), g.data(), 1, step);
  const double mean = 0.9 * 0.5 - 0.1 * 2.0;
  const double square = 0.999 * 0.04 + 0.001 * 4.0;
  EXPECT_NEAR(m[0], mean, 1e-6);
  EXPECT_NEAR(v[0], square, 1e-6);
  EXPECT_NEAR(w[0], 1.0 - 1e-3 * mean / (std::sqrt(square) * 2.0 + 1e-7), 1e-6);
}

TEST_P(TrainingPassesTest, AdamsMeansDecayToZeroAndNoSubnormal) {
  const AdamStep step{0.9F, 0.999F, 0.0F, 0.0F, 1e-3F, 1.0F, 1e-7F};
  std::vector<float> w(33, 1.0F);
  std::vector<float> m(33, 1.3e-38F);
  std::vector<float> v(33, 1.176e-38F);
  const std::vector<float> g(33, 0.0F);
  for (int i = 0; i < 3; ++i) passes().adam(w.data(), m.data(), v.data(), g.data(), 33, step);
  EXPECT_EQ(m, g);
  EXPECT_EQ(v, g);
}

TEST_P(TrainingPassesTest, AdamLeavesOutWhatWouldBeSubnormal) {
  AdamStep step{0.9F, 0.999F, 0.0F, 0.0F, 1e-3F, 1.0F, 1e-7F};
  step.least_slope = 1e-10F;
  step.least_mean = 1e-30F;
  // Off every vector's width; slopes below and above the bound in turn, then means.
  std::vector<float> g(35, 0.0F);
  std::vector<float> m(35, 0.0F);
  std::vector<float> v(35, 1e-22F);
  std::vector<float> w(35, 0.0F);
  for (std::size_t i = 0; i < 16; ++i) g[i] = i % 2 == 0 ? -0.9e-10F : -1.1e-10F;
  for (std::size_t i = 16; i < 35; ++i) m[i] = i % 2 == 0 ? 1e-30F : 1.2e-30F;
  passes().adam(w.data(), m.data(), v.data(), g.data(), 35, step);
  for (std::size_t i = 0; i < 16; ++i) {
    EXPECT_EQ(v[i] > 0.999F * 1e-22F, i % 2 == 1) << i;
    EXPECT_GT(w[i], 0.0F) << i;
  }
  for (std::size_t i = 16; i < 35; ++i) {
    EXPECT_GT(m[i], 0.8e-30F) << i;
    EXPECT_EQ(w[i] < 0.0F, i % 2 == 1) << i;
  }
}

TEST_P(TrainingPassesTest, MaskedGradientsAreSummedByColumn) {
  const GradientWindow window{-1.0F, 2.0F, -0.5F, kInfinity};
  for (const std::size_t columns : {1U, 7U, 64U, 65U}) {
    const std::size_t rows = 5;
    const std::size_t stride = columns + 3;
    const std::vector<float> x = awkward(rows * stride, 1.0F);
    const std::vector<float> g = values(rows * stride, 8);
    std::vector<float> out(rows * stride, 7.0F);
    std::vector<double> sums(columns, 0.25);
    passes().window_gradient_sums(x.data(), g.data(), rows, columns, stride, window, out.data(),
                                  sums.data());
    for (std::size_t j = 0; j < stride; ++j) {
      double sum = 0.25;
      for (std::size_t i = 0; i < rows; ++i) {
        const float at = x[i * stride + j];
        const float expected = at > -0.5F && at <= 2.0F ? g[i * stride + j] : 0.0F;
        EXPECT_EQ(out[i * stride + j], j < columns ? expected : 7.0F);
        sum += static_cast<double>(expected);
      }
      if (j < columns) {
        EXPECT_EQ(sums[j], sum);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Paths, TrainingPassesTest, ::testing::ValuesIn(available_kernels()),
                         isa_name);

}  // namespace
}  // namespace octet::testing
