#pragma once

#include <string_view>

namespace octet {

/// Kinds of examples, which decide the changes that suit them.
enum class ExampleKind {
  image,     ///< [height, width] or [height, width, channels].
  sequence,  ///< [steps, features].
  signal,    ///< Features [frames, channels] that a front end makes of [samples, axes].
  matrix,    ///< An array of two axes: an image or a sequence, nothing says which.
  row,       ///< Numbers side by side.
  volume     ///< More axes than an image has.
};

/// "images", "sequences", "features of signals", "arrays of two axes", "rows of numbers" or "arrays
/// of four axes or more".
std::string_view to_string(ExampleKind kind);

}  // namespace octet
