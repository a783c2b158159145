#pragma once

#include <vector>

namespace octet {

/// A point that a stroke passes through, in a box of width and height 1, x to the right and y
/// downwards. The stroke is smooth (a Catmull-Rom spline) but for its corners.
struct Knot {
  float x = 0;
  float y = 0;
  bool corner = false;
};

using Stroke = std::vector<Knot>;
using Glyph = std::vector<Stroke>;

/// The ways in which people write `digit` (0 to 9).
const std::vector<Glyph>& digit_glyphs(int digit);

}  // namespace octet
