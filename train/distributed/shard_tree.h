#pragma once

#include <octet/train/distributed/gradient_format.h>
#include <octet/train/distributed/parts.h>
#include <octet/train/distributed/process_group.h>

#include <cstddef>
#include <vector>

namespace octet::detail {

/// One thing that a rank does on the way to the sum of all shards. What it has added up lies in
/// slots.
struct ShardOp {
  enum class Kind {
    /// Puts shard `shard` into `slot`, or adds it.
    leaf,
    /// Adds slot `from`, which is of no more use, to `slot`. Of coded gradients: what the codes of
    /// slot `from` stand for.
    add,
    /// Replaces the gradients in `slot` by the real values of their quantized values.
    code,
    /// Puts what rank `rank` sends into `slot`, or adds it.
    receive,
    /// Sends `slot` to rank `rank`.
    send
  };
  Kind kind = Kind::leaf;
  std::size_t slot = 0;
  /// Whether there is nothing in the slot yet. Of leaf and receive.
  bool first = false;
  /// The shard of `leaf`; for a quantized sum, the first shard of the sum, which keeps its errors.
  std::size_t shard = 0;
  std::size_t from = 0;
  int rank = 0;
};

/// What a rank does, in this order.
struct ShardPlan {
  std::vector<ShardOp> ops;
  std::size_t slots = 0;
  /// The slot of the sum. Of rank 0.
  std::size_t result = 0;
};

/// Adds the sums of shards along a binary tree whose shape depends on their number alone: that of
/// shards [begin, end) is the sum of [begin, middle) plus that of [middle, end), middle =
/// ceil((begin + end) / 2). Whoever holds the shards, and however many ranks there are, each sum is
/// of the same two numbers, so that the result is the same to the last bit. A sum is made by the
/// rank that holds the first of its shards; the other one sends.
///
/// Where gradients are coded (GradientFormat::int8), every second summand of the tree is, whether
/// it is sent or not, and the whole once more: these are as many sums as there are shards, each of
/// which begins with another shard.
class ShardTree {
 public:
  /// Throws InvalidArgument where there are fewer shards than ranks.
  ShardTree(std::size_t shards, const ProcessGroup& group);

  std::size_t shards() const { return shards_; }
  /// The shards of this rank.
  IndexRange own() const;

  /// What this rank does for shards that hold `rows` examples together, one or more. Its shards
  /// come in ascending order, without those that have no examples: these add nothing.
  ShardPlan plan(std::size_t rows, GradientFormat format) const;

 private:
  std::size_t shards_;
  std::size_t ranks_;
  std::size_t rank_;
};

}  // namespace octet::detail
