#include <fmt/core.h>
#include <octet/report/charts.h>

#include <algorithm>
#include <cmath>

namespace octet::detail {
namespace {

/// More quantized values than this are drawn as a strip.
constexpr std::size_t kMostCodesDrawn = 64;
constexpr double kBarHeight = 13.0;
constexpr std::size_t kMostOfLabel = 20;

std::string figure(const Plot& plot, const std::string& caption, const std::string& title) {
  return fmt::format("<figure>\n<figcaption>{}</figcaption>\n{}</figure>\n",
                     escaped_markup(caption), plot.element(title));
}

/// At most so many bytes of a name, no character of it cut in two.
std::string shortened(const std::string& name) {
  if (name.size() <= kMostOfLabel) return name;
  std::size_t end = kMostOfLabel - 1;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0U) == 0x80U) --end;
  return name.substr(0, end) + "\xE2\x80\xA6";
}

}  // namespace

std::string line_chart(const LineChart& chart) {
  PlotRange xs;
  PlotRange ys;
  std::vector<std::string> names;
  for (const ChartSeries& series : chart.series) {
    names.push_back(series.name);
    for (const auto& [x, y] : series.points) {
      if (std::isfinite(y)) xs.add(x);
      ys.add(y);
    }
  }
  if (ys.empty()) return "";
  Plot plot(chart.small ? 320.0 : 440.0, chart.small ? 170.0 : 270.0);
  const PlotArea area = chart.small ? PlotArea{52, 300, 26, 130} : PlotArea{52, 428, 44, 230};
  // Epochs are whole numbers; one alone stands in the middle.
  const double room = xs.low == xs.high ? 1.0 : 0.0;
  const PlotAxis x({xs.low - room, xs.high + room}, area.left, area.right, 6.0, /*least_step=*/1.0);
  const PlotAxis y(ys, area.bottom, area.top, chart.small ? 3.0 : 6.0);
  plot.y_axis(area, y);
  plot.x_axis(area, x, chart.x_label);
  for (const auto& [at, name] : chart.phases) {
    plot.line(x.at(at), area.top - 8, x.at(at), area.bottom, "divider");
    plot.text(x.at(at) + 4, area.top - 3, name, "muted-text");
  }
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    plot.series(x, y, chart.series[i].points, (i % 2 == 1 ? "dash " : "") + series_class(i),
                chart.series[i].name);
  }
  plot.legend(names, area.left);
  return figure(plot, chart.title,
                fmt::format("{}: {} over {}", chart.title, chart.y_label, chart.x_label));
}

std::string example_plot(const ExampleView& view, const std::string& title) {
  PlotRange values;
  for (const PlotPoints& line : view.lines) {
    for (const auto& point : line) values.add(point.second);
  }
  const PlotRange steps{0.0, static_cast<double>(view.steps) - 1.0};
  Plot plot(200, 130);
  const PlotArea area{4, 196, 18, 112};
  const auto at = [](const PlotRange& range, double value, double from, double to) {
    const double share =
        range.high > range.low ? (value - range.low) / (range.high - range.low) : 0.5;
    return from + share * (to - from);
  };
  for (const double y : {area.top, area.bottom}) {
    plot.line(area.left, y, area.right, y, "grid-line");
  }
  for (std::size_t i = 0; i < view.lines.size(); ++i) {
    PlotPoints pixels;
    for (const auto& [step, value] : view.lines[i]) {
      pixels.emplace_back(at(steps, step, area.left, area.right),
                          at(values, value, area.bottom, area.top));
    }
    plot.polyline(pixels, "line thin " + series_class(i));
  }
  plot.text(area.left, area.top - 5, fmt::format("{:.4g}", values.high), "muted-text");
  plot.text(area.left, area.bottom + 14, fmt::format("{:.4g}", values.low), "muted-text");
  plot.text(area.right, area.bottom + 14, fmt::format("{} steps", view.steps), "muted-text end");
  return plot.element(title);
}

