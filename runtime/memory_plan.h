#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace octet::detail {

/// A block of memory that is in use from step `first` to step `last`, both included.
struct MemoryUse {
  std::size_t bytes = 0;
  std::ptrdiff_t first = 0;
  std::ptrdiff_t last = 0;
};

/// Where each block starts, and what all of them need together.
struct MemoryPlan {
  std::vector<std::size_t> offsets;
  std::size_t total_bytes = 0;
  /// How many pairs of blocks were looked at, which is what planning costs.
  std::size_t comparisons = 0;
};

/// Places blocks so that those in use at the same step do not overlap: those in use at every step
/// end to end, then the largest first, each at the lowest place that is free (Pisarchyk and Lee,
/// "Efficient Memory Management for Deep Neural Net Inference", 2020). Where that takes more than
/// the blocks of the fullest step, which no plan can do without, the blocks of that step first and
/// then outward from it in time; the smaller plan of the two is taken. Offsets are multiples of
/// `alignment`.
/// Takes time that grows with the square of the number of blocks that are not in use at every step.
MemoryPlan plan_memory(std::span<const MemoryUse> uses, std::size_t alignment = 64);

}  // namespace octet::detail
