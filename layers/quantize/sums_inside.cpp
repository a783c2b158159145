#include <octet/core/kernels/isa.h>
#include <octet/core/kernels/repeated_row.h>
#include <octet/core/kernels/rows_side_by_side.h>
#include <octet/layers/quantize/sums_inside.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace octet {
namespace {

constexpr std::int64_t kLeast = std::numeric_limits<std::int32_t>::min();
constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();

/// Returns the first sum for which `holds`, which holds for all sums after one for which it does;
/// kMost + 1 where it holds for none. Looks near `guess` first.
template <class Holds>
std::int64_t first_sum(double guess, const Holds& holds) {
  const auto near = static_cast<std::int64_t>(
      std::clamp(guess, static_cast<double>(kLeast), static_cast<double>(kMost)));
  // The answer is in (below, above].
  std::int64_t below = near;
  std::int64_t above = near;
  for (std::int64_t step = 1; below >= kLeast && holds(below); step *= 2) {
    above = below;
    below = std::max(below - step, kLeast - 1);
  }
  for (std::int64_t step = 1; above <= kMost && !holds(above); step *= 2) {
    below = above;
    above = std::min(above + step, kMost + 1);
  }
  while (above - below > 1) {
    const std::int64_t middle = below + (above - below) / 2;
    (holds(middle) ? above : below) = middle;
  }
  return above;
}

}  // namespace

SumsInside::SumsInside(std::span<const float> scales, const RealLimits& clamp,
                       const GradientWindow& window)
    : lowest_(scales.size()), highest_(scales.size()) {
  for (std::size_t u = 0; u < scales.size(); ++u) {
    const float scale = scales[u];
    const auto real = [&](std::int64_t sum) {
      return std::clamp(static_cast<float>(static_cast<std::int32_t>(sum)) * scale, clamp.lo,
                        clamp.hi);
    };
    const float lo = std::max(window.lo, window.above);
    const float hi = std::min(window.hi, window.below);
    const std::int64_t first = first_sum(double{lo} / double{scale}, [&](std::int64_t sum) {
      return real(sum) >= window.lo && real(sum) > window.above;
    });
    const std::int64_t behind = first_sum(double{hi} / double{scale}, [&](std::int64_t sum) {
      return !(real(sum) <= window.hi && real(sum) < window.below);
    });
    // No sum lies between 1 and 0.
    const bool any = first < behind && first <= kMost;
    lowest_[u] = any ? static_cast<std::int32_t>(first) : 1;
    highest_[u] = any ? static_cast<std::int32_t>(behind - 1) : 0;
  }
}

void SumsInside::write_mask(const std::int32_t* sums, Index begin, Index end,
                            std::int8_t* mask) const {
  const auto units = static_cast<Index>(lowest_.size());
  const auto most = static_cast<std::size_t>(rows_side_by_side(units));
  const RepeatedRow<std::int32_t> lowest(lowest_, most);
  const RepeatedRow<std::int32_t> highest(highest_, most);
  sums += begin * units;
  mask += begin * units;
  for_rows_side_by_side(end - begin, units, [&](Index first, Index rows, Index columns) {
    kernels().passes.mask_sums(sums + first * units, static_cast<std::size_t>(rows),
                               static_cast<std::size_t>(columns), lowest.data(), highest.data(),
                               mask + first * units);
  });
}

}  // namespace octet
