#pragma once

#include <octet/core/plot.h>
#include <octet/report/report.h>

#include <string>
#include <utility>
#include <vector>

// The charts of a report, as SVG whose colors are those of the page. Each has a title for readers
// that do not see it, and a caption below.

namespace octet::detail {

/// A line of points (x, y); values that are not finite are left out.
struct ChartSeries {
  std::string name;
  PlotPoints points;
};

struct LineChart {
  std::string title;
  std::string x_label;
  std::string y_label;
  std::vector<ChartSeries> series;
  /// Where another phase begins, and its name.
  std::vector<std::pair<double, std::string>> phases{};
  bool small = false;
};

/// A <figure>; "" where there is no point to draw.
std::string line_chart(const LineChart& chart);

/// An <svg> element of the lines of an example, small, with the range of its values and the number
/// of its steps; one line at least has a point.
std::string example_plot(const ExampleView& view, const std::string& title);

/// One row of bars: its name, and a value for each series.
struct BarRow {
  std::string name;
  std::vector<double> values;
};

struct BarChart {
  std::string title;
  std::string x_label;
  std::vector<std::string> series;
  std::vector<BarRow> rows;
  double width = 440.0;
  /// Whether the value stands beside each bar.
  bool values = false;
};

/// Horizontal bars from 0; values that are not finite have none.
Plot bar_plot(const BarChart& chart);
/// A <figure> of it.
std::string bar_chart(const BarChart& chart);

/// A <figure> of how values lie between the quantized values, which are the lines below the bars;
/// what lies outside of them is shaded.
std::string histogram_chart(const std::string& title, const GridFacts& facts);

}  // namespace octet::detail
