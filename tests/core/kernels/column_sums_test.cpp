#include <octet/tests/core/kernels/passes_testing.h>

#include <algorithm>
#include <cmath>

namespace octet::test::column_sums_test {
namespace {

/// Sums of gradients by column.
class ColumnSumsTest : public PathPassesTest {};

TEST_P(ColumnSumsTest, MaskedGradientsAreSummedByColumn) {
  const GradientWindow window{-1.0F, 2.0F, -0.5F, kInfinity};
  for (const std::size_t columns : {1U, 7U, 64U, 65U}) {
    const std::size_t rows = 5;
    const std::vector<float> x = awkward(rows * columns, 1.0F);
    const std::vector<float> g = values(rows * columns, 8);
    std::vector<float> out(rows * columns, 7.0F);
    std::vector<double> sums(columns, 0.25);
    passes().window_gradient_sums(x.data(), g.data(), rows, columns, window, out.data(),
                                  sums.data());
    for (std::size_t j = 0; j < columns; ++j) {
      double sum = 0.25;
      for (std::size_t i = 0; i < rows; ++i) {
        const float at = x[i * columns + j];
        const float expected = at > -0.5F && at <= 2.0F ? g[i * columns + j] : 0.0F;
        EXPECT_EQ(out[i * columns + j], expected);
        sum += static_cast<double>(expected);
      }
      EXPECT_EQ(sums[j], sum);
    }
  }
}

TEST_P(ColumnSumsTest, WhatStepsLearnFromIsSummedByColumn) {
  for (const std::size_t columns : {1U, 3U, 7U, 64U, 77U}) {
    const std::size_t rows = 70;
    std::vector<float> x = awkward(rows * columns, 1.0F);
    for (float& value : x) {
      if (std::isnan(value)) value = 0.3F;
    }
    const std::vector<float> g = values(rows * columns, 8);
    std::vector<float> steps(columns), reciprocals(columns), lowest(columns), highest(columns);
    for (std::size_t j = 0; j < columns; ++j) {
      steps[j] = j % 2 == 0 ? 0.25F : 0.3F;
      reciprocals[j] = 1.0F / steps[j];
      lowest[j] = -4.0F * steps[j];
      highest[j] = 3.0F * steps[j];
      // Ties on both sides of 0.
      x[j] = 0.5F * steps[j];
      x[columns + j] = -1.5F * steps[j];
      x[2 * columns + j] = j % 2 == 0 ? highest[j] : lowest[j];
    }
    std::vector<double> sums(3 * columns, 0.125);
    std::vector<float> passed(x.size(), 7.0F);
    const StepColumns grid{steps.data(), reciprocals.data(), lowest.data(), highest.data()};
    passes().step_sums(x.data(), g.data(), rows, columns, grid, passed.data(), sums.data());
    for (std::size_t j = 0; j < columns; ++j) {
      double inside = 0.125;
      double below = 0.125;
      double above = 0.125;
      for (std::size_t i = 0; i < rows; ++i) {
        const float at = x[i * columns + j];
        const float gradient = g[i * columns + j];
        if (at < lowest[j]) below += double{gradient};
        if (at > highest[j]) above += double{gradient};
        const bool is_inside = at >= lowest[j] && at <= highest[j];
        EXPECT_EQ(passed[i * columns + j], is_inside ? gradient : 0.0F);
        if (!is_inside) continue;
        const float v = at / steps[j];
        inside += double{gradient * (std::round(v) - v)};
      }
      EXPECT_NEAR(sums[j], inside, 2e-5) << columns << " columns, " << j;
      EXPECT_NEAR(sums[columns + j], below, 2e-5);
      EXPECT_NEAR(sums[2 * columns + j], above, 2e-5);
    }
    // Equal results in place, and where nobody asks for what passes.
    std::vector<float> in_place = g;
    std::vector<double> again(3 * columns, 0.125);
    passes().step_sums(x.data(), in_place.data(), rows, columns, grid, in_place.data(),
                       again.data());
    EXPECT_EQ(in_place, passed);
    EXPECT_EQ(again, sums);
    std::ranges::fill(again, 0.125);
    passes().step_sums(x.data(), g.data(), rows, columns, grid, nullptr, again.data());
    EXPECT_EQ(again, sums);
  }
}

TEST_P(ColumnSumsTest, WhatStepsLearnFromIsTheSameOnEveryPathAndExactAtTies) {
  constexpr std::size_t kRows = 3 * 32;
  for (const std::size_t columns : {1U, 5U, 16U, 33U, 64U, 96U, 4096U}) {
    const Random random(columns);
    std::vector<float> steps(columns), reciprocals(columns), lowest(columns), highest(columns);
    for (std::size_t j = 0; j < columns; ++j) {
      steps[j] = j % 3 == 0 ? 0.0625F : 0.01F + 0.001F * static_cast<float>(random.bits(j) % 97);
      // No reciprocal: every quotient is divided.
      reciprocals[j] = j % 7 == 6 ? NAN : 1.0F / steps[j];
      lowest[j] = -7.4F * steps[j];
      highest[j] = 7.4F * steps[j];
    }
    // Few multiples of half a step and their neighbours, so that each decides for its rows alone.
    std::vector<float> x(kRows * columns);
    const std::vector<float> g = values(x.size(), 8);
    for (std::size_t i = 0, j = 0; i < x.size(); ++i, j = j + 1 < columns ? j + 1 : 0) {
      const auto halves = static_cast<float>(static_cast<int>(random.bits(9000 + i) % 33) - 16);
      x[i] = 0.5F * halves * steps[j];
      const bool is_near = i % 509 == 0;
      if (!is_near) x[i] += 0.3F * steps[j];
      if (is_near && i % 3 > 0) x[i] = std::nextafter(x[i], i % 3 == 1 ? 1.0F : -1.0F);
    }
    const StepColumns grid{steps.data(), reciprocals.data(), lowest.data(), highest.data()};
    std::vector<float> passed(x.size());
    std::vector<double> sums(3 * columns, 0.0);
    passes().step_sums(x.data(), g.data(), kRows, columns, grid, passed.data(), sums.data());
    std::vector<double> first(3 * columns, 0.0);
    available_kernels().front()->passes.step_sums(x.data(), g.data(), kRows, columns, grid, nullptr,
                                                  first.data());
    EXPECT_TRUE(same_bytes(sums, first)) << columns << " columns";
    for (std::size_t j = 0; j < columns; ++j) {
      double inside = 0.0;
      for (std::size_t i = j; i < x.size(); i += columns) {
        if (x[i] < lowest[j] || x[i] > highest[j]) continue;
        const float v = x[i] / steps[j];
        inside += double{g[i] * (std::round(v) - v)};
      }
      EXPECT_NEAR(sums[j], inside, 3e-5) << columns << " columns, " << j;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Paths, ColumnSumsTest, ::testing::ValuesIn(available_kernels()), isa_name);

}  // namespace
}  // namespace octet::test::column_sums_test
