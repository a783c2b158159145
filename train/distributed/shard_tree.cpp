#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/core/parallel.h>
#include <octet/core/profile.h>
#include <octet/train/distributed/shard_tree.h>

#include <algorithm>
#include <span>
#include <utility>

namespace octet::detail {

void add_floats(std::span<const float> from, float* to) {
  parallel_for(from.size(), thread_share(from.size(), parallel_grain(Work::map_floats)),
               [&](std::size_t begin, std::size_t end) {
                 const float* __restrict values = from.data();
                 float* __restrict sums = to;
                 for (std::size_t i = begin; i < end; ++i) sums[i] += values[i];
               });
}

void ShardSum::add(const ShardSum& more) {
  add_floats(more.gradients, gradients.data());
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += more.sums[i];
  for (std::size_t i = 0; i < least.size(); ++i) least[i] = std::min(least[i], more.least[i]);
}

ShardTree::ShardTree(std::size_t shards, ProcessGroup& group) : shards_(shards), group_(&group) {
  if (static_cast<std::size_t>(group.size()) <= shards) return;
  throw InvalidArgument(fmt::format(
      "shards: expected as many as there are ranks or more, found {} for {} ranks; start fewer "
      "ranks, or begin a run with more shards",
      shards, group.size()));
}

IndexRange ShardTree::own() const {
  return part_of(shards_, static_cast<std::size_t>(group_->size()),
                 static_cast<std::size_t>(group_->rank()));
}

int ShardTree::rank_of(std::size_t shard) const {
  return static_cast<int>(part_with(shards_, static_cast<std::size_t>(group_->size()), shard));
}

ShardSum ShardTree::sum(std::size_t rows, const Sizes& sizes, Leaf leaf) {
  ShardSum sum = sum_of({0, shards_}, rows, sizes, leaf);
  return sum.empty ? empty_sum(sizes) : std::move(sum);
}

ShardSum ShardTree::empty_sum(const Sizes& sizes) {
  ShardSum sum;
  if (!spare_.empty()) {
    sum = std::move(spare_.back());
    spare_.pop_back();
  }
  sum.empty = true;
  sum.gradients.resize(sizes.gradients);
  sum.sums.resize(sizes.sums);
  sum.least.resize(sizes.least);
  return sum;
}

ShardSum ShardTree::sum_of(IndexRange shards, std::size_t rows, const Sizes& sizes, Leaf leaf) {
  const std::size_t last_row = part_of(rows, shards_, shards.end - 1).end;
  if (part_of(rows, shards_, shards.begin).begin == last_row) return {};
  const int owner = rank_of(shards.begin);
  const bool is_owner = owner == group_->rank();
  if (shards.size() == 1) {
    if (!is_owner) return {};
    ShardSum sum = empty_sum(sizes);
    leaf(shards.begin, sum);
    return sum;
  }
  const std::size_t middle = (shards.begin + shards.end + 1) / 2;
  ShardSum left = sum_of({shards.begin, middle}, rows, sizes, leaf);
  if (part_of(rows, shards_, middle).begin == last_row) return left;
  const int sender = rank_of(middle);
  if (is_owner && sender == owner && shards.end - middle == 1 && !left.empty) {
    // Saves a pass over the gradients.
    leaf(middle, left);
    return left;
  }
  ShardSum right = sum_of({middle, shards.end}, rows, sizes, leaf);
  if (!is_owner) {
    if (sender == group_->rank()) send(right, owner);
    recycle(std::move(right));
    return {};
  }
  if (sender != owner) {
    right = empty_sum(sizes);
    receive(right, sender);
  }
  if (left.empty) return right;
  left.add(right);
  recycle(std::move(right));
  return left;
}

void ShardTree::send(const ShardSum& sum, int to) const {
  const ProfileScope scope("exchange", "send");
  group_->send(std::as_bytes(std::span(sum.sums)), to);
  group_->send(std::as_bytes(std::span(sum.least)), to);
  group_->send(std::as_bytes(std::span(sum.gradients)), to);
}

void ShardTree::receive(ShardSum& sum, int from) const {
  const ProfileScope scope("exchange", "receive");
  group_->receive(std::as_writable_bytes(std::span(sum.sums)), from);
  group_->receive(std::as_writable_bytes(std::span(sum.least)), from);
  group_->receive(std::as_writable_bytes(std::span(sum.gradients)), from);
  sum.empty = false;
}

}  // namespace octet::detail
