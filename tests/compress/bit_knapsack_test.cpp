#include <gtest/gtest.h>
#include <octet/compress/bit_knapsack.h>
#include <octet/core/error.h>
#include <octet/core/random.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

namespace octet::detail {
namespace {

using Table = std::vector<std::vector<KnapsackItem>>;

constexpr std::size_t kBestOf = 5;

/// Up to 5 layers of up to 4 items; few different numbers where ties are wanted.
Table random_table(std::uint64_t seed, bool with_ties) {
  const Random random(seed);
  std::uint64_t drawn = 0;
  const auto below = [&](std::uint64_t n) { return random.bits(drawn++) % n; };
  Table table(1 + below(5));
  for (auto& layer : table) {
    layer.resize(1 + below(4));
    for (KnapsackItem& item : layer) {
      item.bytes = static_cast<std::int64_t>(below(with_ties ? 4 : 1000));
      item.loss = with_ties ? static_cast<double>(below(4)) - 1.0
                            : static_cast<double>(random.uniform(drawn++)) - 0.25;
    }
  }
  return table;
}

/// Every choice there is, in the order that is to be: by loss, bytes, and lower items at the back.
std::vector<KnapsackChoice> all_choices(const Table& table) {
  std::vector<KnapsackChoice> all = {{}};
  for (const auto& layer : table) {
    std::vector<KnapsackChoice> longer;
    for (const KnapsackChoice& one : all) {
      for (std::size_t item = 0; item < layer.size(); ++item) {
        KnapsackChoice next = one;
        next.items.push_back(item);
        next.bytes += layer[item].bytes;
        next.loss += layer[item].loss;
        longer.push_back(next);
      }
    }
    all = longer;
  }
  std::ranges::sort(all, [](const KnapsackChoice& a, const KnapsackChoice& b) {
    if (a.loss != b.loss) return a.loss < b.loss;
    if (a.bytes != b.bytes) return a.bytes < b.bytes;
    return std::lexicographical_compare(a.items.rbegin(), a.items.rend(), b.items.rbegin(),
                                        b.items.rend());
  });
  return all;
}

std::vector<std::vector<std::size_t>> items_of(const std::vector<KnapsackChoice>& choices) {
  std::vector<std::vector<std::size_t>> items;
  items.reserve(choices.size());
  for (const KnapsackChoice& choice : choices) items.push_back(choice.items);
  return items;
}

/// The best that fit, of a list in order.
std::vector<KnapsackChoice> best_within(const std::vector<KnapsackChoice>& all,
                                        std::int64_t budget) {
  std::vector<KnapsackChoice> best;
  for (const KnapsackChoice& one : all) {
    if (one.bytes <= budget && best.size() < kBestOf) best.push_back(one);
  }
  return best;
}

void expect_as_exhaustive(const Table& table, const std::string& what) {
  const std::vector<KnapsackChoice> all = all_choices(table);
  const BitKnapsack knapsack(table, kBestOf);
  std::vector<std::vector<std::size_t>> front;
  double least = std::numeric_limits<double>::infinity();
  std::vector<std::int64_t> budgets = {-1};
  for (const KnapsackChoice& one : all) budgets.push_back(one.bytes);
  std::ranges::sort(budgets);
  for (const std::int64_t budget : budgets) {
    const std::vector<KnapsackChoice> expected = best_within(all, budget);
    const std::vector<KnapsackChoice> found = knapsack.best(budget);
    ASSERT_EQ(items_of(found), items_of(expected)) << what << ", budget " << budget;
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].bytes, expected[i].bytes) << what;
      EXPECT_EQ(found[i].loss, expected[i].loss) << what;
    }
    // Where a byte more makes the best one better, that one is on the front.
    if (!expected.empty() && expected.front().loss < least) {
      least = expected.front().loss;
      front.push_back(expected.front().items);
    }
  }
  EXPECT_EQ(items_of(knapsack.front()), front) << what;
}

TEST(BitKnapsack, IsTheExhaustiveSearch) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    expect_as_exhaustive(random_table(seed, false), "table " + std::to_string(seed));
  }
}

TEST(BitKnapsack, TiesAreFewerBytesThenLowerItemsInLaterLayers) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    expect_as_exhaustive(random_table(1000 + seed, true), "ties " + std::to_string(seed));
  }
  const Table equal(2, {{4, 1.0}, {8, 0.5}});
  const std::vector<std::vector<std::size_t>> expected = {{1, 0}, {0, 1}, {0, 0}};
  EXPECT_EQ(items_of(BitKnapsack(equal, kBestOf).best(12)), expected);
}

TEST(BitKnapsack, TwentyLayersOfSixItemsAreFast) {
  Table table(20);
  const Random random(7);
  std::uint64_t drawn = 0;
  std::int64_t widest = 0;
  for (auto& layer : table) {
    const auto weights = static_cast<std::int64_t>(100 + random.bits(drawn++) % 5000);
    for (const int bits : {2, 3, 4, 5, 6, 8}) {
      const double loss = static_cast<double>(random.uniform(drawn++)) / bits;
      layer.push_back({weights * bits / 8, bits == 8 ? 0.0 : loss});
    }
    widest += layer.back().bytes;
  }
  const BitKnapsack knapsack(table, kBestOf);
  const std::vector<KnapsackChoice> best = knapsack.best(widest);
  ASSERT_EQ(best.size(), kBestOf);
  EXPECT_EQ(best.front().items, std::vector<std::size_t>(20, 5));
  EXPECT_GT(knapsack.front().size(), 20U);
}

TEST(BitKnapsack, RefusesWhatIsNoTable) {
  EXPECT_THROW(BitKnapsack({{{1, 0.0}}, {}}, kBestOf), InvalidArgument);
  EXPECT_THROW(BitKnapsack({{{-1, 0.0}}}, kBestOf), InvalidArgument);
  EXPECT_THROW(BitKnapsack({{{1, std::numeric_limits<double>::quiet_NaN()}}}, kBestOf),
               InvalidArgument);
}

}  // namespace
}  // namespace octet::detail
