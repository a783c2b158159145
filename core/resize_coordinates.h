#pragma once

#include <string_view>

namespace octet {

/// Where the pixels of an image at another size lie in the image, along an axis of `input` pixels
/// that becomes one of `output`.
enum class ResizeCoordinates {
  half_pixel,     ///< The edges lie on each other: (o + 0.5) input / output - 0.5.
  align_corners,  ///< The outer pixels lie on each other: o (input - 1) / (output - 1).
  asymmetric      ///< The first pixels lie on each other: o input / output.
};

/// "half_pixel", "align_corners" or "asymmetric", as ONNX has them. Throws InvalidArgument for a
/// value outside the enumeration.
std::string_view to_string(ResizeCoordinates coordinates);
/// Returns the coordinates of that name. Throws InvalidArgument for another.
ResizeCoordinates parse_resize_coordinates(std::string_view name);

}  // namespace octet
