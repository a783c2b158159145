// Calibration on shards: the ranges of the whole batch, whatever ranks share the shards out.

#include <gtest/gtest.h>
#include <octet/layers/quantize/quantizers.h>
#include <octet/tests/train/distributed/thread_group.h>
#include <octet/tests/train/training.h>
#include <octet/train/data/data_loader.h>
#include <octet/train/distributed/shard_tree.h>
#include <octet/train/distributed/sharded_calibration.h>
#include <octet/train/evaluate.h>

#include <string>

namespace octet::test::sharded_calibration_test {
namespace {

constexpr std::size_t kBatch = 13;

/// Layers between which nothing is quantized, so that a shard sees what the whole batch sees.
struct Case {
  const char* name;
  QuantizeOptions options;
};

std::vector<Case> cases() {
  return {
      {"moving average", {}},
      {"min_max", {.activation_calibration = Calibration::min_max}},
      {"percentile", {.activation_calibration = Calibration::percentile, .percentile = 98.0}},
      {"mse", {.activation_calibration = Calibration::mse}},
      {"entropy", {.activation_calibration = Calibration::entropy}},
      {"learned",
       {.weight_bits = 4, .weight_scales = Scales::lsq, .activation_scales = Scales::lsq_plus}}};
}

Model fresh(const Case& one) {
  Model model = quantize_model(small_mlp(), one.options);
  // With it a shard quantizes by other ranges than the whole does.
  enable_quantization(model, false);
  return model;
}

std::vector<std::vector<Batch>> batches(const Dataset& data, std::size_t shards, IndexRange own) {
  DataLoader loader(data, {.batch_size = kBatch, .seed = 3, .shards = shards, .own_shards = own});
  loader.start_epoch(0);
  std::vector<std::vector<Batch>> result;
  for (std::vector<Batch> batch; loader.next(batch);) result.push_back(batch);
  return result;
}

Bytes calibrated_on_shards(const Case& one, const Dataset& data, std::size_t shards,
                           ProcessGroup& group) {
  Model model = fresh(one);
  detail::ShardedCalibration calibration(model, group);
  for (const auto& batch : batches(data, shards, detail::ShardTree(shards, group).own())) {
    calibration.add(batch);
  }
  return bytes_of(model);
}

TEST(ShardedCalibration, GivesTheRangesOfWholeBatchesOnAnyNumberOfRanks) {
  const KeepThreads keep;
  set_num_threads(1);
  // The last batch has 4 examples, fewer than some numbers of shards.
  const Dataset data = clouds(43, 5);
  for (const Case& one : cases()) {
    Model whole = fresh(one);
    for (const auto& batch : batches(data, 1, {0, 1})) {
      calibrate(whole, fit_to_input(whole, batch.front().features));
    }
    EXPECT_TRUE(has_ranges(whole));
    for (const std::size_t shards : {1U, 3U, 8U}) {
      for (const int ranks : {1, 2, 3, 8}) {
        if (static_cast<std::size_t>(ranks) > shards) continue;
        ThreadGroups::run(ranks, [&](ProcessGroup& group) {
          EXPECT_EQ(calibrated_on_shards(one, data, shards, group), bytes_of(whole))
              << one.name << ", " << shards << " shards on " << ranks << " ranks";
        });
      }
    }
  }
}

TEST(ShardedCalibration, LeavesFrozenRangesAlone) {
  const Dataset data = clouds(43, 5);
  for (const Case& one : cases()) {
    Model model = fresh(one);
    calibrate(model, data.features(0, 20));
    freeze_ranges(model, true);
    const Bytes before = bytes_of(model);
    detail::ShardedCalibration calibration(model, group_or_alone(nullptr));
    for (const auto& batch : batches(data, 4, {0, 4})) calibration.add(batch);
    EXPECT_EQ(bytes_of(model), before) << one.name;
  }
}

}  // namespace
}  // namespace octet::test::sharded_calibration_test
