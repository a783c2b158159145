#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/core/parallel.h>
#include <octet/core/profile.h>
#include <octet/train/distributed/shard_tree.h>

#include <algorithm>
#include <utility>

namespace octet::detail {

void ShardSum::add(const ShardSum& more) {
  float* to = gradients.data();
  const float* from = more.gradients.data();
  parallel_for(gradients.size(), thread_share(gradients.size(), parallel_grain(Work::map_floats)),
               [to, from](std::size_t begin, std::size_t end) {
                 for (std::size_t i = begin; i < end; ++i) to[i] += from[i];
               });
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

ShardSum ShardTree::sum(std::size_t rows, const Sizes& sizes,
                        FunctionRef<ShardSum(std::size_t shard)> leaf) const {
  return sum_of({0, shards_}, rows, sizes, leaf);
}

ShardSum ShardTree::sum_of(IndexRange shards, std::size_t rows, const Sizes& sizes,
                           FunctionRef<ShardSum(std::size_t shard)> leaf) const {
  const std::size_t first_row = part_of(rows, shards_, shards.begin).begin;
  const std::size_t last_row = part_of(rows, shards_, shards.end - 1).end;
  if (first_row == last_row) return {};
  const int owner = rank_of(shards.begin);
  if (shards.size() == 1) return owner == group_->rank() ? leaf(shards.begin) : ShardSum{};
  const std::size_t middle = (shards.begin + shards.end + 1) / 2;
  ShardSum left = sum_of({shards.begin, middle}, rows, sizes, leaf);
  ShardSum right = sum_of({middle, shards.end}, rows, sizes, leaf);
  const bool right_is_empty = part_of(rows, shards_, middle).begin == last_row;
  const int sender = rank_of(middle);
  if (sender != owner && !right_is_empty) {
    if (group_->rank() == sender) send(right, owner);
    if (group_->rank() == owner) right = receive(sizes, sender);
  }
  if (group_->rank() != owner) return {};
  if (left.empty()) return right;
  if (!right_is_empty) left.add(right);
  return left;
}

void ShardTree::send(const ShardSum& sum, int to) const {
  const ProfileScope scope("exchange");
  group_->send(std::as_bytes(std::span(sum.sums)), to);
  group_->send(std::as_bytes(std::span(sum.least)), to);
  group_->send(std::as_bytes(std::span(sum.gradients)), to);
}

ShardSum ShardTree::receive(const Sizes& sizes, int from) const {
  const ProfileScope scope("exchange");
  ShardSum sum;
  sum.sums.resize(sizes.sums);
  sum.least.resize(sizes.least);
  sum.gradients.resize(sizes.gradients);
  group_->receive(std::as_writable_bytes(std::span(sum.sums)), from);
  group_->receive(std::as_writable_bytes(std::span(sum.least)), from);
  group_->receive(std::as_writable_bytes(std::span(sum.gradients)), from);
  return sum;
}

}  // namespace octet::detail
