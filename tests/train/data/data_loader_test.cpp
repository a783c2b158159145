#include "idx_files.h"

#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/train/data/data_loader.h>

#include <algorithm>
#include <set>
#include <utility>

namespace octet::test::data_loader_test {
namespace {

/// `count` examples of one float, their own number, which is their label as well.
Dataset numbered(std::size_t count) {
  std::vector<float> values(count);
  Labels labels(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>(i);
    labels[i] = static_cast<std::int32_t>(i);
  }
  return Dataset::from_floats("numbers", {1}, values, labels, static_cast<int>(count) + 1);
}

/// Takes what is left of the epoch, and checks that features and labels go together.
std::vector<std::vector<std::int32_t>> rest(DataLoader& loader) {
  std::vector<std::vector<std::int32_t>> batches;
  for (Batch batch; loader.next(batch);) {
    EXPECT_EQ(batch.features.shape(), (Shape{static_cast<Index>(batch.targets.size()), 1}));
    for (std::size_t i = 0; i < batch.targets.size(); ++i) {
      EXPECT_EQ(batch.features.span()[i], static_cast<float>(batch.targets.labels()[i]));
    }
    batches.push_back(batch.targets.labels());
  }
  return batches;
}

std::vector<std::vector<std::int32_t>> epoch(DataLoader& loader, Index number) {
  loader.start_epoch(number);
  return rest(loader);
}

std::vector<std::int32_t> flat(const std::vector<std::vector<std::int32_t>>& batches) {
  std::vector<std::int32_t> all;
  for (const auto& batch : batches) all.insert(all.end(), batch.begin(), batch.end());
  return all;
}

TEST(DataLoader, CoversEveryExampleOnceWithASmallLastBatch) {
  const Dataset set = numbered(23);
  DataLoader loader(set, {.batch_size = 5, .seed = 4});
  EXPECT_EQ(loader.batches(), 5U);
  EXPECT_EQ(loader.examples(), 23U);
  for (const Index number : {0, 1, 17}) {
    const auto batches = epoch(loader, number);
    ASSERT_EQ(batches.size(), 5U);
    EXPECT_EQ(batches[3].size(), 5U);
    EXPECT_EQ(batches[4].size(), 3U);
    auto all = flat(batches);
    std::ranges::sort(all);
    EXPECT_EQ(all, Labels(set.labels().begin(), set.labels().end()));
  }
}

TEST(DataLoader, OrderDependsOnSeedAndEpochAlone) {
  const Dataset set = numbered(50);
  DataLoader first(set, {.batch_size = 8, .seed = 1});
  DataLoader same(set, {.batch_size = 8, .seed = 1});
  DataLoader other(set, {.batch_size = 8, .seed = 2});
  const auto third = epoch(first, 3);
  epoch(same, 0);
  epoch(same, 9);
  EXPECT_EQ(epoch(same, 3), third);
  EXPECT_EQ(epoch(first, 3), third);
  EXPECT_NE(epoch(first, 4), third);
  EXPECT_NE(epoch(other, 3), third);
  // The batch size cuts the same order elsewhere.
  DataLoader larger(set, {.batch_size = 50, .seed = 1});
  EXPECT_EQ(flat(epoch(larger, 3)), flat(third));
}

TEST(DataLoader, OrdersStayTheSameFromReleaseToRelease) {
  // Checkpoints of older versions resume right only as long as this holds.
  const Dataset set = numbered(8);
  DataLoader loader(set, {.batch_size = 8, .seed = 7});
  EXPECT_EQ(flat(epoch(loader, 2)), (Labels{2, 6, 3, 0, 5, 1, 4, 7}));
}

TEST(DataLoader, UnshuffledGoesInOrder) {
  const Dataset set = numbered(7);
  DataLoader loader(set, {.batch_size = 3, .shuffle = false});
  const std::vector<std::vector<std::int32_t>> expected = {{0, 1, 2}, {3, 4, 5}, {6}};
  EXPECT_EQ(rest(loader), expected);
  EXPECT_EQ(epoch(loader, 1), expected);
}

TEST(DataLoader, DropLastLeavesTheSmallBatchOut) {
  const Dataset set = numbered(23);
  DataLoader loader(set, {.batch_size = 5, .drop_last = true});
  EXPECT_EQ(loader.batches(), 4U);
  EXPECT_EQ(loader.examples(), 20U);
  EXPECT_EQ(flat(epoch(loader, 0)).size(), 20U);
  const Dataset exact = numbered(20);
  EXPECT_EQ(DataLoader(exact, {.batch_size = 5, .drop_last = true}).batches(), 4U);
  EXPECT_EQ(DataLoader(exact, {.batch_size = 5}).batches(), 4U);
}

TEST(DataLoader, BatchesOfOneAndLargerThanTheSet) {
  const Dataset set = numbered(3);
  DataLoader single(set, {.batch_size = 1});
  EXPECT_EQ(epoch(single, 0).size(), 3U);
  DataLoader large(set, {.batch_size = 1000});
  const auto batches = epoch(large, 0);
  ASSERT_EQ(batches.size(), 1U);
  EXPECT_EQ(batches[0].size(), 3U);
}

TEST(DataLoader, ResumingEqualsNeverStopping) {
  const Dataset set = numbered(23);
  const LoaderOptions options{.batch_size = 4, .seed = 5};
  DataLoader whole(set, options);
  std::vector<std::vector<std::int32_t>> expected;
  std::vector<LoaderPosition> positions;
  for (const Index number : {0, 1}) {
    whole.start_epoch(number);
    for (Batch batch;;) {
      positions.push_back(whole.position());
      if (!whole.next(batch)) break;
      expected.push_back(batch.targets.labels());
    }
  }
  for (const LoaderPosition& position : positions) {
    DataLoader resumed(set, options);
    resumed.seek(position);
    EXPECT_EQ(resumed.position(), position);
    auto found = rest(resumed);
    if (position.epoch == 0) {
      for (auto& batch : epoch(resumed, 1)) found.push_back(std::move(batch));
    }
    const auto skipped = static_cast<std::ptrdiff_t>(position.epoch * 6 + position.batch);
    EXPECT_EQ(found, decltype(found)(expected.begin() + skipped, expected.end()));
  }
}

TEST(DataLoader, PositionFollowsTheBatches) {
  const Dataset set = numbered(5);
  DataLoader loader(set, {.batch_size = 4});
  EXPECT_EQ(loader.position(), (LoaderPosition{0, 0}));
  Batch batch;
  EXPECT_TRUE(loader.next(batch));
  EXPECT_EQ(loader.position(), (LoaderPosition{0, 1}));
  EXPECT_TRUE(loader.next(batch));
  const Labels last = batch.targets.labels();
  for (int again = 0; again < 2; ++again) {
    EXPECT_FALSE(loader.next(batch));
    EXPECT_EQ(loader.position(), (LoaderPosition{0, 2}));
    EXPECT_EQ(batch.targets.labels(), last);
  }
  loader.start_epoch(6);
  EXPECT_EQ(loader.position(), (LoaderPosition{6, 0}));
}

TEST(DataLoader, AugmentsWithNumbersOfSeedEpochAndBatch) {
  const Dataset set = numbered(10);
  std::vector<std::uint32_t> drawn;
  LoaderOptions options{.batch_size = 4, .seed = 3};
  options.augment = [&](Tensor& features, std::span<const std::int32_t> labels, Random random) {
    EXPECT_EQ(features.span()[0], static_cast<float>(labels[0]));
    drawn.push_back(random.bits(0));
    features.mutable_span()[0] += 0.5F;
  };
  DataLoader loader(set, options);
  Batch batch;
  for (const Index number : {0, 1}) {
    loader.start_epoch(number);
    while (loader.next(batch)) {
      EXPECT_EQ(batch.features.span()[0], static_cast<float>(batch.targets.labels()[0]) + 0.5F);
    }
  }
  ASSERT_EQ(drawn.size(), 6U);
  const auto uninterrupted = drawn;
  std::ranges::sort(drawn);
  EXPECT_EQ(std::ranges::adjacent_find(drawn), drawn.end()) << "a batch's numbers came twice";
  drawn.clear();
  loader.seek({1, 1});
  while (loader.next(batch)) {
  }
  EXPECT_EQ(drawn, std::vector<std::uint32_t>(uninterrupted.begin() + 4, uninterrupted.end()));
  EXPECT_EQ(set.features(0, 1).item(), 0.0F) << "the set itself was changed";
}

TEST(DataLoader, AugmentationMayReshapeButNotDropRows) {
  const Dataset set = numbered(4);
  LoaderOptions options{.batch_size = 4};
  options.augment = [](Tensor& features, auto, Random) { features = Tensor::ones({4, 2, 2}); };
  DataLoader reshaping(set, options);
  Batch batch;
  EXPECT_TRUE(reshaping.next(batch));
  EXPECT_EQ(batch.features.shape(), (Shape{4, 2, 2}));
  options.augment = [](Tensor& features, auto, Random) { features = Tensor::ones({3, 1}); };
  DataLoader dropping(set, options);
  expect_mentions(message_of<InvalidArgument>([&] { dropping.next(batch); }), "4 rows");
  EXPECT_EQ(dropping.position(), (LoaderPosition{0, 0}));
  options.augment = [](Tensor& features, auto, Random) { features = Tensor(); };
  DataLoader clearing(set, options);
  expect_mentions(message_of<InvalidArgument>([&] { clearing.next(batch); }), "no tensor");
}

TEST(DataLoader, RefusesWhatCannotBeCut) {
  const Dataset set = numbered(4);
  const Dataset none;
  expect_mentions(message_of<InvalidArgument>([&] { DataLoader loader(none); }), "empty");
  expect_mentions(message_of<InvalidArgument>([&] { DataLoader loader(set, {.batch_size = 0}); }),
                  "batch size");
  expect_mentions(message_of<InvalidArgument>(
                      [&] { DataLoader loader(set, {.batch_size = 5, .drop_last = true}); }),
                  "drop_last leaves no batch");
}

TEST(DataLoader, RefusesPositionsOutsideTheEpoch) {
  const Dataset set = numbered(4);
  DataLoader loader(set, {.batch_size = 2});
  EXPECT_NO_THROW(loader.seek({0, 2}));
  EXPECT_THROW(loader.seek({0, 3}), InvalidArgument);
  EXPECT_THROW(loader.seek({0, -1}), InvalidArgument);
  EXPECT_THROW(loader.start_epoch(-1), InvalidArgument);
  EXPECT_EQ(loader.position(), (LoaderPosition{0, 2}));
}

/// Labels by shard of every batch of epoch 2.
std::vector<std::vector<Labels>> shards_of(const Dataset& set, std::size_t shards, IndexRange own) {
  DataLoader loader(set, {.batch_size = 7, .seed = 4, .shards = shards, .own_shards = own});
  loader.start_epoch(2);
  std::vector<std::vector<Labels>> batches;
  for (std::vector<Batch> batch; loader.next(batch);) {
    auto& labels = batches.emplace_back();
    for (const Batch& shard : batch) {
      labels.push_back(shard.targets.labels());
      EXPECT_EQ(shard.features.defined(), shard.targets.size() > 0);
    }
  }
  return batches;
}

TEST(DataLoader, ShardsAreTheBatchInParts) {
  const Dataset set = numbered(23);
  DataLoader whole(set, {.batch_size = 7, .seed = 4});
  EXPECT_EQ(whole.rows_of(0), 7U);
  EXPECT_EQ(whole.rows_of(3), 2U);
  EXPECT_EQ(whole.rows_of(4), 0U);
  const auto expected = epoch(whole, 2);
  for (std::size_t shards = 1; shards <= 7; ++shards) {
    const auto all = shards_of(set, shards, {});
    ASSERT_EQ(all.size(), expected.size());
    for (std::size_t b = 0; b < all.size(); ++b) {
      ASSERT_EQ(all[b].size(), shards);
      EXPECT_EQ(flat(all[b]), expected[b]);
      for (std::size_t k = 0; k < shards; ++k) {
        EXPECT_EQ(all[b][k].size(), part_of(expected[b].size(), shards, k).size());
      }
    }
    const IndexRange own{shards / 3, shards - shards / 2};
    if (own.empty()) continue;
    const auto some = shards_of(set, shards, own);
    for (std::size_t b = 0; b < some.size(); ++b) {
      ASSERT_EQ(some[b].size(), own.size());
      for (std::size_t k = 0; k < own.size(); ++k) EXPECT_EQ(some[b][k], all[b][own.begin + k]);
    }
  }
}

TEST(DataLoader, EveryShardIsAugmentedByItself) {
  const Dataset set = numbered(12);
  const auto draws = [&](std::size_t shards, IndexRange own) {
    std::vector<std::uint32_t> numbers;
    DataLoader loader(set,
                      {.batch_size = 6,
                       .augment = [&numbers](Tensor&, Targets&,
                                             Random random) { numbers.push_back(random.bits(0)); },
                       .shards = shards,
                       .own_shards = own});
    for (std::vector<Batch> batch; loader.next(batch);) EXPECT_EQ(batch.size(), own.size());
    return numbers;
  };
  const auto all = draws(3, {0, 3});
  ASSERT_EQ(all.size(), 6U);
  EXPECT_EQ((std::set<std::uint32_t>(all.begin(), all.end()).size()), 6U);
  EXPECT_EQ(draws(3, {1, 3}), (std::vector<std::uint32_t>{all[1], all[2], all[4], all[5]}));
}

TEST(DataLoader, RefusesShardsThatMakeNoSense) {
  const Dataset set = numbered(12);
  EXPECT_THROW(DataLoader(set, {.batch_size = 4, .shards = 0}), InvalidArgument);
  EXPECT_THROW(DataLoader(set, {.batch_size = 4, .shards = 5}), InvalidArgument);
  EXPECT_THROW(DataLoader(set, {.batch_size = 4, .shards = 2, .own_shards = {1, 3}}),
               InvalidArgument);
  DataLoader loader(set, {.batch_size = 4, .shards = 2});
  Batch batch;
  EXPECT_THROW(loader.next(batch), InvalidArgument);
}

}  // namespace
}  // namespace octet::test::data_loader_test
