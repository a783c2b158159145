#pragma once

#include <octet/core/tensor.h>

#include <array>

namespace octet {

/// Rows and columns of zeros around an image.
struct Padding2D {
  Index top = 0;
  Index bottom = 0;
  Index left = 0;
  Index right = 0;

  bool operator==(const Padding2D&) const = default;
};

/// Images x [n, h, w, c] with zeros around them: [n, top + h + bottom, left + w + right, c]. Throws
/// InvalidArgument for other ranks and where a padding is not between 0 and 2^31 - 1.
Tensor pad2d(const Tensor& x, const Padding2D& padding);

/// Images x [n, h, w, c] with each pixel repeated in `factors` (height, width) rows and columns,
/// [n, h * factors[0], w * factors[1], c]: nearest-neighbour interpolation. Its gradient is summed
/// in double in row-major order. Throws InvalidArgument for other ranks and where a factor is not
/// between 1 and 2^31 - 1.
Tensor upsample2d(const Tensor& x, const std::array<Index, 2>& factors);

}  // namespace octet
