#include <octet/runtime/memory_plan.h>

#include <algorithm>
#include <map>
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

/// Lays blocks that are in use all the time end to end, and takes them out of `order`: they overlap
/// everything, so that there is no place to search for.
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
  /// Bytes of the blocks of `order` that are in use at that step: no plan needs less.
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

/// The blocks in use at `step`, then those in use ever longer before or after it; where that is
/// equal, as they are.
std::vector<std::size_t> outward_from(std::ptrdiff_t step, std::span<const MemoryUse> uses,
                                      std::vector<std::size_t> order) {
  const auto distance = [&](std::size_t block) {
    return std::max({uses[block].first - step, step - uses[block].last, std::ptrdiff_t{0}});
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return distance(a) < distance(b); });
  return order;
}

/// Puts the blocks into `plan`, one after the other, each at the lowest place from `free_from` on
/// that no block of its time has.
void place_in_order(std::span<const MemoryUse> uses, std::size_t alignment, std::size_t free_from,
                    const std::vector<std::size_t>& order, MemoryPlan& plan) {
  std::vector<std::size_t> placed;  // by ascending offset
  for (const std::size_t block : order) {
    std::size_t offset = free_from;
    for (const std::size_t other : placed) {
      ++plan.comparisons;
      if (!overlap_in_time(uses[block], uses[other])) continue;
      if (offset + uses[block].bytes <= plan.offsets[other]) break;
      offset = std::max(offset, align(plan.offsets[other] + uses[other].bytes, alignment));
    }
    plan.offsets[block] = offset;
    plan.total_bytes = std::max(plan.total_bytes, align(offset + uses[block].bytes, alignment));
    const auto place =
        std::upper_bound(placed.begin(), placed.end(), offset,
                         [&](std::size_t value, std::size_t i) { return value < plan.offsets[i]; });
    placed.insert(place, block);
  }
}

}  // namespace

MemoryPlan plan_memory(std::span<const MemoryUse> uses, std::size_t alignment) {
  MemoryPlan plan{.offsets = std::vector<std::size_t>(uses.size())};
  std::vector<std::size_t> order = by_size(uses);
  if (order.empty()) return plan;
  place_permanent(uses, alignment, order, plan);
  const std::size_t free_from = plan.total_bytes;
  const FullestStep fullest = find_fullest_step(uses, alignment, order);
  MemoryPlan outward = plan;
  place_in_order(uses, alignment, free_from, order, plan);
  if (plan.total_bytes == free_from + fullest.bytes) return plan;

  outward.comparisons = plan.comparisons;
  place_in_order(uses, alignment, free_from, outward_from(fullest.step, uses, std::move(order)),
                 outward);
  if (outward.total_bytes < plan.total_bytes) return outward;
  plan.comparisons = outward.comparisons;
  return plan;
}

}  // namespace octet::detail
