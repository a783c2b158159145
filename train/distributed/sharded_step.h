#pragma once

#include <octet/core/function_ref.h>
#include <octet/core/tensor_internal.h>
#include <octet/train/data/dataset.h>
#include <octet/train/distributed/shard_exchange.h>
#include <octet/train/distributed/training_state.h>

#include <cstddef>
#include <map>
#include <span>
#include <vector>

namespace octet::detail {

/// The number of elements of all parameters that want a gradient.
std::size_t gradient_elements(const Model& model);

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
  /// `errors` are those of ShardExchange.
  ShardedStep(Model& model, const ShardTree& tree, ProcessGroup& group, GradientFormat format,
              GradientErrors& errors);

  /// Leaves the gradients of a shard's examples, each times its share of the step, in the
  /// parameters, whose gradients are cleared before; and gives the sums of its examples.
  /// Calls `ready` with each parameter whose gradient is complete, or with some of them, or none:
  /// what is ready early is on its way to other ranks early.
  using Gradients =
      FunctionRef<ExampleSums(const Batch& examples, std::size_t shard, LeafReady ready)>;
  /// Adds the gradients of a batch of `rows`, of which `own` are the shards of this rank.
  ExampleSums add(const std::vector<Batch>& own, std::size_t rows, Gradients gradients);
  /// Gives the parameters what has been added since the last call.
  void finish();

 private:
  ShardNumbers no_numbers() const;
  /// Loss, examples right, a 1 for every parameter with a gradient, and the state.
  ShardNumbers numbers_of(const ExampleSums& examples, std::size_t rows) const;
  void add_shard(const Batch& examples, std::size_t shard, Gradients gradients);
  void share_state(std::span<double> sums);

  ShardTree tree_;
  ProcessGroup* group_;
  TrainingState state_;
  /// The parameters that want a gradient, and their indices by the address of their elements.
  std::vector<Tensor> parameters_;
  std::map<const float*, std::size_t> indices_;
  ShardExchange exchange_;
  /// The gradients of the batches so far, where one was added since finish().
  std::vector<float> added_;
  bool is_first_ = true;
  /// By parameter: shards in which it had a gradient.
  std::vector<double> have_gradient_;
};

}  // namespace octet::detail
