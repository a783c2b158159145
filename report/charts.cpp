#include <fmt/core.h>
#include <octet/report/charts.h>
#include <octet/train/svg_plot.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace octet::detail {
namespace {

constexpr std::size_t kColors = 4;
/// More codes than this are drawn as a strip.
constexpr std::size_t kMostCodesDrawn = 64;
constexpr double kBarHeight = 11.0;
constexpr std::size_t kMostOfLabel = 15;

std::string figure(const std::string& title, double width, double height, const std::string& body,
                   const std::string& caption) {
  const std::string name = escaped_markup(title);
  return fmt::format(
      "<figure>\n<figcaption>{4}</figcaption>\n<svg role=\"img\" aria-label=\"{0}\" viewBox=\"0 0 "
      "{1:.0f} {2:.0f}\">\n"
      "<title>{0}</title>\n{3}</svg>\n</figure>\n",
      name, width, height, body, escaped_markup(caption.empty() ? title : caption));
}

/// Where the axes of a chart lie.
struct Frame {
  double width;
  double height;
  double left;
  double right;
  double top;
  double bottom;
};

std::string y_grid(const Frame& frame, const PlotAxis& y) {
  std::string text;
  for (const double tick : y.ticks()) {
    const double at = y.at(tick);
    text += svg_line(frame.left, at, frame.right, at, "class=\"grid-line\"");
    text +=
        svg_text(frame.left - 6, at + 4, y.text(tick), "text-anchor=\"end\" class=\"muted-text\"");
  }
  return text;
}

std::string x_grid(const Frame& frame, const PlotAxis& x, bool whole_numbers) {
  std::string text;
  for (const double tick : x.ticks()) {
    if (whole_numbers && tick != std::round(tick)) continue;
    const double at = x.at(tick);
    text += svg_line(at, frame.top, at, frame.bottom, "class=\"grid-line\"");
    text +=
        svg_text(at, frame.bottom + 16, whole_numbers ? fmt::format("{:.0f}", tick) : x.text(tick),
                 "text-anchor=\"middle\" class=\"muted-text\"");
  }
  return text;
}

/// Names of series side by side above the plot, in their colors.
std::string legend(const std::vector<std::string>& names, double left, double y) {
  std::string text;
  double x = left;
  for (std::size_t i = 0; i < names.size(); ++i) {
    text += fmt::format(
        "<rect class=\"bar s{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"10\" height=\"10\"/>\n",
        i % kColors, x, y - 9);
    text += svg_text(x + 14, y, names[i], "");
    x += 26.0 + 6.6 * static_cast<double>(names[i].size());
  }
  return text;
}

std::string polyline(const ChartSeries& series, const PlotAxis& x, const PlotAxis& y,
                     std::size_t color) {
  std::string points;
  std::string dots;
  for (const auto& [px, py] : series.points) {
    if (!std::isfinite(py)) continue;
    points += fmt::format("{:.1f},{:.1f} ", x.at(px), y.at(py));
    dots += fmt::format(
        "<circle class=\"dot\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\"><title>{}: {:.5g}</title>"
        "</circle>\n",
        x.at(px), y.at(py), escaped_markup(series.name), py);
  }
  const char* dash = color % 2 == 1 ? " dash" : "";
  return fmt::format("<g class=\"s{}\"><polyline class=\"line{}\" points=\"{}\"/>\n{}</g>\n",
                     color % kColors, dash, points, dots);
}

/// At most so many bytes of a name, no character of it cut in two.
std::string shortened(const std::string& name) {
  if (name.size() <= kMostOfLabel) return name;
  std::size_t end = kMostOfLabel - 1;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0U) == 0x80U) --end;
  return name.substr(0, end) + "\xE2\x80\xA6";
}

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void add(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool empty() const { return low > high; }
};

}  // namespace

std::string line_chart(const LineChart& chart) {
  Range xs;
  Range ys;
  std::vector<std::string> names;
  for (const ChartSeries& series : chart.series) {
    names.push_back(series.name);
    for (const auto& [x, y] : series.points) {
      if (std::isfinite(y)) xs.add(x);
      ys.add(y);
    }
  }
  if (ys.empty()) return "";
  const Frame frame =
      chart.small ? Frame{320, 170, 52, 312, 26, 136} : Frame{440, 270, 52, 428, 44, 224};
  // Epochs are whole numbers; one alone stands in the middle.
  const PlotAxis x(xs.low == xs.high ? xs.low - 1 : xs.low,
                   xs.low == xs.high ? xs.high + 1 : xs.high, frame.left, frame.right);
  const PlotAxis y(ys.low, ys.high, frame.bottom, frame.top, chart.small ? 3.0 : 6.0);
  std::string body = y_grid(frame, y) + x_grid(frame, x, /*whole_numbers=*/true);
  for (const auto& [at, name] : chart.phases) {
    body += svg_line(x.at(at), frame.top - 8, x.at(at), frame.bottom, "class=\"divider\"");
    body += svg_text(x.at(at) + 4, frame.top - 3, name, "class=\"muted-text\"");
  }
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    body += polyline(chart.series[i], x, y, i);
  }
  body += legend(names, frame.left, 14);
  body += svg_text((frame.left + frame.right) / 2, frame.height - 6, chart.x_label,
                   "text-anchor=\"middle\" class=\"muted-text\"");
  return figure(fmt::format("{}: {} over {}", chart.title, chart.y_label, chart.x_label),
                frame.width, frame.height, body, chart.title);
}

