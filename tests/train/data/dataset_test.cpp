#include "idx_files.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/core/ops/elementwise.h>
#include <octet/tests/core/keep_threads.h>
#include <octet/train/data/dataset.h>
#include <octet/train/data/normalization.h>

#include <algorithm>
#include <limits>
#include <numeric>

namespace octet::test::dataset_test {
namespace {

/// 256 examples of one row of three bytes: i, 255 - i, 7.
Dataset every_byte() {
  Bytes pixels;
  for (int i = 0; i < 256; ++i) {
    for (const int value : {i, 255 - i, 7}) pixels.push_back(static_cast<std::uint8_t>(value));
  }
  Labels labels(256);
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::int32_t>(i % 4);
  return Dataset::from_bytes("bytes", {1, 3}, pixels, labels, 4);
}

TEST(Dataset, EveryByteIsTheRoundedQuotientBy255) {
  const Tensor x = every_byte().features(0, 256);
  ASSERT_EQ(x.shape(), (Shape{256, 1, 3}));
  for (Index i = 0; i < 256; ++i) {
    ASSERT_EQ(x.at({i, 0, 0}), static_cast<float>(i) / 255.0F) << i;
    ASSERT_EQ(x.at({i, 0, 1}), static_cast<float>(255 - i) / 255.0F) << i;
  }
}

TEST(Dataset, GathersRowsInOrderAndTwice) {
  const Dataset set = every_byte();
  const std::vector<std::uint32_t> rows = {255, 3, 3, 0};
  const Tensor x = set.features(rows);
  ASSERT_EQ(x.shape(), (Shape{4, 1, 3}));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(x.at({static_cast<Index>(i), 0, 0}), static_cast<float>(rows[i]) / 255.0F);
  }
  EXPECT_EQ(set.targets(rows).labels(), (Labels{3, 3, 3, 0}));
}

TEST(Dataset, NoRowsGiveAnEmptyBatch) {
  const Dataset set = every_byte();
  EXPECT_EQ(set.features(std::vector<std::uint32_t>{}).shape(), (Shape{0, 1, 3}));
  EXPECT_EQ(set.features(7, 7).shape(), (Shape{0, 1, 3}));
  EXPECT_EQ(set.features(256, 256).shape(), (Shape{0, 1, 3}));
}

TEST(Dataset, ThreadsDoNotMatter) {
  // Large examples, so that a batch takes several chunks.
  const Dataset set =
      Dataset::from_bytes("large", {101, 103}, counting(37 * 101 * 103), Labels(37, 0), 1);
  std::vector<std::uint32_t> rows(37);
  std::iota(rows.rbegin(), rows.rend(), 0U);
  const KeepThreads keep;
  std::vector<float> expected;
  for (const std::uint32_t row : rows) {
    for (const std::uint8_t byte : set.bytes().subspan(row * 101 * 103, 101 * 103)) {
      expected.push_back(static_cast<float>(byte) / 255.0F);
    }
  }
  for (const int threads : {1, 2, 4}) {
    set_num_threads(threads);
    EXPECT_TRUE(std::ranges::equal(set.features(rows).span(), expected)) << threads;
    const Tensor part = set.features(5, 30);
    EXPECT_EQ(part.at({0, 2, 1}), set.features(0, 37).at({5, 2, 1})) << threads;
  }
}

TEST(Dataset, FloatsAreUsedAsTheyAre) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const Dataset set =
      Dataset::from_floats("floats", {2}, {-3.5F, 1e30F, kInfinity, 0.0F}, {0, 1}, 2);
  const Tensor x = set.features(0, 2);
  EXPECT_TRUE(std::ranges::equal(x.span(), std::vector<float>{-3.5F, 1e30F, kInfinity, 0.0F}));
  EXPECT_EQ(set.features(std::vector<std::uint32_t>{1}).at({0, 0}), kInfinity);
  EXPECT_TRUE(set.bytes().empty());
}

TEST(Dataset, ScalarExamplesWork) {
  const Dataset set = Dataset::from_floats("scalars", {}, {1, 2, 3}, {0, 0, 0}, 1);
  EXPECT_EQ(set.features(1, 3).shape(), (Shape{2}));
  EXPECT_EQ(set.features(1, 3).at({0}), 2.0F);
}

TEST(Dataset, HeadKeepsTheFirst) {
  const Dataset set = every_byte();
  const Dataset head = set.head(5);
  EXPECT_EQ(head.size(), 5U);
  EXPECT_EQ(head.bytes().size(), 15U);
  EXPECT_EQ(head.name(), "bytes");
  EXPECT_EQ(head.classes(), 4);
  EXPECT_EQ(head.features(4, 5).at({0, 0, 0}), 4.0F / 255.0F);
  EXPECT_EQ(head.labels()[4], 0);
  EXPECT_EQ(set.head(1000).size(), 256U);
  EXPECT_TRUE(set.head(0).empty());
  const Dataset floats = Dataset::from_floats("floats", {2}, {1, 2, 3, 4}, {0, 1}, 2).head(1);
  EXPECT_TRUE(std::ranges::equal(floats.features(0, 1).span(), std::vector<float>{1, 2}));
}

