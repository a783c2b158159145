#pragma once

#include <octet/core/function_ref.h>
#include <octet/train/dataset.h>
#include <octet/train/distributed/shard_tree.h>
#include <octet/train/distributed/training_state.h>

#include <cstddef>
#include <vector>

namespace octet::detail {

/// What examples came to, added up.
struct ExampleSums {
  double loss = 0.0;
  /// Examples that were classed right.
  double right = 0.0;
};

/// Gradients of batches that are cut into shards, which the ranks of a group share out. Every shard
/// is a small batch of its own: it starts from the model's state before the batch, and its
/// gradients are added along a ShardTree. What it leaves of the state is merged as TrainingState
/// says. All ranks end with the same gradients and the same state.
class ShardedStep {
 public:
  ShardedStep(Model& model, const ShardTree& tree, ProcessGroup& group);

  /// Leaves the gradients of a shard's examples, each times its share of the step, in the
  /// parameters, whose gradients are cleared before; and gives the sums of its examples.
  using Gradients = FunctionRef<ExampleSums(const Batch& examples, std::size_t shard)>;
  /// Adds the gradients of a batch of `rows`, of which `own` are the shards of this rank.
  ExampleSums add(const std::vector<Batch>& own, std::size_t rows, Gradients gradients);
  /// Gives the parameters what has been added since the last call.
  void finish();

 private:
  /// The numbers of a shard's sum that come before those of the state.
  std::vector<double> leaf_sums(const ExampleSums& examples, std::size_t rows) const;
  void add_gradients_to(ShardSum& sum) const;
  void add_shard(const ExampleSums& examples, std::size_t rows, ShardSum& sum) const;
  void share(ShardSum& sum);

  ShardTree tree_;
  ProcessGroup* group_;
  TrainingState state_;
  /// Those that want a gradient.
  std::vector<Tensor> parameters_;
  ShardTree::Sizes sizes_;
  /// The gradients of the batches so far, where one was added since finish().
  std::vector<float> added_;
  bool is_first_ = true;
  /// By parameter: shards in which it had a gradient.
  std::vector<double> have_gradient_;
};

}  // namespace octet::detail