Plot bar_plot(const BarChart& chart) {
  PlotRange values;
  std::size_t letters = 0;
  values.add(0.0);
  for (const BarRow& row : chart.rows) {
    letters = std::max(letters, shortened(row.name).size());
    for (const double value : row.values) values.add(value);
  }
  const double row_height = kBarHeight * static_cast<double>(chart.series.size()) + 8.0;
  const double top = 28.0;
  const double bottom = top + row_height * static_cast<double>(chart.rows.size());
  const PlotArea area{20.0 + 6.8 * static_cast<double>(letters), chart.width - 40.0, top, bottom};
  const PlotAxis x(values, area.left, area.right);
  Plot plot(chart.width, bottom + 40);
  plot.x_axis(area, x, chart.x_label);
  for (std::size_t i = 0; i < chart.rows.size(); ++i) {
    const BarRow& row = chart.rows[i];
    double y = top + row_height * static_cast<double>(i) + 4.0;
    plot.text(area.left - 6, y + row_height / 2, shortened(row.name), "end");
    for (std::size_t k = 0; k < row.values.size(); ++k, y += kBarHeight) {
      if (!std::isfinite(row.values[k])) continue;
      const auto [from, to] = std::minmax({x.at(0.0), x.at(row.values[k])});
      plot.rect(from, y, std::max(0.5, to - from), kBarHeight - 1.5, "bar " + series_class(k),
                fmt::format("{}, {}: {:.4g}", row.name, chart.series[k], row.values[k]));
      if (chart.values) plot.text(to + 5, y + 10, fmt::format("{:.2f}", row.values[k]));
    }
  }
  plot.legend(chart.series, area.left);
  return plot;
}

std::string bar_chart(const BarChart& chart) {
  return figure(bar_plot(chart), chart.title, fmt::format("{}: {}", chart.title, chart.x_label));
}

std::string histogram_chart(const std::string& title, const GridFacts& facts) {
  const Histogram& histogram = facts.histogram;
  Plot plot(320, 176);
  const PlotArea area{12, 308, 10, 124};
  const auto x_at = [&](double value) {
    return area.left +
           (value - histogram.low) / (histogram.high - histogram.low) * (area.right - area.left);
  };
  // Square roots, so that rare values far out are seen.
  double most = 1.0;
  for (const std::uint64_t count : histogram.counts) {
    most = std::max(most, std::sqrt(static_cast<double>(count)));
  }
  const double low = x_at(facts.grid_low);
  const double high = x_at(facts.grid_high);
  for (const auto& [from, to] : {std::pair(area.left, low), std::pair(high, area.right)}) {
    plot.rect(from, area.top, std::max(0.0, to - from), area.bottom - area.top, "outside");
  }
  const double width = (area.right - area.left) / static_cast<double>(histogram.counts.size());
  for (std::size_t i = 0; i < histogram.counts.size(); ++i) {
    if (histogram.counts[i] == 0) continue;
    const double height = std::max(
        1.0, std::sqrt(static_cast<double>(histogram.counts[i])) / most * (area.bottom - area.top));
    plot.rect(area.left + width * static_cast<double>(i), area.bottom - height,
              std::max(0.5, width - 0.5), height, "bar s0");
  }
  // A line for each quantized value, or of many as many as can be told apart.
  const std::size_t lines = std::min(facts.codes, kMostCodesDrawn);
  for (std::size_t i = 0; i < lines; ++i) {
    const double x = low + (high - low) * static_cast<double>(i) /
                               static_cast<double>(std::max<std::size_t>(lines, 2) - 1);
    plot.line(x, area.bottom + 2, x, area.bottom + 12, "code");
  }
  plot.text(low, area.bottom + 26, fmt::format("{:.3g}", facts.grid_low), "muted-text");
  plot.text(high, area.bottom + 26, fmt::format("{:.3g}", facts.grid_high), "muted-text end");
  const std::string each =
      facts.codes > lines ? fmt::format(" (a line for {})", facts.codes / lines) : "";
  plot.text(area.center(), 170, fmt::format("{} quantized values{}", facts.codes, each),
            "muted-text middle");
  return figure(
      plot, title,
      fmt::format("{}: histogram of {} values, quantized to {} values from {:.3g} to {:.3g}", title,
                  facts.values, facts.codes, facts.grid_low, facts.grid_high));
}

}  // namespace octet::detail
