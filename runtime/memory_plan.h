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

/// Says that block `output` may lie over block `input` where it begins `lead` bytes or more in
/// front of it, a multiple of `unit` bytes apart: in the one step in which both are in use, no byte
/// of `output` is then written before that of `input` has been read.
struct MemoryOverlap {
  std::size_t output = 0;
  std::size_t input = 0;
  std::size_t lead = 0;
  std::size_t unit = 1;
};

/// Where each block starts, and what all of them need together.
struct MemoryPlan {
  std::vector<std::size_t> offsets;
  std::size_t total_bytes = 0;
  /// How many pairs of blocks were looked at, which is what planning costs.
  std::size_t comparisons = 0;
};

/// Places blocks so that those in use at the same step do not overlap, but as `overlaps` allow, of
/// which there is one at most for two blocks: those in use at every step
/// end to end, then the largest first, each at the lowest place that is free (Pisarchyk and Lee,
/// "Efficient Memory Management for Deep Neural Net Inference", 2020). Where that takes more than
/// the blocks of the fullest step, which no plan can do without, the blocks of that step first and
/// then outward from it in time; where there are overlaps, also in the order of their first and of
/// their last step, with those of a single step in turn or before all others, and then with two of
/// them swapped while that saves memory. The smallest plan is taken. Offsets are multiples of
/// `alignment`.
/// Takes time that grows with the square of the number of blocks that are not in use at every step.
MemoryPlan plan_memory(std::span<const MemoryUse> uses, std::size_t alignment = 64,
                       std::span<const MemoryOverlap> overlaps = {});

}  // namespace octet::detail
