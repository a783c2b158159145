#pragma once

#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Pictures of numbers as SVG. Not for users' includes.

namespace octet::detail {

/// Text as XML and HTML take it, between tags and in attributes with double quotation marks.
/// Control characters but the end of a line, which XML takes in no form, become spaces.
std::string escaped_markup(std::string_view text);

/// The lowest and the highest of finite values.
struct PlotRange {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void add(double value);
  bool empty() const { return low > high; }
};

/// An axis of a range, widened to whole steps (1, 2 or 5 times a power of ten), drawn between the
/// pixels `from` and `to`.
class PlotAxis {
 public:
  /// About `ticks` steps, none smaller than `least_step`.
  PlotAxis(const PlotRange& range, double from, double to, double ticks = 6.0,
           double least_step = 0.0);

  /// The pixel of a value.
  double at(double value) const { return from_ + (value - low_) / (high_ - low_) * (to_ - from_); }
  bool contains(double value) const { return value >= low_ && value <= high_; }
  std::vector<double> ticks() const;
  /// A tick as text, with the digits behind the point that tell ticks apart.
  std::string text(double tick) const;

 private:
  double from_;
  double to_;
  double step_;
  double low_;
  double high_;
};

using PlotPoints = std::vector<std::pair<double, double>>;

/// The pixels between the axes of a plot.
struct PlotArea {
  double left;
  double right;
  double top;
  double bottom;

  double center() const { return (left + right) / 2; }
};

/// The class of a series' color: "s0" to "s3", then from the first on again.
std::string series_class(std::size_t series);

/// Style sheet of the classes that the marks of a plot have: `line`, `dash`, `dot`, `ring`, `bar`,
/// `grid-line`, `divider`, `paper`; of texts `title`, `muted-text`, `middle`, `end`; and the colors
/// of series. Follows the light or dark scheme of the reader.
std::string_view plot_style();

/// An SVG picture that is drawn mark by mark, in pixels from the upper left. Texts and tooltips are
/// escaped.
class Plot {
 public:
  Plot(double width, double height) : width_(width), height_(height) {}

  void text(double x, double y, std::string_view text, std::string_view classes = "");
  void line(double x1, double y1, double x2, double y2, std::string_view classes);
  void rect(double x, double y, double width, double height, std::string_view classes,
            std::string_view tooltip = "");
  void circle(double x, double y, double radius, std::string_view classes,
              std::string_view tooltip = "");
  void polyline(const PlotPoints& points, std::string_view classes);

  /// Grid lines of an axis, their values on the left or below, and its label.
  void y_axis(const PlotArea& area, const PlotAxis& axis);
  void x_axis(const PlotArea& area, const PlotAxis& axis, std::string_view label);
  /// A line through the points whose values are finite, and a dot with its value for each.
  void series(const PlotAxis& x, const PlotAxis& y, const PlotPoints& points,
              std::string_view classes, std::string_view name);
  /// Names of series side by side in their colors, from the pixel `left` on.
  void legend(const std::vector<std::string>& names, double left, double y = 14.0);

  /// An <svg> element of a page that has plot_style(); `title` is for readers that do not see it.
  std::string element(std::string_view title) const { return svg(title, "", ""); }
  /// The content of an .svg file.
  std::string file(std::string_view title) const;

 private:
  std::string svg(std::string_view title, std::string_view attributes,
                  std::string_view first) const;
  void closed(std::string_view name, std::string_view tooltip);

  double width_;
  double height_;
  std::string marks_;
};

}  // namespace octet::detail
