// Shards: how things are cut, and the tree along which their sums are added.

#include <gmock/gmock.h>
#include <octet/core/random.h>
#include <octet/tests/train/distributed/thread_group.h>
#include <octet/train/distributed/shard_tree.h>

#include <cmath>

namespace octet::test {
namespace {

using detail::ShardSum;
using detail::ShardTree;
using testing::HasSubstr;

TEST(Parts, CoverAllInOrderAndDifferByOneAtMost) {
  for (std::size_t count = 0; count < 40; ++count) {
    for (std::size_t parts = 1; parts < 14; ++parts) {
      std::size_t next = 0;
      for (std::size_t i = 0; i < parts; ++i) {
        const IndexRange part = part_of(count, parts, i);
        EXPECT_EQ(part.begin, next);
        EXPECT_GE(part.size(), count / parts);
        EXPECT_LE(part.size(), (count + parts - 1) / parts);
        for (std::size_t k = part.begin; k < part.end; ++k) {
          EXPECT_EQ(part_with(count, parts, k), i);
        }
        next = part.end;
      }
      EXPECT_EQ(next, count);
      EXPECT_EQ(part_of(count, parts, 0).empty(), count == 0);
    }
  }
}

/// Numbers of many magnitudes, so that the order of adding shows.
ShardSum leaf(std::size_t shard) {
  const Random random(7, shard);
  ShardSum sum;
  sum.empty = false;
  for (std::size_t i = 0; i < 1003; ++i) {
    sum.gradients.push_back(std::ldexp(random.normal(i), static_cast<int>(random.below(i, 20))));
  }
  sum.sums = {1.0 / static_cast<double>(shard + 3), 1e9 * static_cast<double>(shard)};
  sum.least = {static_cast<double>(shard * 7 % 5), -static_cast<double>(shard)};
  return sum;
}

bool has_rows(std::size_t rows, std::size_t shards, std::size_t shard) {
  return (shard * rows + shards - 1) / shards < ((shard + 1) * rows + shards - 1) / shards;
}

/// The tree as it is described, a number at a time.
template <class T>
std::pair<bool, T> naive(std::size_t begin, std::size_t end, std::size_t shards, std::size_t rows,
                         const std::function<T(std::size_t)>& value) {
  if (end - begin == 1) return {has_rows(rows, shards, begin), value(begin)};
  const std::size_t middle = (begin + end + 1) / 2;
  const auto [has_left, left] = naive<T>(begin, middle, shards, rows, value);
  const auto [has_right, right] = naive<T>(middle, end, shards, rows, value);
  if (!has_left) return {has_right, right};
  return {true, has_right ? left + right : left};
}

TEST(ShardTree, AddsAsDescribedOnAnyNumberOfRanks) {
  for (const std::size_t shards : {1U, 2U, 3U, 5U, 8U, 13U}) {
    for (const std::size_t rows : {std::size_t{1}, shards - shards / 3, shards, 4 * shards + 1}) {
      ShardSum first;
      for (int ranks = 1; ranks <= static_cast<int>(shards); ++ranks) {
        ThreadGroups::run(ranks, [&](ProcessGroup& group) {
          ShardTree tree(shards, group);
          std::size_t last = tree.own().begin;
          const ShardSum sum = tree.sum(rows, {1003, 2, 2}, [&](std::size_t shard, ShardSum& to) {
            EXPECT_TRUE(tree.own().contains(shard));
            EXPECT_TRUE(has_rows(rows, shards, shard));
            EXPECT_GE(shard, last);
            last = shard;
            if (to.empty) {
              to = leaf(shard);
            } else {
              to.add(leaf(shard));
            }
          });
          EXPECT_EQ(sum.empty, !group.is_root());
          if (!group.is_root()) return;
          if (ranks == 1) first = sum;
          EXPECT_EQ(sum.gradients, first.gradients);
          EXPECT_EQ(sum.sums, first.sums);
          EXPECT_EQ(sum.least, first.least);
        });
      }
      for (const std::size_t i : {0U, 500U, 1002U}) {
        EXPECT_EQ(first.gradients[i], (naive<float>(0, shards, shards, rows, [&](std::size_t k) {
                                         return leaf(k).gradients[i];
                                       }).second));
      }
      EXPECT_EQ(first.sums[0], (naive<double>(0, shards, shards, rows, [&](std::size_t k) {
                                  return leaf(k).sums[0];
                                }).second));
      double least = 1e9;
      for (std::size_t k = 0; k < shards; ++k) {
        if (has_rows(rows, shards, k)) least = std::min(least, leaf(k).least[1]);
      }
      EXPECT_EQ(first.least[1], least);
    }
  }
}

TEST(ShardTree, TheOrderOfAddingShows) {
  bool differs = false;
  for (std::size_t i = 0; i < 1003; ++i) {
    float sum = leaf(0).gradients[i];
    for (std::size_t k = 1; k < 8; ++k) sum += leaf(k).gradients[i];
    const auto value = [&](std::size_t k) { return leaf(k).gradients[i]; };
    differs = differs || sum != naive<float>(0, 8, 8, 8, value).second;
  }
  EXPECT_TRUE(differs);
}

TEST(ShardTree, RefusesMoreRanksThanShards) {
  ThreadGroups::run(3, [](ProcessGroup& group) {
    try {
      const ShardTree tree(2, group);
      ADD_FAILURE();
    } catch (const InvalidArgument& error) {
      EXPECT_THAT(error.what(), HasSubstr("found 2 for 3 ranks"));
    }
  });
}

}  // namespace
}  // namespace octet::test
