#pragma once

#include <octet/train/data/data_loader.h>
#include <octet/train/distributed/process_group.h>
#include <octet/train/distributed/training_state.h>

#include <cstddef>
#include <vector>

namespace octet::detail {

/// calibrate() on batches that are cut into shards, which the ranks of a group share out. Every
/// shard starts from the ranges before the batch, and quantizes with what its own examples make of
/// them; Observer::merge_calibrated() makes one range of theirs.
class ShardedCalibration {
 public:
  /// `model` is quantized and built; its quantizers must outlive this object.
  ShardedCalibration(Model& model, ProcessGroup& group);

  /// Shows a batch, of which `own` are the shards of this rank; all ranks call it. Throws as
  /// calibrate().
  void add(const std::vector<Batch>& own);

 private:
  std::vector<float> states_of_shards(const std::vector<Batch>& own,
                                      const std::vector<float>& before);

  Model* model_;
  ProcessGroup* group_;
  TrainingState state_;
  std::vector<Quantizer*> quantizers_;
};

}  // namespace octet::detail
