#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

namespace octet {

/// The smallest and largest of some values, and whether all of them are finite.
struct MinMax {
  float min = 0.0F;
  float max = 0.0F;
  bool finite = true;

  /// Makes these the limits of the other values too.
  void include(const MinMax& other) {
    min = std::min(min, other.min);
    max = std::max(max, other.max);
    finite = finite && other.finite;
  }
};

/// Of all values, -0 counting as 0; {0, 0, true} of none. Where a value is NaN, min and max say
/// nothing.
MinMax min_max(std::span<const float> values);

/// The same of pixels: of the reals byte / 255.
MinMax min_max_pixels(std::span<const std::uint8_t> pixels);

/// For each index of the last axis of row-major `values`: mins.size() columns, where -0 stays.
/// Returns whether all values are finite. Without rows, mins and maxs become 0.
bool min_max_columns(std::span<const float> values, std::span<float> mins, std::span<float> maxs);

}  // namespace octet
