#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/tests/core/thrown.h>
#include <octet/train/data/split_data.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace octet::test::split_data_test {
namespace {

/// Example i has the value i.
Dataset examples(const Labels& labels, int classes) {
  std::vector<float> values(labels.size());
  std::iota(values.begin(), values.end(), 0.0F);
  return Dataset::from_floats("set", {1}, values, labels, classes);
}

std::vector<std::uint32_t> rows_of(const Dataset& part) {
  if (part.empty()) return {};
  const Tensor features = part.features(0, part.size());
  return {features.span().begin(), features.span().end()};
}

TEST(SplitData, DividesEachClassByTheShare) {
  Labels labels(100, 0);
  std::fill_n(labels.begin(), 30, 1);
  labels[99] = labels[98] = 2;
  const Dataset data = examples(labels, 3);
  const DataSplit split = split_data(data, 0.8);
  std::map<std::int32_t, int> train;
  for (const std::int32_t label : split.train.labels()) ++train[label];
  EXPECT_EQ(train, (std::map<std::int32_t, int>{{0, 54}, {1, 24}, {2, 1}}));
  std::vector<std::uint32_t> all = rows_of(split.train);
  EXPECT_TRUE(std::ranges::is_sorted(all));
  for (const std::uint32_t row : rows_of(split.test)) all.push_back(row);
  std::ranges::sort(all);
  EXPECT_EQ(all.size(), 100U);
  EXPECT_EQ(std::ranges::adjacent_find(all), all.end());
  EXPECT_EQ(rows_of(split_data(data, 0.8).test), rows_of(split.test));
  EXPECT_NE(rows_of(split_data(data, 0.8, {}, 1).test), rows_of(split.test));
}

TEST(SplitData, GroupsStayTogether) {
  // Ten persons with examples of both classes, of unlike numbers.
  Labels labels;
  Groups groups;
  for (std::uint32_t person = 0; person < 10; ++person) {
    for (std::uint32_t i = 0; i < 4 + person; ++i) {
      labels.push_back(static_cast<std::int32_t>(i % 2));
      groups.push_back(7 * person);
    }
  }
  for (const std::uint64_t seed : {0U, 1U, 2U, 3U}) {
    const DataSplit split = split_data(examples(labels, 2), 0.7, groups, seed);
    std::set<std::uint32_t> train;
    for (const std::uint32_t row : rows_of(split.train)) train.insert(groups[row]);
    for (const std::uint32_t row : rows_of(split.test)) EXPECT_FALSE(train.contains(groups[row]));
    EXPECT_NEAR(static_cast<double>(split.train.size()), 0.7 * static_cast<double>(labels.size()),
                4.0);
  }
}

TEST(SplitData, TargetsThatAreTensorsAreDividedToo) {
  const Dataset data = examples(Labels(10, 0), 1).with_targets(Tensor::ones({10, 2}));
  const DataSplit split = split_data(data, 0.5);
  EXPECT_EQ(split.train.size(), 5U);
  EXPECT_EQ(split.test.target_shape(), (Shape{2}));
}

TEST(SplitData, WhatCannotBeDividedIsNamed) {
  const Dataset data = examples({0, 0, 1}, 2).with_class_names({"idle", "worn"});
  const auto refused = [&](double share, const Groups& groups) {
    return message_of<InvalidArgument>([&] { split_data(data, share, groups); });
  };
  expect_mentions(refused(0.5, {}),
                  "class worn of 'set' to be at least two examples, one for each part, "
                  "found 1");
  expect_mentions(refused(0.5, {3, 3, 4}), "class idle of 'set' to be at least two groups, one");
  expect_mentions(refused(1.0, {}), "expected a share between 0 and 1 for training, found 1");
  expect_mentions(refused(0.5, {1}), "expected a group for each of 3 examples, found 1");
  expect_mentions(message_of<InvalidArgument>([&] { data.subset(std::vector<std::uint32_t>{3}); }),
                  "row 3 is outside a set of 3 examples");
}

}  // namespace
}  // namespace octet::test::split_data_test