std::string bar_chart(const BarChart& chart) {
  Range values;
  values.add(0.0);
  for (const BarRow& row : chart.rows) {
    for (const double value : row.values) values.add(value);
  }
  const double row_height = kBarHeight * static_cast<double>(chart.series.size()) + 8.0;
  Frame frame{440, 0, 128, 420, 28, 0};
  frame.bottom = frame.top + row_height * static_cast<double>(chart.rows.size());
  frame.height = frame.bottom + 40;
  const PlotAxis x(values.low, values.high, frame.left, frame.right);
  std::string body = x_grid(frame, x, /*whole_numbers=*/false);
  for (std::size_t i = 0; i < chart.rows.size(); ++i) {
    const BarRow& row = chart.rows[i];
    const double top = frame.top + row_height * static_cast<double>(i) + 4.0;
    body += svg_text(frame.left - 6, top + (row_height - 8.0) / 2 + 4, shortened(row.name),
                     "text-anchor=\"end\"");
    for (std::size_t k = 0; k < row.values.size(); ++k) {
      if (!std::isfinite(row.values[k])) continue;
      const double from = std::min(x.at(0.0), x.at(row.values[k]));
      const double to = std::max(x.at(0.0), x.at(row.values[k]));
      body += fmt::format(
          "<rect class=\"bar s{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\">"
          "<title>{}, {}: {:.4g}</title></rect>\n",
          k % kColors, from, top + kBarHeight * static_cast<double>(k), std::max(0.5, to - from),
          kBarHeight - 1.5, escaped_markup(row.name), escaped_markup(chart.series[k]),
          row.values[k]);
    }
  }
  body += legend(chart.series, frame.left, 14);
  body += svg_text((frame.left + frame.right) / 2, frame.height - 6, chart.x_label,
                   "text-anchor=\"middle\" class=\"muted-text\"");
  return figure(fmt::format("{}: {}", chart.title, chart.x_label), frame.width, frame.height, body,
                chart.title);
}

std::string histogram_chart(const std::string& title, const GridFacts& facts) {
  const Histogram& histogram = facts.histogram;
  const Frame frame{320, 176, 12, 308, 10, 124};
  const auto x_at = [&](double value) {
    return frame.left +
           (value - histogram.low) / (histogram.high - histogram.low) * (frame.right - frame.left);
  };
  // Square roots, so that rare values far out are seen.
  double most = 1.0;
  for (const std::uint64_t count : histogram.counts) {
    most = std::max(most, std::sqrt(static_cast<double>(count)));
  }
  std::string body;
  for (const auto& [from, to] : {std::pair(frame.left, x_at(facts.grid_low)),
                                 std::pair(x_at(facts.grid_high), frame.right)}) {
    body += fmt::format(
        "<rect class=\"outside\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>\n",
        from, frame.top, std::max(0.0, to - from), frame.bottom - frame.top);
  }
  const double width = (frame.right - frame.left) / static_cast<double>(histogram.counts.size());
  for (std::size_t i = 0; i < histogram.counts.size(); ++i) {
    if (histogram.counts[i] == 0) continue;
    const double height = std::max(1.0, std::sqrt(static_cast<double>(histogram.counts[i])) / most *
                                            (frame.bottom - frame.top));
    body += fmt::format(
        "<rect class=\"bar s0\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>\n",
        frame.left + width * static_cast<double>(i), frame.bottom - height,
        std::max(0.5, width - 0.5), height);
  }
  // The codes: a line each, or of many as many as can be told apart.
  const std::size_t lines = std::min(facts.codes, kMostCodesDrawn);
  std::string path;
  for (std::size_t i = 0; i < lines; ++i) {
    const double place =
        static_cast<double>(i) / static_cast<double>(std::max<std::size_t>(lines, 2) - 1);
    const double at = x_at(facts.grid_low + place * (facts.grid_high - facts.grid_low));
    path += fmt::format("M{:.1f} {:.0f}V{:.0f}", at, frame.bottom + 2, frame.bottom + 12);
  }
  body += fmt::format("<path class=\"code\" d=\"{}\"/>\n", path);
  const std::string each =
      facts.codes > lines ? fmt::format(" (a line for {})", facts.codes / lines) : "";
  body += svg_text(x_at(facts.grid_low), frame.bottom + 26, fmt::format("{:.3g}", facts.grid_low),
                   "class=\"muted-text\"");
  body += svg_text(x_at(facts.grid_high), frame.bottom + 26, fmt::format("{:.3g}", facts.grid_high),
                   "text-anchor=\"end\" class=\"muted-text\"");
  body += svg_text(frame.width / 2, frame.height - 6,
                   fmt::format("{} quantized values{}", facts.codes, each),
                   "text-anchor=\"middle\" class=\"muted-text\"");
  return figure(
      fmt::format("{}: histogram of {} values, quantized to {} values from {:.3g} to {:.3g}", title,
                  facts.values, facts.codes, facts.grid_low, facts.grid_high),
      frame.width, frame.height, body, title);
}

}  // namespace octet::detail
