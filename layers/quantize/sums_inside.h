#pragma once

#include <octet/core/kernels/passes.h>
#include <octet/core/quant/activation_range.h>
#include <octet/core/shape.h>

#include <cstdint>
#include <span>
#include <vector>

namespace octet {

/// The sums of each unit whose real values, clamp(sum * scale), lie inside a window: as real values
/// grow with sums, all from a lowest to a highest one.
class SumsInside {
 public:
  /// `scales` holds one above 0 for each unit.
  SumsInside(std::span<const float> scales, const RealLimits& clamp, const GradientWindow& window);

  /// Writes 1 where the sums of the rows [begin, end) lie inside, else 0; both are [rows, units].
  void write_mask(const std::int32_t* sums, Index begin, Index end, std::int8_t* mask) const;

 private:
  std::vector<std::int32_t> lowest_;
  std::vector<std::int32_t> highest_;
};

}  // namespace octet
