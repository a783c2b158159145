#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/shape.h>

#include <algorithm>
#include <ostream>

namespace octet {

Index Shape::size() const {
  Index product = 1;
  for (const Index extent : dims_) {
    if (extent < 0 || __builtin_mul_overflow(product, extent, &product)) {
      throw InvalidArgument(fmt::format(
          "shape {}: expected extents of 0 or more whose product fits in 63 bits", to_string()));
    }
  }
  return product;
}

Index Shape::normalize_axis(Index axis) const {
  const Index counted = axis < 0 ? axis + rank() : axis;
  if (counted < 0 || counted >= rank()) {
    throw InvalidArgument(fmt::format("axis {} is outside shape {}: expected {} to {}", axis,
                                      to_string(), -rank(), rank() - 1));
  }
  return counted;
}

Shape Shape::with_dim(Index axis, Index extent) const {
  Shape result = *this;
  result.dims_[static_cast<std::size_t>(normalize_axis(axis))] = extent;
  return result;
}

Shape Shape::without_dim(Index axis) const {
  Shape result = *this;
  result.dims_.erase(result.dims_.begin() + normalize_axis(axis));
  return result;
}

Shape Shape::with_batch(Index extent) const {
  Shape result = *this;
  result.dims_.insert(result.dims_.begin(), extent);
  return result;
}

std::string Shape::to_string() const {
  std::string text;
  for (const Index extent : dims_) text += (text.empty() ? "" : ", ") + std::to_string(extent);
  return "[" + text + "]";
}

std::ostream& operator<<(std::ostream& out, const Shape& shape) { return out << shape.to_string(); }

Shape broadcast_shapes(std::string_view operation, const Shape& a, const Shape& b) {
  const Index rank = std::max(a.rank(), b.rank());
  std::vector<Index> dims(static_cast<std::size_t>(rank));
  for (Index i = 1; i <= rank; ++i) {
    const Index da = i <= a.rank() ? a.dim(-i) : 1;
    const Index db = i <= b.rank() ? b.dim(-i) : 1;
    if (da != db && da != 1 && db != 1) {
      throw InvalidArgument(
          fmt::format("{}: shapes {} and {} do not broadcast: axis {} from the end has {} and {}",
                      operation, a.to_string(), b.to_string(), i, da, db));
    }
    dims[static_cast<std::size_t>(rank - i)] = da == 1 ? db : da;
  }
  return Shape(std::move(dims));
}

}  // namespace octet
