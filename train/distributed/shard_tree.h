#pragma once

#include <octet/core/function_ref.h>
#include <octet/train/distributed/parts.h>
#include <octet/train/distributed/process_group.h>

#include <cstddef>
#include <vector>

namespace octet::detail {

/// What shards add up to.
struct ShardSum {
  /// Of all parameters, one behind the other.
  std::vector<float> gradients;
  /// Numbers that are added.
  std::vector<double> sums;
  /// Numbers of which the smallest is kept.
  std::vector<double> least;

  bool empty() const { return gradients.empty() && sums.empty() && least.empty(); }
  /// this + more, element by element.
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
  /// The sum of shards that hold `rows` examples together, on rank 0; elsewhere nothing. `leaf`
  /// gives that of a shard; it is called for those of this rank, in ascending order, but for shards
  /// without examples, which add nothing.
  ShardSum sum(std::size_t rows, const Sizes& sizes,
               FunctionRef<ShardSum(std::size_t shard)> leaf) const;

 private:
  int rank_of(std::size_t shard) const;
  ShardSum sum_of(IndexRange shards, std::size_t rows, const Sizes& sizes,
                  FunctionRef<ShardSum(std::size_t shard)> leaf) const;
  void send(const ShardSum& sum, int to) const;
  ShardSum receive(const Sizes& sizes, int from) const;

  std::size_t shards_;
  ProcessGroup* group_;
};

}  // namespace octet::detail
