#pragma once

#include <octet/core/shape.h>

#include <algorithm>
#include <array>
#include <span>
#include <vector>

namespace octet::detail {

/// One axis of a loop over N operands at once: its extent, and how far one step along it moves in
/// each operand; 0 where the operand is repeated along the axis.
template <std::size_t N>
struct Axis {
  Index extent;
  std::array<Index, N> strides;
};

/// The distance between neighbours along each axis of contiguous row-major data.
std::vector<Index> row_major_strides(const Shape& shape);

/// Row-major strides of `shape` along the axes of `target`, which it broadcasts to: 0 on the axes
/// that are repeated.
std::vector<Index> broadcast_strides(const Shape& shape, const Shape& target);

/// Describes a loop in as few axes as possible: extents of 1 are dropped, and neighbours that every
/// operand walks through without a jump are joined into one.
template <std::size_t N>
std::vector<Axis<N>> merge_axes(const std::vector<Axis<N>>& axes) {
  std::vector<Axis<N>> merged;
  for (const Axis<N>& axis : axes) {
    if (axis.extent == 1) continue;
    const auto continues = [&](const Axis<N>& outer) {
      for (std::size_t n = 0; n < N; ++n) {
        if (outer.strides[n] != axis.strides[n] * axis.extent) return false;
      }
      return true;
    };
    if (!merged.empty() && continues(merged.back())) {
      merged.back() = {merged.back().extent * axis.extent, axis.strides};
    } else {
      merged.push_back(axis);
    }
  }
  return merged;
}

template <std::size_t N>
Index count_of(std::span<const Axis<N>> axes) {
  Index count = 1;
  for (const Axis<N>& axis : axes) count *= axis.extent;
  return count;
}

/// Steps through the positions of `axes` in row-major order, keeping each operand's offset.
template <std::size_t N>
class Walk {
 public:
  explicit Walk(std::span<const Axis<N>> axes, Index start = 0)
      : axes_(axes), position_(axes.size()) {
    for (std::size_t i = axes.size(); i-- > 0;) {
      position_[i] = start % axes[i].extent;
      start /= axes[i].extent;
      move(i, position_[i]);
    }
  }

  Index offset(std::size_t operand) const { return offsets_[operand]; }

  void next() {
    for (std::size_t i = axes_.size(); i-- > 0;) {
      move(i, 1);
      if (++position_[i] < axes_[i].extent) return;
      move(i, -axes_[i].extent);
      position_[i] = 0;
    }
  }

 private:
  void move(std::size_t axis, Index steps) {
    for (std::size_t n = 0; n < N; ++n) offsets_[n] += steps * axes_[axis].strides[n];
  }

  std::span<const Axis<N>> axes_;
  std::vector<Index> position_;
  std::array<Index, N> offsets_{};
};

}  // namespace octet::detail
