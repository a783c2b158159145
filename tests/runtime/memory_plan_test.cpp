#include <gtest/gtest.h>
#include <octet/runtime/memory_plan.h>
#include <octet/tests/runtime/models.h>

namespace octet::test::memory_plan_test {
namespace {

using detail::MemoryOverlap;
using detail::MemoryUse;

TEST(MemoryPlan, ReusesMemoryOfWhatIsNoLongerInUse) {
  // A chain: each step reads the one before. Two blocks are alive at a time.
  const std::vector<MemoryUse> chain{{1000, 0, 1}, {1000, 1, 2}, {1000, 2, 3}, {1000, 3, 4}};
  EXPECT_EQ(detail::plan_memory(chain).total_bytes, 2048U);
}

TEST(MemoryPlan, FillsTheFullestStepFirstWhereTheLargestFirstNeedsMore) {
  // The largest first: 576 at 0, 432 at 0, 288 at 432 and 288 at 720, which is 1008.
  const std::vector<MemoryUse> chain{{432, 0, 1}, {288, 1, 2}, {288, 2, 3}, {576, 3, 4}};
  const auto plan = detail::plan_memory(chain, 1);
  EXPECT_EQ(plan.total_bytes, 576U + 288U);
  EXPECT_EQ(plan.offsets, (std::vector<std::size_t>{288, 0, 576, 0}));
}

TEST(MemoryPlan, OutputsLieOverInputsAsFarAsTheyMay) {
  const std::vector<MemoryUse> chain{{1000, 0, 1}, {1000, 1, 2}, {1000, 2, 3}, {1000, 3, 4}};
  // The first in place, then with 150 bytes in front, which become three pixels of 64.
  const std::vector<MemoryOverlap> overlaps{{1, 0}, {2, 1, 150, 48}, {3, 2, 150, 64}};
  const auto plan = detail::plan_memory(chain, 64, overlaps);
  EXPECT_EQ(plan.offsets, (std::vector<std::size_t>{384, 384, 192, 0}));
  EXPECT_EQ(plan.total_bytes, 384U + 1024U);
}

TEST(MemoryPlan, SwapsBlocksWhereThatSavesMemory) {
  // A residual block: a -> b -> c, a + c -> d, d -> e -> f, and f reads d as well.
  const std::vector<MemoryUse> uses{{1600, 0, 3}, {1600, 1, 2}, {1600, 2, 3},
                                    {1600, 3, 5}, {800, 4, 5},  {800, 5, 6}};
  const std::vector<MemoryOverlap> overlaps{{2, 1, 48}, {3, 0}, {3, 2}, {5, 4, 48}};
  EXPECT_EQ(detail::plan_memory(uses, 16, overlaps).total_bytes, 1600U + 48U + 1600U);
}

TEST(MemoryPlan, NothingNeedsNothing) { EXPECT_EQ(detail::plan_memory({}).total_bytes, 0U); }

TEST(MemoryPlan, WhatIsInUseAllTheTimeIsComparedWithNothing) {
  std::vector<MemoryUse> uses(60000, {64, -1, 5});
  EXPECT_EQ(detail::plan_memory(uses).comparisons, 0U);
  uses.push_back({64, 2, 3});
  uses.push_back({64, 4, 5});
  EXPECT_EQ(detail::plan_memory(uses).comparisons, 1U);
}

TEST(MemoryPlan, BlocksInUseTogetherNeverOverlap) {
  Draw draw(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<MemoryUse> uses;
    std::size_t sum = 0;
    for (int i = draw.between(1, 20); i > 0; --i) {
      const std::int32_t first = draw.between(-1, 10);
      uses.push_back(
          {static_cast<std::size_t>(draw.between(0, 500)), first, first + draw.between(0, 5)});
      sum += (uses.back().bytes + 63) / 64 * 64;
    }
    std::vector<MemoryOverlap> overlaps;
    for (std::size_t i = 0; i < uses.size() && round % 2 == 1; ++i) {
      for (std::size_t j = 0; j < uses.size(); ++j) {
        if (i == j || uses[i].first != uses[j].last || uses[j].first == uses[j].last) continue;
        overlaps.push_back({i, j, static_cast<std::size_t>(draw.between(0, 300)),
                            static_cast<std::size_t>(draw.between(1, 96))});
      }
    }
    const auto plan = detail::plan_memory(uses, 64, overlaps);
    EXPECT_LE(plan.total_bytes, sum);
    const auto may_overlap = [&](std::size_t output, std::size_t input) {
      return std::ranges::any_of(overlaps, [&](const MemoryOverlap& o) {
        const std::size_t distance = plan.offsets[input] - plan.offsets[output];
        return o.output == output && o.input == input &&
               plan.offsets[output] <= plan.offsets[input] && distance >= o.lead &&
               distance % o.unit == 0;
      });
    };
    for (std::size_t i = 0; i < uses.size(); ++i) {
      EXPECT_EQ(plan.offsets[i] % 64, 0U);
      EXPECT_LE(plan.offsets[i] + uses[i].bytes, plan.total_bytes);
      for (std::size_t j = 0; j < i; ++j) {
        const bool together = uses[i].first <= uses[j].last && uses[j].first <= uses[i].last;
        const bool apart = plan.offsets[i] + uses[i].bytes <= plan.offsets[j] ||
                           plan.offsets[j] + uses[j].bytes <= plan.offsets[i];
        EXPECT_TRUE(!together || apart || may_overlap(i, j) || may_overlap(j, i))
            << "round " << round;
      }
    }
  }
}

}  // namespace
}  // namespace octet::test::memory_plan_test
