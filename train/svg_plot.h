#pragma once

#include <string>
#include <string_view>
#include <vector>

// What pictures of numbers are made of: axes, their ticks, and lines and texts as SVG. Not for
// users' includes.

namespace octet::detail {

/// Text as XML and HTML take it, between tags and in attributes with double quotation marks.
/// Control characters, which XML takes in no form, become spaces.
std::string escaped_markup(std::string_view text);

/// An axis from `low` to `high`, widened to whole steps of its grid (1, 2 or 5 times a power of
/// ten), drawn between the pixels `from` and `to`.
class PlotAxis {
 public:
  /// About `ticks` lines of the grid.
  PlotAxis(double low, double high, double from, double to, double ticks = 6.0);

  /// The pixel of a value.
  double at(double value) const { return from_ + (value - low_) / (high_ - low_) * (to_ - from_); }
  std::vector<double> ticks() const;
  /// A tick as text, with the digits behind the point that tell ticks apart.
  std::string text(double tick) const;
  double low() const { return low_; }
  double high() const { return high_; }

 private:
  double from_;
  double to_;
  double step_ = 1.0;
  double low_ = 0.0;
  double high_ = 1.0;
};

/// A <text> at a pixel; `text` is escaped, `attributes` are not.
std::string svg_text(double x, double y, std::string_view text, std::string_view attributes);
/// A <line>; `attributes` are not escaped.
std::string svg_line(double x1, double y1, double x2, double y2, std::string_view attributes);

}  // namespace octet::detail
