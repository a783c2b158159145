#include <octet/tests/core/kernels/passes_testing.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace octet::test::training_passes_test {
namespace {

/// Gradients and optimizers.
class TrainingPassesTest : public PathPassesTest {};

/// A parameter with its means and its gradient.
struct AdamState {
  std::vector<float> w, m, v, g;

  void step(const Passes& passes, const AdamStep& step, MinMax* limits = nullptr) {
    passes.adam(w.data(), m.data(), v.data(), g.data(), w.size(), step, limits);
  }
};

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
    std::vector<float> in_place = g;
    passes().window_gradient(x.data(), in_place.data(), size, {-2.0F, 2.0F, -0.5F, kInfinity},
                             in_place.data());
    EXPECT_TRUE(same_bytes(in_place, out));
  }
}

TEST_P(TrainingPassesTest, AMaskIsOfSumsBetweenLimitsOfTheirColumn) {
  for (const std::size_t columns : kSizes) {
    std::vector<std::int32_t> sums(3 * columns);
    for (std::size_t i = 0; i < sums.size(); ++i) {
      sums[i] = static_cast<std::int32_t>(Random(4).bits(i) % 9) - 4;
    }
    std::vector<std::int32_t> lowest(columns, -2);
    const std::vector<std::int32_t> highest(columns, 3);
    lowest[columns - 1] = 4;
    sums[0] = std::numeric_limits<std::int32_t>::min();
    std::vector<std::int8_t> mask(sums.size(), 5);
    passes().mask_sums(sums.data(), 3, columns, lowest.data(), highest.data(), mask.data());
    const std::vector<float> g = awkward(sums.size(), 0.5F);
    std::vector<float> expected(g.size());
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const bool inside = sums[i] >= lowest[i % columns] && sums[i] <= highest[i % columns];
      EXPECT_EQ(mask[i], inside ? 1 : 0) << sums[i] << ", column " << i % columns;
      expected[i] = inside ? g[i] : 0.0F;
    }
    std::vector<float> found = g;
    passes().masked_gradient(mask.data(), found.data(), found.size(), found.data());
    EXPECT_TRUE(same_bytes(found, expected));
  }
}

