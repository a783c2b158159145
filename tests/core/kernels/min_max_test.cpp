#include <octet/core/kernels/min_max.h>
#include <octet/core/random.h>
#include <octet/tests/core/ops/op_testing.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace octet::test::min_max_test {
namespace {

std::vector<float> random_values(std::size_t count, std::uint64_t seed) {
  std::vector<float> values(count);
  Random(seed).fill_uniform(values, -3.0F, 5.0F);
  return values;
}

TEST(MinMax, FindsTheExtremesAtAnyPosition) {
  for (const std::size_t size : {1U, 2U, 31U, 32U, 33U, 64U, 65U, 1000U}) {
    for (const std::size_t at : {std::size_t{0}, size / 2, size - 1}) {
      std::vector<float> values = random_values(size, size);
      values[at] = -7.0F;
      EXPECT_EQ(min_max(values).min, -7.0F) << at << " of " << size;
      EXPECT_EQ(min_max(values).max, *std::ranges::max_element(values)) << at << " of " << size;
      values[at] = 9.0F;
      EXPECT_EQ(min_max(values).max, 9.0F) << at << " of " << size;
      EXPECT_EQ(min_max(values).min, *std::ranges::min_element(values)) << at << " of " << size;
      EXPECT_TRUE(min_max(values).finite);
    }
  }
}

TEST(MinMax, WithoutValuesIsZero) {
  const MinMax range = min_max({});
  EXPECT_EQ(range.min, 0.0F);
  EXPECT_EQ(range.max, 0.0F);
  EXPECT_TRUE(range.finite);
}

TEST(MinMax, OneSidedRangesStayOneSided) {
  EXPECT_EQ(min_max(std::vector<float>(40, 3.0F)).min, 3.0F);
  EXPECT_EQ(min_max(std::vector<float>(40, -3.0F)).max, -3.0F);
}

TEST(MinMax, NegativeZeroCountsAsZero) {
  for (const std::size_t size : {1U, 33U, 100'000U}) {
    const MinMax range = min_max(std::vector<float>(size, -0.0F));
    EXPECT_FALSE(std::signbit(range.min)) << size;
    EXPECT_FALSE(std::signbit(range.max)) << size;
  }
}

TEST(MinMax, HugeValuesAreFinite) {
  const float huge = std::numeric_limits<float>::max();
  const MinMax range = min_max(std::vector<float>{-huge, huge, -0.0F});
  EXPECT_EQ(range.min, -huge);
  EXPECT_EQ(range.max, huge);
  EXPECT_TRUE(range.finite);
}

TEST(MinMax, DetectsNanAndInfinityAtAnyPosition) {
  for (const float bad : {kNan, kInf, -kInf}) {
    for (const std::size_t at : {0U, 5U, 31U, 32U, 63U, 64U, 70U}) {
      std::vector<float> values = random_values(71, 3);
      values[at] = bad;
      EXPECT_FALSE(min_max(values).finite) << bad << " at " << at;
    }
  }
  EXPECT_EQ(min_max(std::vector<float>{1.0F, kInf}).max, kInf);
  EXPECT_EQ(min_max(std::vector<float>{1.0F, -kInf}).min, -kInf);
}

TEST(MinMax, IsTheSameOnAnyNumberOfThreads) {
  std::vector<float> values = random_values(200001, 4);
  values[150000] = 11.0F;
  values[200000] = -11.0F;
  expect_same_on_any_threads([&] {
    const MinMax range = min_max(values);
    return std::vector<Tensor>{Tensor::from({2}, {range.min, range.max})};
  });
  EXPECT_EQ(min_max(values).min, -11.0F);
  EXPECT_EQ(min_max(values).max, 11.0F);
  values[199999] = kNan;
  EXPECT_FALSE(min_max(values).finite);
}

TEST(MinMaxColumns, EqualsTheColumnsOneByOne) {
  for (const std::size_t columns : {1U, 3U, 16U, 33U}) {
    for (const std::size_t rows : {1U, 2U, 17U}) {
      const std::vector<float> values = random_values(rows * columns, rows);
      std::vector<float> mins(columns, kNan);
      std::vector<float> maxs(columns, kNan);
      EXPECT_TRUE(min_max_columns(values, mins, maxs));
      for (std::size_t c = 0; c < columns; ++c) {
        std::vector<float> column;
        for (std::size_t r = 0; r < rows; ++r) column.push_back(values[r * columns + c]);
        EXPECT_EQ(mins[c], *std::ranges::min_element(column));
        EXPECT_EQ(maxs[c], *std::ranges::max_element(column));
      }
    }
  }
}

TEST(MinMaxColumns, DetectsNanAndInfinityInAnyColumn) {
  for (const float bad : {kNan, kInf, -kInf}) {
    for (std::size_t at = 0; at < 12; ++at) {
      std::vector<float> values = random_values(12, 5);
      values[at] = bad;
      std::vector<float> mins(3);
      std::vector<float> maxs(3);
      EXPECT_FALSE(min_max_columns(values, mins, maxs)) << bad << " at " << at;
    }
  }
}

TEST(MinMaxColumns, WithoutRowsOrColumns) {
  std::vector<float> mins = {1.0F, 2.0F};
  std::vector<float> maxs = {3.0F, 4.0F};
  EXPECT_TRUE(min_max_columns({}, mins, maxs));
  EXPECT_EQ(mins, (std::vector<float>{0.0F, 0.0F}));
  EXPECT_EQ(maxs, (std::vector<float>{0.0F, 0.0F}));
  EXPECT_TRUE(min_max_columns({}, {}, {}));
}

}  // namespace
}  // namespace octet::test::min_max_test
