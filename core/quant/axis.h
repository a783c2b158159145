#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace octet {

/// The extents of a row-major array around one axis: element (o, c, i) is at
/// (o * channels + c) * inner + i.
struct AxisSplit {
  std::size_t outer = 1;     ///< product of the extents before the axis
  std::size_t channels = 1;  ///< extent of the axis
  std::size_t inner = 1;     ///< product of the extents after the axis
};

/// Splits `shape` at `axis` (0 <= axis < rank); `size` is the number of elements that the caller
/// has. Throws InvalidArgument, starting with `operation`, if the axis is outside the shape, an
/// extent is negative or the shape does not have `size` elements.
[[nodiscard]] AxisSplit split_axis(std::span<const std::int64_t> shape, int axis, std::size_t size,
                                   std::string_view operation);

}  // namespace octet
