#include <octet/core/strides.h>

namespace octet::detail {

std::vector<Index> row_major_strides(const Shape& shape) {
  std::vector<Index> strides(static_cast<std::size_t>(shape.rank()));
  Index step = 1;
  for (Index axis = shape.rank() - 1; axis >= 0; --axis) {
    strides[static_cast<std::size_t>(axis)] = step;
    step *= shape[axis];
  }
  return strides;
}

std::vector<Index> broadcast_strides(const Shape& shape, const Shape& target) {
  const std::vector<Index> own = row_major_strides(shape);
  const Index added = target.rank() - shape.rank();
  std::vector<Index> strides(static_cast<std::size_t>(target.rank()), 0);
  for (Index axis = added; axis < target.rank(); ++axis) {
    if (shape[axis - added] == 1) continue;
    strides[static_cast<std::size_t>(axis)] = own[static_cast<std::size_t>(axis - added)];
  }
  return strides;
}

}  // namespace octet::detail
