#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/train/distributed/shard_tree.h>

#include <optional>

namespace octet::detail {
namespace {

using Kind = ShardOp::Kind;

/// Walks down the tree and writes down what one rank does on the way up.
class Planner {
 public:
  Planner(std::size_t shards, std::size_t ranks, std::size_t rank, std::size_t rows,
          GradientFormat format)
      : shards_(shards),
        ranks_(ranks),
        rank_(rank),
        rows_(rows),
        coded_(format == GradientFormat::int8) {}

  ShardPlan plan() {
    if (const auto slot = sum_of({0, shards_})) {
      plan_.result = *slot;
      if (coded_) add_code(*slot, 0);
    }
    return std::move(plan_);
  }

 private:
  bool has_rows(IndexRange shards) const {
    return part_of(rows_, shards_, shards.begin).begin <
           part_of(rows_, shards_, shards.end - 1).end;
  }
  std::size_t rank_of(std::size_t shard) const { return part_with(shards_, ranks_, shard); }

  std::size_t new_slot() {
    if (free_.empty()) return plan_.slots++;
    const std::size_t slot = free_.back();
    free_.pop_back();
    return slot;
  }

  /// The slot of a sum that this rank makes; none where another one does.
  std::optional<std::size_t> sum_of(IndexRange shards) {
    if (!has_rows(shards)) return std::nullopt;
    const std::size_t owner = rank_of(shards.begin);
    if (shards.size() == 1) {
      if (owner != rank_) return std::nullopt;
      const std::size_t slot = new_slot();
      add_leaf(slot, true, shards.begin);
      return slot;
    }
    const std::size_t middle = (shards.begin + shards.end + 1) / 2;
    const std::optional<std::size_t> left = sum_of({shards.begin, middle});
    const IndexRange right = {middle, shards.end};
    if (!has_rows(right)) return left;
    return rank_of(middle) == owner ? with_own(left, right) : with_other(left, right, owner);
  }

  /// left + right, both of one rank.
  std::optional<std::size_t> with_own(std::optional<std::size_t> left, IndexRange right) {
    if (left && right.size() == 1 && !coded_) {
      add_leaf(*left, false, right.begin);
      return left;
    }
    const std::optional<std::size_t> slot = sum_of(right);
    if (slot && !left && coded_) add_code(*slot, right.begin);
    if (!left || !slot) return slot;
    plan_.ops.push_back({.kind = Kind::add, .slot = *left, .shard = right.begin, .from = *slot});
    free_.push_back(*slot);
    return left;
  }

  /// left, of `owner`, + right, of another rank. A slot that is sent is not used again: it may be
  /// under way for long.
  std::optional<std::size_t> with_other(std::optional<std::size_t> left, IndexRange right,
                                        std::size_t owner) {
    const std::optional<std::size_t> slot = sum_of(right);
    const std::size_t sender = rank_of(right.begin);
    if (rank_ == sender) {
      plan_.ops.push_back({.kind = Kind::send,
                           .slot = *slot,
                           .shard = right.begin,
                           .rank = static_cast<int>(owner)});
    }
    if (rank_ != owner) return std::nullopt;
    const std::size_t into = left ? *left : new_slot();
    plan_.ops.push_back(
        {.kind = Kind::receive, .slot = into, .first = !left, .rank = static_cast<int>(sender)});
    return into;
  }

  void add_leaf(std::size_t slot, bool first, std::size_t shard) {
    plan_.ops.push_back({.kind = Kind::leaf, .slot = slot, .first = first, .shard = shard});
  }

  void add_code(std::size_t slot, std::size_t shard) {
    plan_.ops.push_back({.kind = Kind::code, .slot = slot, .shard = shard});
  }

  std::size_t shards_;
  std::size_t ranks_;
  std::size_t rank_;
  std::size_t rows_;
  bool coded_;
  ShardPlan plan_;
  std::vector<std::size_t> free_;
};

}  // namespace

ShardTree::ShardTree(std::size_t shards, const ProcessGroup& group)
    : shards_(shards),
      ranks_(static_cast<std::size_t>(group.size())),
      rank_(static_cast<std::size_t>(group.rank())) {
  if (ranks_ <= shards) return;
  throw InvalidArgument(fmt::format(
      "shards: expected as many as there are ranks or more, found {} for {} ranks; start fewer "
      "ranks, or begin a run with more shards",
      shards, ranks_));
}

IndexRange ShardTree::own() const { return part_of(shards_, ranks_, rank_); }

ShardPlan ShardTree::plan(std::size_t rows, GradientFormat format) const {
  return Planner(shards_, ranks_, rank_, rows, format).plan();
}

}  // namespace octet::detail
