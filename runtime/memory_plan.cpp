#include <octet/core/function_ref.h>
#include <octet/runtime/memory_plan.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

namespace octet::detail {
namespace {

std::size_t align(std::size_t bytes, std::size_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

bool overlap_in_time(const MemoryUse& a, const MemoryUse& b) {
  return a.first <= b.last && b.first <= a.last;
}

/// The blocks that need memory: the largest first.
std::vector<std::size_t> by_size(std::span<const MemoryUse> uses) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    if (uses[i].bytes > 0) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return uses[a].bytes > uses[b].bytes; });
  return order;
}

/// Lays blocks that are in use all the time end to end, and takes them out of
/// `order`: they overlap everything, so that there is no place to search for.
void place_permanent(std::span<const MemoryUse> uses, std::size_t alignment,
                     std::vector<std::size_t>& order, MemoryPlan& plan) {
  MemoryUse all = uses[order.front()];
  for (const std::size_t block : order) {
    all.first = std::min(all.first, uses[block].first);
    all.last = std::max(all.last, uses[block].last);
  }
  std::erase_if(order, [&](std::size_t block) {
    if (uses[block].first > all.first || uses[block].last < all.last) return false;
    plan.offsets[block] = plan.total_bytes;
    plan.total_bytes += align(uses[block].bytes, alignment);
    return true;
  });
}

struct FullestStep {
  std::ptrdiff_t step = 0;
  /// Bytes of the blocks of `order` that are in use at that step: no plan needs
  /// less.
  std::size_t bytes = 0;
};

FullestStep find_fullest_step(std::span<const MemoryUse> uses, std::size_t alignment,
                              const std::vector<std::size_t>& order) {
  // Unsigned numbers wrap around, so that a sum of differences is right.
  std::map<std::ptrdiff_t, std::size_t> change;
  for (const std::size_t block : order) {
    const std::size_t bytes = align(uses[block].bytes, alignment);
    change[uses[block].first] += bytes;
    change[uses[block].last + 1] -= bytes;
  }
  FullestStep fullest;
  std::size_t bytes = 0;
  for (const auto& [step, difference] : change) {
    bytes += difference;
    if (bytes > fullest.bytes) fullest = {step, bytes};
  }
  return fullest;
}

/// The blocks in use at `step`, then those in use ever longer before or after
/// it; where that is equal, as they are.
std::vector<std::size_t> outward_from(std::ptrdiff_t step, std::span<const MemoryUse> uses,
                                      std::vector<std::size_t> order) {
  const auto distance = [&](std::size_t block) {
    return std::max({uses[block].first - step, step - uses[block].last, std::ptrdiff_t{0}});
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return distance(a) < distance(b); });
  return order;
}

/// Puts blocks into a plan, one after the other.
class Placement {
 public:
  Placement(std::span<const MemoryUse> uses, std::size_t alignment,
            std::span<const MemoryOverlap> overlaps)
      : uses_(uses), alignment_(alignment) {
    for (const MemoryOverlap& o : overlaps) overlaps_.emplace(std::pair(o.output, o.input), o);
  }

  /// Each block at the lowest place from `free_from` on that no block of its
  /// time has.
  void place(std::size_t free_from, const std::vector<std::size_t>& order, MemoryPlan& plan) const {
    std::vector<std::size_t> placed;  // by ascending offset
    for (const std::size_t block : order) {
      const std::size_t offset = lowest_place(block, free_from, placed, plan);
      plan.offsets[block] = offset;
      plan.total_bytes = std::max(plan.total_bytes, align(offset + uses_[block].bytes, alignment_));
      const auto place = std::upper_bound(
          placed.begin(), placed.end(), offset,
          [&](std::size_t value, std::size_t i) { return value < plan.offsets[i]; });
      placed.insert(place, block);
    }
  }

 private:
  std::size_t lowest_place(std::size_t block, std::size_t offset,
                           const std::vector<std::size_t>& placed, MemoryPlan& plan) const {
    // Where blocks may overlap, one that lies over another may have to give
    // that way again.
    for (bool again = true; std::exchange(again, false);) {
      for (const std::size_t other : placed) {
        ++plan.comparisons;
        if (!overlap_in_time(uses_[block], uses_[other])) continue;
        if (offset + uses_[block].bytes <= plan.offsets[other]) break;
        const std::size_t next = place_beside(block, other, offset, plan);
        again = again || (next > offset && !overlaps_.empty());
        offset = next;
      }
    }
    return offset;
  }

