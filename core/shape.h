#pragma once

#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace octet {

/// Sizes, positions and axes. Signed, so that -1 can mean "the last" or "not known yet".
using Index = std::int64_t;

/// number / by, rounded up, of a number that is not negative.
constexpr Index divided_up(Index number, Index by) { return (number + by - 1) / by; }

/// The extents of a tensor, outermost first; row-major. Rank 0 is a scalar of one element.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<Index> dims) : dims_(dims) {}
  explicit Shape(std::vector<Index> dims) : dims_(std::move(dims)) {}

  Index rank() const { return static_cast<Index>(dims_.size()); }

  /// The extent of an axis; a negative axis counts from the end. Throws InvalidArgument outside.
  Index dim(Index axis) const { return dims_[static_cast<std::size_t>(normalize_axis(axis))]; }
  Index operator[](Index axis) const { return dims_[static_cast<std::size_t>(axis)]; }

  /// The product of all extents; throws InvalidArgument for a negative extent or on overflow.
  Index size() const;

  /// `axis` counted from the front. Throws InvalidArgument outside [-rank, rank).
  Index normalize_axis(Index axis) const;

  std::span<const Index> dims() const { return dims_; }
  auto begin() const { return dims_.begin(); }
  auto end() const { return dims_.end(); }

  /// This shape with `axis` set to `extent`.
  Shape with_dim(Index axis, Index extent) const;
  /// This shape without `axis`.
  Shape without_dim(Index axis) const;
  /// This shape with `extent` put in front: a batch of it.
  Shape with_batch(Index extent) const;
  /// This shape without its first axis.
  Shape without_batch() const { return without_dim(0); }

  bool operator==(const Shape&) const = default;

  /// "[128, 784]".
  std::string to_string() const;

 private:
  std::vector<Index> dims_;
};

/// Writes to_string().
std::ostream& operator<<(std::ostream& out, const Shape& shape);

/// The shape that two operands broadcast to, as numpy: aligned at the last axis, extents equal or
/// one of them 1. Throws InvalidArgument that names `operation` and both shapes.
Shape broadcast_shapes(std::string_view operation, const Shape& a, const Shape& b);

}  // namespace octet
