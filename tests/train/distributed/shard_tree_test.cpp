// Shards: how things are cut, and the tree along which their sums are added.

#include <gtest/gtest.h>
#include <octet/core/random.h>
#include <octet/tests/core/thrown.h>
#include <octet/tests/train/distributed/thread_group.h>
#include <octet/train/distributed/shard_exchange.h>

#include <cmath>

namespace octet::test::shard_tree_test {
namespace {

using detail::ShardTree;

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

struct ShardSum {
  std::vector<float> gradients;
  detail::ShardNumbers numbers;
};

/// Elements that take several pieces.
constexpr std::size_t kElements = 70001;
/// A parameter over several pieces, an empty one, and small ones.
const std::vector<std::size_t> kSizes = {60000, 0, 1, 9990, 10};

/// Numbers of many magnitudes, so that the order of adding shows. The last parameter of odd shards
/// has no gradient.
ShardSum make_leaf(std::size_t shard) {
  const Random random(7, shard);
  ShardSum sum;
  for (std::size_t i = 0; i < kElements; ++i) {
    const bool is_zero = shard % 2 == 1 && i >= kElements - kSizes.back();
    const float value = std::ldexp(random.normal(i), static_cast<int>(random.below(i, 20)));
    sum.gradients.push_back(is_zero ? 0.0F : value);
  }
  sum.numbers.sums = {1.0 / static_cast<double>(shard + 3), 1e9 * static_cast<double>(shard)};
  sum.numbers.least = {static_cast<double>(shard * 7 % 5), -static_cast<double>(shard)};
  return sum;
}

const ShardSum& leaf(std::size_t shard) {
  static const std::vector<ShardSum> all = [] {
    std::vector<ShardSum> result;
    for (std::size_t i = 0; i < 13; ++i) result.push_back(make_leaf(i));
    return result;
  }();
  return all[shard];
}

/// Gives an exchange the gradients of a shard, those of the last parameters first and one twice.
void take(detail::ShardExchange& exchange, const ShardSum& sum, std::size_t shard) {
  std::size_t end = kElements;
  for (std::size_t i = kSizes.size(); i-- > 0; end -= kSizes[i]) {
    Tensor gradient;
    if (i + 1 < kSizes.size() || shard % 2 == 0) {
      gradient = Tensor(Shape{static_cast<Index>(kSizes[i])});
      std::copy_n(sum.gradients.begin() + static_cast<std::ptrdiff_t>(end - kSizes[i]), kSizes[i],
                  gradient.mutable_data());
    }
    exchange.take(i, gradient);
    if (i == 0) exchange.take(i, gradient);
  }
  exchange.end_shard(sum.numbers);
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

/// Two batches on each number of ranks, which all come to what is returned of the second.
ShardSum sum_on_any_ranks(std::size_t shards, std::size_t rows, GradientFormat format) {
  ShardSum first;
  std::vector<std::vector<float>> first_errors;
  for (int ranks = 1; ranks <= static_cast<int>(shards); ++ranks) {
    ThreadGroups::run(ranks, [&](ProcessGroup& group) {
      const ShardTree tree(shards, group);
      detail::GradientErrors errors;
      detail::ShardExchange exchange(tree, group, kSizes, {{0.0, 0.0}, {0.0, 0.0}}, format, errors);
      // What the first batch leaves does not reach the second, but for the errors of codes.
      for (int batch = 0; batch < 2; ++batch) {
        std::size_t last = tree.own().begin;
        exchange.begin(rows);
        while (const auto shard = exchange.next_shard()) {
          EXPECT_TRUE(tree.own().contains(*shard));
          EXPECT_TRUE(has_rows(rows, shards, *shard));
          EXPECT_GE(*shard, last);
          last = *shard;
          take(exchange, leaf(*shard), *shard);
        }
        exchange.finish();
      }
      if (ranks == 1) first = {exchange.gradients(), exchange.numbers()};
      if (ranks == 1) first_errors = errors;
      EXPECT_EQ(exchange.gradients(), first.gradients);
      EXPECT_EQ(errors.empty(), format == GradientFormat::float32);
      for (std::size_t i = 0; i < errors.size(); ++i) {
        EXPECT_EQ(errors[i], first_errors[tree.own().begin + i]);
      }
      if (!group.is_root()) return;
      EXPECT_EQ(exchange.numbers().sums, first.numbers.sums);
      EXPECT_EQ(exchange.numbers().least, first.numbers.least);
    });
  }
  return first;
}

/// Batches with rows for one shard, for some, for all. Of eight shards of five rows the third has
/// none, so that the fourth takes its place.
std::vector<std::size_t> rows_for(std::size_t shards) {
  return {1, shards / 2 + 1, shards - shards / 3, shards, 4 * shards + 1};
}

TEST(ShardTree, AddsAsDescribedOnAnyNumberOfRanks) {
  for (const std::size_t shards : {1U, 2U, 3U, 5U, 8U, 13U}) {
    for (const std::size_t rows : rows_for(shards)) {
      const ShardSum first = sum_on_any_ranks(shards, rows, GradientFormat::float32);
      for (const std::size_t i : {0U, 500U, 40000U, 70000U}) {
        EXPECT_EQ(first.gradients[i], (naive<float>(0, shards, shards, rows, [&](std::size_t k) {
                                         return leaf(k).gradients[i];
                                       }).second));
      }
      EXPECT_EQ(first.numbers.sums[0], (naive<double>(0, shards, shards, rows, [&](std::size_t k) {
                                          return leaf(k).numbers.sums[0];
                                        }).second));
      double least = 1e9;
      for (std::size_t k = 0; k < shards; ++k) {
        if (has_rows(rows, shards, k)) least = std::min(least, leaf(k).numbers.least[1]);
      }
      EXPECT_EQ(first.numbers.least[1], least);
    }
  }
}

/// Codes of gradients along the tree, an element at a time.
class NaiveCodes {
 public:
  NaiveCodes(std::size_t shards, std::size_t rows)
      : shards_(shards), rows_(rows), errors_(shards, std::vector<float>(kElements)) {}

  std::vector<float> batch() {
    std::vector<float> whole = sum(0, shards_);
    return coded(whole, 0);
  }

 private:
  bool any_rows(std::size_t begin, std::size_t end) const {
    for (std::size_t k = begin; k < end; ++k) {
      if (has_rows(rows_, shards_, k)) return true;
    }
    return false;
  }

  std::vector<float> sum(std::size_t begin, std::size_t end) {
    if (end - begin == 1) return leaf(begin).gradients;
    const std::size_t middle = (begin + end + 1) / 2;
    const bool has_left = any_rows(begin, middle);
    std::vector<float> left = has_left ? sum(begin, middle) : std::vector<float>();
    if (!any_rows(middle, end)) return left;
    std::vector<float> right = coded(sum(middle, end), middle);
    if (!has_left) return right;
    for (std::size_t i = 0; i < kElements; ++i) left[i] += right[i];
    return left;
  }

  std::vector<float> coded(std::vector<float> values, std::size_t shard) {
    std::size_t begin = 0;
    for (const std::size_t size : kSizes) {
      for (std::size_t from = begin; from < begin + size; from += 256) {
        code_block(values, shard, from, std::min(from + 256, begin + size));
      }
      begin += size;
    }
    return values;
  }

  void code_block(std::vector<float>& values, std::size_t shard, std::size_t from, std::size_t to) {
    std::vector<float>& errors = errors_[shard];
    float largest = 0.0F;
    for (std::size_t i = from; i < to; ++i) {
      largest = std::max(largest, std::fabs(values[i] + errors[i]));
    }
    for (std::size_t i = from; i < to && largest > 0.0F; ++i) {
      const float wanted = values[i] + errors[i];
      values[i] = std::nearbyint(wanted * (127.0F / largest)) * (largest / 127.0F);
      errors[i] = wanted - values[i];
    }
  }

  std::size_t shards_;
  std::size_t rows_;
  std::vector<std::vector<float>> errors_;
};

TEST(ShardTree, AddsCodesAsDescribedOnAnyNumberOfRanks) {
  for (const std::size_t shards : {1U, 2U, 5U, 8U, 13U}) {
    for (const std::size_t rows : rows_for(shards)) {
      const ShardSum first = sum_on_any_ranks(shards, rows, GradientFormat::int8);
      NaiveCodes naive(shards, rows);
      EXPECT_NE(naive.batch(), first.gradients);
      EXPECT_EQ(naive.batch(), first.gradients) << shards << " shards of " << rows;
    }
  }
}

TEST(ShardTree, TheOrderOfAddingShows) {
  bool differs = false;
  for (std::size_t i = 0; i < kElements; ++i) {
    float sum = leaf(0).gradients[i];
    for (std::size_t k = 1; k < 8; ++k) sum += leaf(k).gradients[i];
    const auto value = [&](std::size_t k) { return leaf(k).gradients[i]; };
    differs = differs || sum != naive<float>(0, 8, 8, 8, value).second;
  }
  EXPECT_TRUE(differs);
}

TEST(ShardTree, RefusesMoreRanksThanShards) {
  ThreadGroups::run(3, [](ProcessGroup& group) {
    expect_throws<InvalidArgument>([&] { const ShardTree tree(2, group); },
                                   {"found 2 for 3 ranks"});
  });
}

}  // namespace
}  // namespace octet::test::shard_tree_test