  /// The lowest place of `block` from `offset` on, where it reaches `other` in
  /// front of that's end.
  std::size_t place_beside(std::size_t block, std::size_t other, std::size_t offset,
                           const MemoryPlan& plan) const {
    const std::size_t begin = plan.offsets[other];
    const std::size_t end = std::max(offset, align(begin + uses_[other].bytes, alignment_));
    if (offset == end) return end;
    if (const auto found = overlaps_.find({block, other}); found != overlaps_.end()) {
      const std::size_t step = std::lcm(found->second.unit, alignment_);
      if (offset > begin) return end;
      const std::size_t distance = (begin - offset) / step * step;
      return distance >= found->second.lead ? begin - distance : end;
    }
    if (const auto found = overlaps_.find({other, block}); found != overlaps_.end()) {
      const std::size_t step = std::lcm(found->second.unit, alignment_);
      const std::size_t least = offset > begin ? offset - begin : 0;
      return std::min(end, begin + align(std::max(least, found->second.lead), step));
    }
    return end;
  }

  std::span<const MemoryUse> uses_;
  std::size_t alignment_;
  /// By output and input.
  std::map<std::pair<std::size_t, std::size_t>, MemoryOverlap> overlaps_;
};

/// Tries orders of blocks, and keeps the smallest plan.
class Search {
 public:
  /// `start` has the blocks that are in no order. Blocks of `brief_first` that are in use at one
  /// step alone come first in all orders.
  Search(const Placement& placement, MemoryPlan start, std::span<const MemoryUse> brief_first = {})
      : placement_(placement), start_(std::move(start)), brief_first_(brief_first) {}

  /// Returns whether the plan is the smallest so far.
  bool attempt(std::vector<std::size_t> order) {
    std::stable_partition(order.begin(), order.end(), [&](std::size_t block) {
      return !brief_first_.empty() && brief_first_[block].first == brief_first_[block].last;
    });
    MemoryPlan plan = start_;
    placement_.place(start_.total_bytes, order, plan);
    comparisons_ += plan.comparisons;
    const bool is_smallest = !best_ || plan.total_bytes < best_->total_bytes;
    if (is_smallest) {
      best_ = std::move(plan);
      order_ = std::move(order);
    }
    return is_smallest;
  }

  void attempt_by_step(std::vector<std::size_t> order,
                       FunctionRef<std::ptrdiff_t(std::size_t block)> step) {
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return step(a) < step(b); });
    attempt(std::move(order));
  }

  /// Swaps blocks of the best order while that makes a smaller plan.
  void swap_pairs() {
    constexpr std::size_t kMostComparisons = 1U << 21U;
    for (bool again = true; std::exchange(again, false);) {
      for (std::size_t i = 0; i < order_.size(); ++i) {
        for (std::size_t k = i + 1; k < order_.size() && comparisons_ < kMostComparisons; ++k) {
          std::vector<std::size_t> order = order_;
          std::swap(order[i], order[k]);
          again = attempt(std::move(order)) || again;
        }
      }
    }
  }

  const MemoryPlan& best() const { return *best_; }
  MemoryPlan result() {
    best_->comparisons = comparisons_;
    return std::move(*best_);
  }

 private:
  const Placement& placement_;
  MemoryPlan start_;
  std::span<const MemoryUse> brief_first_;
  std::optional<MemoryPlan> best_;
  std::vector<std::size_t> order_;
  std::size_t comparisons_ = 0;
};

}  // namespace

MemoryPlan plan_memory(std::span<const MemoryUse> uses, std::size_t alignment,
                       std::span<const MemoryOverlap> overlaps) {
  MemoryPlan start{.offsets = std::vector<std::size_t>(uses.size())};
  std::vector<std::size_t> order = by_size(uses);
  if (order.empty()) return start;
  place_permanent(uses, alignment, order, start);
  const FullestStep fullest = find_fullest_step(uses, alignment, order);
  const std::size_t least = start.total_bytes + fullest.bytes;
  const Placement placement(uses, alignment, overlaps);
  Search search(placement, start);
  search.attempt(order);
  if (overlaps.empty() && search.best().total_bytes == least) return search.result();
  const std::vector<std::size_t> outward = outward_from(fullest.step, uses, order);
  search.attempt(outward);
  if (overlaps.empty()) return search.result();
  const auto finish = [&](Search& orders) {
    orders.attempt_by_step(order, [&](std::size_t block) { return uses[block].first; });
    orders.attempt_by_step(order, [&](std::size_t block) { return -uses[block].last; });
    orders.swap_pairs();
    return orders.result();
  };
  const MemoryPlan mixed = finish(search);
  Search brief_first(placement, std::move(start), uses);
  brief_first.attempt(order);
  brief_first.attempt(outward);
  const MemoryPlan apart = finish(brief_first);
  return apart.total_bytes < mixed.total_bytes ? apart : mixed;
}

}  // namespace octet::detail