TEST(Dataset, ASliceHasItsExamplesAndTargets) {
  const Dataset slice = every_byte().slice(7, 10);
  EXPECT_EQ(slice.size(), 3U);
  EXPECT_EQ(slice.classes(), 4);
  EXPECT_TRUE(std::ranges::equal(slice.bytes(), every_byte().bytes().subspan(21, 9)));
  EXPECT_TRUE(std::ranges::equal(slice.labels(), every_byte().labels().subspan(7, 3)));
  const Tensor x = Tensor::from({3, 2}, {1, 2, 3, 4, 5, 6});
  const Dataset two = Dataset::from_tensors("two", {x, x * 10.0F}, {x * 2.0F, Labels{4, 5, 6}});
  const Batch last = two.slice(2, 3).batch(0, 1);
  EXPECT_TRUE(std::ranges::equal(last.features.span(), std::vector<float>{5, 6}));
  EXPECT_TRUE(std::ranges::equal(last.inputs()[1].span(), std::vector<float>{50, 60}));
  EXPECT_TRUE(std::ranges::equal(last.targets.values().span(), std::vector<float>{10, 12}));
  EXPECT_EQ(last.all_targets()[1].labels(), Labels{6});
  EXPECT_TRUE(two.slice(3, 3).empty());
  EXPECT_THROW(two.slice(2, 4), InvalidArgument);
  EXPECT_THROW(two.slice(2, 1), InvalidArgument);
}

TEST(Dataset, ExamplesKeepTheirNames) {
  const Dataset plain = Dataset::from_floats("x", {1}, {0, 1, 2, 3, 4}, {0, 1, 0, 1, 0}, 2);
  EXPECT_EQ(plain.example_name(4), "example 4");
  const Dataset named =
      Dataset(plain).with_example_names([](std::size_t row) { return fmt::format("row {}", row); });
  const std::vector<std::uint32_t> rows = {4, 2, 3};
  const Dataset some = named.subset(rows);
  const Tensor targets = Tensor::zeros({3, 1});
  for (const Dataset& same : {some, some.with_targets(targets), some.with_labels({0, 0, 1}, 2),
                              some.with_features(Dataset::from_tensors("y", targets, targets)),
                              normalized(some, {{1}, {2}})}) {
    EXPECT_EQ(same.example_name(0), "row 4");
    EXPECT_EQ(same.slice(1, 3).example_name(1), "row 3");
  }
  EXPECT_EQ(named.head(2).example_name(1), "row 1");
  EXPECT_THROW(some.example_name(3), InvalidArgument);
}

TEST(Dataset, AnEmptySetIsASet) {
  const Dataset set = Dataset::from_bytes("none", {2, 2}, {}, {}, 3);
  EXPECT_TRUE(set.empty());
  EXPECT_EQ(set.features(0, 0).shape(), (Shape{0, 2, 2}));
  EXPECT_TRUE(Dataset().empty());
}

TEST(Dataset, RefusesSizesThatDisagree) {
  const auto make = [](Shape shape, std::size_t pixels, Labels labels, int classes) {
    return message_of<InvalidArgument>(
        [&] { Dataset::from_bytes("odd", shape, Bytes(pixels), labels, classes); });
  };
  expect_mentions(make({2, 2}, 7, {0, 1}, 2), "2 examples (one a label) of shape [2, 2]");
  expect_mentions(make({2, 2}, 12, {0, 1}, 2), "found 12 values");
  expect_mentions(make({2, 2}, 0, {0}, 2), "found 0 values");
  expect_mentions(make({2, 0}, 0, {0}, 2), "hold no values");
  expect_mentions(make({1}, 2, {0, 2}, 2), "label 2 of example 1 is outside [0, 2)");
  expect_mentions(make({1}, 2, {-1, 0}, 2), "label -1 of example 0");
  expect_mentions(make({1}, 0, {}, 0), "at least 1 class");
  EXPECT_THROW(Dataset::from_floats("odd", {2}, {1, 2, 3}, {0}, 1), InvalidArgument);
  EXPECT_THROW(Dataset::from_bytes("odd", {-1}, {1}, {0}, 1), InvalidArgument);
}

TEST(Dataset, RefusesRowsOutsideTheSet) {
  const Dataset set = every_byte();
  const std::vector<std::uint32_t> rows = {0, 256};
  expect_mentions(message_of<InvalidArgument>([&] { set.features(rows); }), "row 256");
  EXPECT_THROW(set.targets(rows), InvalidArgument);
  EXPECT_THROW(set.features(0, 257), InvalidArgument);
  expect_mentions(message_of<InvalidArgument>([&] { set.features(3, 2); }), "examples [3, 2)");
}

}  // namespace
}  // namespace octet::test::dataset_test