TEST_P(TrainingPassesTest, ColumnsAreMaskedByTheirOwnRange) {
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

TEST_P(TrainingPassesTest, ColumnsAreScaledInPlaceToo) {
  for (const std::size_t columns : kSizes) {
    for (const std::size_t rows : {1U, 3U, 6U}) {
      const std::vector<float> x = awkward(rows * columns, 1.5F);
      const std::vector<float> factors = values(columns, 5);
      std::vector<float> expected(x.size());
      for (std::size_t i = 0; i < x.size(); ++i) expected[i] = x[i] * factors[i % columns];
      std::vector<float> found(x.size());
      passes().scale_columns(x.data(), rows, columns, factors.data(), found.data());
      EXPECT_TRUE(same_bytes(found, expected));
      found = x;
      passes().scale_columns(found.data(), rows, columns, factors.data(), found.data());
      EXPECT_TRUE(same_bytes(found, expected));
    }
  }
}

TEST_P(TrainingPassesTest, LimitsOfColumnsOfSums) {
  for (const std::size_t columns : kSizes) {
    for (const std::size_t rows : {1U, 2U, 9U}) {
      const std::size_t stride = columns + 5;
      std::vector<std::int32_t> x(rows * stride);
      for (std::size_t i = 0; i < x.size(); ++i) {
        x[i] = static_cast<std::int32_t>(Random(4).bits(i));
      }
      std::vector<std::int32_t> lowest(columns);
      std::vector<std::int32_t> highest(columns);
      passes().column_limits(x.data(), static_cast<Index>(stride), rows, columns, lowest.data(),
                             highest.data());
      for (std::size_t j = 0; j < columns; ++j) {
        std::vector<std::int32_t> column;
        for (std::size_t i = 0; i < rows; ++i) column.push_back(x[i * stride + j]);
        EXPECT_EQ(lowest[j], std::ranges::min(column));
        EXPECT_EQ(highest[j], std::ranges::max(column));
      }
    }
  }
}

TEST_P(TrainingPassesTest, RaisedMagnitudesOfColumnsAreBitsAboveAllOfThemWhereNotFinite) {
  for (const std::size_t columns : kSizes) {
    for (const std::size_t rows : {1U, 2U, 9U}) {
      std::vector<float> x = values(rows * columns, 4);
      x[x.size() / 2] = -kInfinity;
      x[x.size() - 1] = -NAN;
      x[0] = -0.0F;
      std::vector<std::int32_t> largest(columns);
      for (std::size_t j = 0; j < columns; j += 2) largest[j] = std::bit_cast<std::int32_t>(0.5F);
      const std::vector<std::int32_t> before = largest;
      passes().raise_magnitudes(x.data(), rows, columns, largest.data());
      for (std::size_t j = 0; j < columns; ++j) {
        std::int32_t expected = before[j];
        for (std::size_t i = 0; i < rows; ++i) {
          const auto bits = std::bit_cast<std::uint32_t>(x[i * columns + j]) & 0x7FFFFFFFU;
          expected = std::max(expected, static_cast<std::int32_t>(bits));
        }
        EXPECT_EQ(largest[j], expected) << rows << " x " << columns << ", column " << j;
      }
    }
  }
}

TEST_P(TrainingPassesTest, TotalsOfColumnsAreDoubles) {
  for (const std::size_t size : kSizes) {
    const std::size_t stride = size + 3;
    const std::vector<float> x = values(2 * stride + size, 3);
    std::vector<double> totals(size, 1e-12);
    passes().add_to_totals(x.data(), static_cast<Index>(stride), 3, size, totals.data());
    for (std::size_t i = 0; i < size; ++i) {
      EXPECT_EQ(totals[i],
                1e-12 + double{x[i]} + double{x[stride + i]} + double{x[2 * stride + i]});
    }
  }
}

TEST_P(TrainingPassesTest, AllPathsComputeTheSameBits) {
  const Passes& plain = detail::kPortableKernels.passes;
  const AdamStep step{0.9F, 0.999F, 0.01F, 1e-5F, 1e-3F, 31.6F, 1e-7F};
  for (const std::size_t size : kSizes) {
    const AdamState start{values(size, 2), values(size, 3), std::vector<float>(size, 0.3F),
                          values(size, 1)};
    AdamState states[2] = {start, start};
    states[0].step(plain, step);
    states[1].step(passes(), step);
    EXPECT_TRUE(same_bytes(states[0].w, states[1].w) && same_bytes(states[0].m, states[1].m) &&
                same_bytes(states[0].v, states[1].v));

    // Both zeros are minimal, and the result must not depend on the path.
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

/// The formula of AdamStep for one element, without shortcuts.
void adam_oracle(float& w, float& m, float& v, float g, const AdamStep& step) {
  const auto zero_below = [](float x, float least) { return std::fabs(x) < least ? 0.0F : x; };
  const float slope = g + step.coupled * w;
  const float seen = zero_below(slope, step.least_slope);
  const float normal = std::numeric_limits<float>::min();
  m = zero_below(step.beta1 * m + (1.0F - step.beta1) * slope, normal);
  v = zero_below(step.beta2 * v + (1.0F - step.beta2) * seen * seen, normal);
  const float moved = step.rate * zero_below(m, step.least_mean);
  w -= step.shrink * w + moved / (std::sqrt(v) * step.spread + step.epsilon);
}

/// Compares bits, except that all NaN are equal.
void expect_same(const std::vector<float>& a, const std::vector<float>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto bits = [](float x) { return std::isnan(x) ? 0U : std::bit_cast<std::uint32_t>(x); };
    EXPECT_EQ(bits(a[i]), bits(b[i])) << i << ": " << a[i] << ", " << b[i];
  }
}

TEST_P(TrainingPassesTest, AdamEqualsItsFormulaBitForBit) {
  AdamState start;
  for (const float w : {0.0F, -0.0F, 1.5F, -0.25F}) {
    for (const float m : {0.0F, -0.0F, 0.5F, -1e-3F, 1.3e-38F, 1e-30F}) {
      for (const float v : {0.0F, 1e-40F, 1.18e-38F, 2e-31F, 0.04F, 3e38F, kInfinity, -1.0F}) {
        for (const float g : {0.0F, -0.0F, 2.0F, -1e-4F, 1e-10F, -1e-25F, 1e20F}) {
          start.w.push_back(w);
          start.m.push_back(m);
          start.v.push_back(v);
          start.g.push_back(g);
        }
      }
    }
  }
  for (const auto& [coupled, shrink] :
       {std::pair{0.0F, 0.0F}, std::pair{0.01F, 0.0F}, std::pair{0.0F, 1e-5F}}) {
    AdamStep step{0.9F, 0.999F, coupled, shrink, 1e-3F, 31.6F, 1e-7F};
    step.least_slope = 1e-10F;
    step.least_mean = 1e-30F;
    // Starting at each element of a pair of vectors.
    for (std::size_t first = 0; first < 32; ++first) {
      AdamState expected = start;
      for (std::size_t i = first; i < start.w.size(); ++i) {
        adam_oracle(expected.w[i], expected.m[i], expected.v[i], start.g[i], step);
      }
      AdamState state = start;
      const std::size_t size = start.w.size() - first;
      passes().adam(state.w.data() + first, state.m.data() + first, state.v.data() + first,
                    state.g.data() + first, size, step, nullptr);
      expect_same(state.w, expected.w);
      expect_same(state.m, expected.m);
      expect_same(state.v, expected.v);
    }
  }
}

TEST_P(TrainingPassesTest, AdamWithoutDecayLeavesInfiniteWeights) {
  const AdamStep step{0.9F, 0.999F, 0.0F, 0.0F, 1e-3F, 2.0F, 1e-7F};
  for (const float w : {kInfinity, -kInfinity}) {
    AdamState state{std::vector<float>(35, w), std::vector<float>(35, 0.0F),
                    std::vector<float>(35, 0.0F), std::vector<float>(35, 0.5F)};
    state.step(passes(), step);
    EXPECT_EQ(state.w, std::vector<float>(35, w));
    EXPECT_EQ(state.m, std::vector<float>(35, (1.0F - 0.9F) * 0.5F));
  }
}

/// Puts each square x into both vectors of a pair and checks that 1 - r / root is 0, where r is the
/// correct root; a root that is one bit off gives another quotient.
bool has_right_roots(const Passes& passes, const std::vector<float>& x) {
  const AdamStep step{1.0F, 1.0F, 0.0F, 0.0F, 1.0F, 1.0F, 0.0F};
  const std::size_t size = 2 * x.size();
  AdamState state{std::vector<float>(size, 1.0F), std::vector<float>(size),
                  std::vector<float>(size), std::vector<float>(size, 0.0F)};
  for (std::size_t i = 0; i < size; ++i) {
    state.v[i] = x[i / 32 * 16 + i % 16];
    state.m[i] = std::sqrt(state.v[i]);
  }
  state.step(passes, step);
  return state.w == state.g;
}

TEST_P(TrainingPassesTest, AdamsRootsAreCorrectlyRounded) {
  // All mantissas, with an even exponent and an odd one: the others differ in the exponent only.
  constexpr std::uint32_t kMantissas = 1U << 23;
  constexpr std::uint32_t kOne = 127U << 23;
  constexpr std::uint32_t kBlock = 1U << 11;
  std::vector<float> x(kBlock);
  for (std::uint32_t first = 0; first < 2 * kMantissas; first += kBlock) {
    for (std::uint32_t i = 0; i < kBlock; ++i) x[i] = std::bit_cast<float>(kOne + first + i);
    ASSERT_TRUE(has_right_roots(passes(), x)) << x[0];
  }
  for (std::uint32_t exponent = 1; exponent < 255; ++exponent) {
    for (std::uint32_t i = 0; i < kBlock; ++i) {
      x[i] = std::bit_cast<float>((exponent << 23) + i * (kMantissas / kBlock) + i % 64);
    }
    EXPECT_TRUE(has_right_roots(passes(), x)) << exponent;
  }
}

TEST_P(TrainingPassesTest, AdamFollowsItsFormula) {
  const AdamStep step{0.9F, 0.999F, 0.0F, 0.0F, 1e-3F, 2.0F, 1e-7F};
  AdamState state{{1.0F}, {0.5F}, {0.04F}, {-2.0F}};
  state.step(passes(), step);
  const double mean = 0.9 * 0.5 - 0.1 * 2.0;
  const double square = 0.999 * 0.04 + 0.001 * 4.0;
  EXPECT_NEAR(state.m[0], mean, 1e-6);
  EXPECT_NEAR(state.v[0], square, 1e-6);
  EXPECT_NEAR(state.w[0], 1.0 - 1e-3 * mean / (std::sqrt(square) * 2.0 + 1e-7), 1e-6);
}

TEST_P(TrainingPassesTest, AdamMeasuresTheNewWeights) {
  const AdamStep step{0.9F, 0.999F, 0.0F, 0.0F, 0.5F, 1.0F, 1e-7F};
  for (const std::size_t size : {1U, 16U, 31U, 32U, 33U, 64U, 71U}) {
    for (const float offset : {0.0F, 5.0F, -5.0F}) {
      // Each extreme at each position; one without gradient, so that it stays.
      for (std::size_t at = 0; at < size; ++at) {
        for (const float end : {9.0F, -9.0F, 0.0F, -0.0F}) {
          std::vector<float> w = values(size, 7);
          for (float& x : w) x += offset;
          w[at] = end;
          std::vector<float> g = values(size, 8);
          g[at] = 0.0F;
          AdamState state{w, std::vector<float>(size), std::vector<float>(size, 1.0F), g};
          MinMax limits;
          state.step(passes(), step, &limits);
          EXPECT_EQ(limits.min, std::ranges::min(state.w)) << size << ", " << end << " at " << at;
          EXPECT_EQ(limits.max, std::ranges::max(state.w)) << size << ", " << end << " at " << at;
          EXPECT_FALSE(limits.min == 0.0F && std::signbit(limits.min)) << size << " at " << at;
          EXPECT_FALSE(limits.max == 0.0F && std::signbit(limits.max)) << size << " at " << at;
          EXPECT_TRUE(limits.finite);
        }
      }
    }
  }
}

TEST_P(TrainingPassesTest, AdamDetectsWeightsThatAreNotFinite) {
  const AdamStep step{0.9F, 0.999F, 0.0F, 0.0F, 0.5F, 1.0F, 1e-7F};
  constexpr std::size_t kSize = 71;
  const std::vector<float> zeros(kSize, 0.0F);
  for (const float bad : {kInfinity, -kInfinity, std::nanf(""), -std::nanf("")}) {
    for (std::size_t at = 0; at < kSize; ++at) {
      AdamState state{values(kSize, 9), zeros, zeros, zeros};
      state.w[at] = bad;
      MinMax limits;
      state.step(passes(), step, &limits);
      EXPECT_FALSE(limits.finite) << bad << " at " << at;
    }
  }
}

TEST_P(TrainingPassesTest, AdamsMeansDecayToZeroAndNoSubnormal) {
  const AdamStep step{0.9F, 0.999F, 0.0F, 0.0F, 1e-3F, 1.0F, 1e-7F};
  const std::vector<float> zeros(33, 0.0F);
  AdamState state{std::vector<float>(33, 1.0F), std::vector<float>(33, 1.3e-38F),
                  std::vector<float>(33, 1.176e-38F), zeros};
  for (int i = 0; i < 3; ++i) state.step(passes(), step);
  EXPECT_EQ(state.m, zeros);
  EXPECT_EQ(state.v, zeros);
}

TEST_P(TrainingPassesTest, AdamSkipsSubnormalTerms) {
  AdamStep step{0.9F, 0.999F, 0.0F, 0.0F, 1e-3F, 1.0F, 1e-7F};
  step.least_slope = 1e-10F;
  step.least_mean = 1e-30F;
  // Not a multiple of any vector's width; slopes alternately below and above the bound, then means.
  const std::vector<float> zeros(35, 0.0F);
  AdamState state{zeros, zeros, std::vector<float>(35, 1e-22F), zeros};
  auto& [w, m, v, g] = state;
  for (std::size_t i = 0; i < 16; ++i) g[i] = i % 2 == 0 ? -0.9e-10F : -1.1e-10F;
  for (std::size_t i = 16; i < 35; ++i) m[i] = i % 2 == 0 ? 1e-30F : 1.2e-30F;
  state.step(passes(), step);
  for (std::size_t i = 0; i < 16; ++i) {
    EXPECT_EQ(v[i] > 0.999F * 1e-22F, i % 2 == 1) << i;
    EXPECT_GT(w[i], 0.0F) << i;
  }
  for (std::size_t i = 16; i < 35; ++i) {
    EXPECT_GT(m[i], 0.8e-30F) << i;
    EXPECT_EQ(w[i] < 0.0F, i % 2 == 1) << i;
  }
}
INSTANTIATE_TEST_SUITE_P(Paths, TrainingPassesTest, ::testing::ValuesIn(available_kernels()),
                         isa_name);

}  // namespace
}  // namespace octet::test::training_passes_test
