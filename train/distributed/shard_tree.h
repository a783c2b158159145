#pragma once

#include <octet/core/function_ref.h>
#include <octet/train/distributed/parts.h>
#include <octet/train/distributed/process_group.h>

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace octet::detail {

/// to[i] += from[i], on all threads.
void add_floats(std::span<const float> from, float* to);

/// What shards add up to.
struct ShardSum {
  /// Of all parameters, one behind the other.
  std::vector<float> gradients;
  /// Numbers that are added.
  std::vector<double> sums;
  /// Numbers of which the smallest is kept.
  std::vector<double> least;

  /// Whether nothing has been added: what the others hold is then of no meaning.
  bool empty = true;

  /// this + more, element by element, of sums that are not empty.
  void add(const ShardSum& more);
};

/// Adds the sums of shards along a binary tree whose shape depends on their number alone: that of
/// shards [begin, end) is the sum of [begin, middle) plus that of [middle, end), middle =
/// ceil((begin + end) / 2). Whoever holds the shards, and however many ranks there are, each sum is
/// of the same two numbers, so that the result is the same to the last bit. A sum is made by the
/// rank that holds the first of its shards; the other one sends.
class ShardTree {
 public:
  /// Throws InvalidArgument where there are fewer shards than ranks.
  ShardTree(std::size_t shards, ProcessGroup& group);

  std::size_t shards() const { return shards_; }
  /// The shards of this rank.
  IndexRange own() const;

  /// The sizes of a sum's parts.
  struct Sizes {
    std::size_t gradients = 0;
    std::size_t sums = 0;
    std::size_t least = 0;
  };
  /// Adds a shard to a sum, which becomes that of the shard where it was empty.
  using Leaf = FunctionRef<void(std::size_t shard, ShardSum& sum)>;
  /// The sum of shards that hold `rows` examples together, on rank 0; elsewhere an empty one.
  /// `leaf` is called for the shards of this rank, in ascending order, but for those without
  /// examples, which add nothing.
  ShardSum sum(std::size_t rows, const Sizes& sizes, Leaf leaf);
  /// Takes the memory of a sum that is of no more use, for the next one.
  void recycle(ShardSum sum) {
    if (!sum.gradients.empty()) spare_.push_back(std::move(sum));
  }

 private:
  int rank_of(std::size_t shard) const;
  ShardSum sum_of(IndexRange shards, std::size_t rows, const Sizes& sizes, Leaf leaf);
  ShardSum empty_sum(const Sizes& sizes);
  void send(const ShardSum& sum, int to) const;
  void receive(ShardSum& sum, int from) const;

  std::size_t shards_;
  ProcessGroup* group_;
  std::vector<ShardSum> spare_;
};

}  // namespace octet::detail
