#include <octet/runtime/memory_plan.h>

#include <algorithm>

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

}  // namespace

MemoryPlan plan_memory(std::span<const MemoryUse> uses, std::size_t alignment) {
  MemoryPlan plan{.offsets = std::vector<std::size_t>(uses.size())};
  std::vector<std::size_t> order = by_size(uses);
  if (order.empty()) return plan;
  place_permanent(uses, alignment, order, plan);
  const std::size_t free_from = plan.total_bytes;

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
  return plan;
}

}  // namespace octet::detail
