#pragma once

#include <octet/core/resize_coordinates.h>
#include <octet/core/tensor.h>

#include <array>

namespace octet {

/// Images x [n, h, w, c] at `size` (height, width) by bilinear interpolation, [n, size[0], size[1],
/// c]: along each axis the pixel at place p is (1 - f) x[i] + f x[i + 1] with i = floor(p), f = p -
/// i, where `coordinates` say p and p is kept within the image. Its gradient has the same weights.
/// Throws InvalidArgument for other ranks and where a size is not between 1 and 2^31 - 1.
Tensor resize_bilinear(const Tensor& x, const std::array<Index, 2>& size,
                       ResizeCoordinates coordinates = ResizeCoordinates::half_pixel);

}  // namespace octet
