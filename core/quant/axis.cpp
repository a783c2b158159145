#include <octet/core/quant/axis.h>

#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/core/error.h>

namespace octet {
namespace {

// Returns the product of extents, or a size that no array has if it overflows.
std::size_t product(std::span<const std::int64_t> extents) {
  std::size_t result = 1;
  for (const std::int64_t extent : extents) {
    if (extent == 0) {
      return 0;
    }
  }
  for (const std::int64_t extent : extents) {
    const auto factor = static_cast<std::size_t>(extent);
    if (result > std::numeric_limits<std::size_t>::max() / factor) {
      return std::numeric_limits<std::size_t>::max();
    }
    result *= factor;
  }
  return result;
}

}  // namespace

AxisSplit split_axis(std::span<const std::int64_t> shape, int axis, std::size_t size,
                     std::string_view operation) {
  if (axis < 0 || static_cast<std::size_t>(axis) >= shape.size()) {
    throw InvalidArgument(fmt::format("{}: axis {} is outside the shape [{}] of rank {}", operation,
                                      axis, fmt::join(shape, ", "), shape.size()));
  }
  for (const std::int64_t extent : shape) {
    if (extent < 0) {
      throw InvalidArgument(
          fmt::format("{}: negative extent in the shape [{}]", operation, fmt::join(shape, ", ")));
    }
  }
  if (product(shape) != size) {
    throw InvalidArgument(fmt::format("{}: the shape [{}] holds {} elements, the data {}",
                                      operation, fmt::join(shape, ", "), product(shape), size));
  }
  const auto position = static_cast<std::size_t>(axis);
  return {product(shape.first(position)), static_cast<std::size_t>(shape[position]),
          product(shape.subspan(position + 1))};
}

}  // namespace octet
