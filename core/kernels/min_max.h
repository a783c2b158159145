#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

namespace octet {

/// The minimum and maximum of some values, and whether all of them are finite.
struct MinMax {
  float min = 0.0F;
  float max = 0.0F;
  bool finite = true;

  /// Extends the range to that of other values.
  void include(const MinMax& other) {
    min = std::min(min, other.min);
    max = std::max(max, other.max);
    finite = finite && other.finite;
  }
};

/// Computes the minimum and maximum of all values, -0 counting as 0; {0, 0, true} without values.
/// If a value is NaN, min and max are unspecified.
MinMax min_max(std::span<const float> values);

/// Computes the same for pixels, whose values are byte / 255.
MinMax min_max_pixels(std::span<const std::uint8_t> pixels);

/// Computes the minimum and maximum of each of the mins.size() columns of row-major `values`; -0 is
/// kept. Returns whether all values are finite. Without rows, mins and maxs become 0.
bool min_max_columns(std::span<const float> values, std::span<float> mins, std::span<float> maxs);

}  // namespace octet
