#include <octet/runtime/memory_plan.h>

#include <algorithm>
#include <numeric>

namespace octet::detail {
namespace {

constexpr std::size_t kAlignment = 64;

std::size_t align(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

bool overlap_in_time(const MemoryUse& a, const MemoryUse& b) {
  return a.first <= b.last && b.first <= a.last;
}

}  // namespace

MemoryPlan plan_memory(std::span<const MemoryUse> uses) {
  MemoryPlan plan{std::vector<std::size_t>(uses.size()), 0};
  std::vector<std::size_t> order(uses.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return uses[a].bytes > uses[b].bytes; });

  std::vector<std::size_t> placed;  // by ascending offset
  for (const std::size_t block : order) {
    // Constants and the like lie elsewhere. Blocks come by size: all that follow are empty too.
    if (uses[block].bytes == 0) break;
    std::size_t offset = 0;
    for (const std::size_t other : placed) {
      if (!overlap_in_time(uses[block], uses[other])) continue;
      if (offset + uses[block].bytes <= plan.offsets[other]) break;
      offset = std::max(offset, align(plan.offsets[other] + uses[other].bytes));
    }
    plan.offsets[block] = offset;
    plan.total_bytes = std::max(plan.total_bytes, align(offset + uses[block].bytes));
    const auto place =
        std::upper_bound(placed.begin(), placed.end(), offset,
                         [&](std::size_t value, std::size_t i) { return value < plan.offsets[i]; });
    placed.insert(place, block);
  }
  return plan;
}

}  // namespace octet::detail
