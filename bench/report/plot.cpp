#include <fmt/core.h>
#include <octet/bench/report/tables.h>
#include <octet/core/plot.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <tuple>

namespace octet::bench {
namespace {

using namespace detail;

constexpr double kEpochImages = 60'000;
constexpr std::array kBatches = {32, 128, 512};

// Pixels.
constexpr double kPanelWidth = 250;
constexpr double kPanelStep = kPanelWidth + 180;
constexpr double kLabelGap = 17;

struct Line {
  std::string label;
  std::string color;
  std::string dash;
  /// (index of the batch, thousand images a second).
  PlotPoints points;
};

std::vector<Line> lines_of(const Results& results, int threads) {
  std::vector<Line> lines;
  for (const auto& [who, name, color] : {std::tuple("octet", "Octet", "s0"),
                                         {"torch", "PyTorch", "s1"},
                                         {"libtorch", "libtorch", "s2"}}) {
    for (const std::string mode : {"qat", "float"}) {
      PlotPoints points;
      for (std::size_t i = 0; i < kBatches.size(); ++i) {
        const auto seconds = results.median({{"what", "train"},
                                             {"who", who},
                                             {"mode", mode},
                                             {"isa", "auto"},
                                             {"batch", kBatches[i]},
                                             {"threads", threads}},
                                            "s_per_epoch");
        if (seconds) points.emplace_back(i, kEpochImages / 1000.0 / *seconds);
      }
      const bool quantized = mode == "qat";
      if (points.empty()) continue;
      lines.push_back({fmt::format("{}, {}", name, quantized ? "quantized" : "float"), color,
                       quantized ? "" : "dash ", std::move(points)});
    }
  }
  return lines;
}

/// Draws one number of threads from the pixel `left` on.
void draw_panel(Plot& plot, double left, const std::string& title, std::vector<Line> lines,
                const PlotRange& values) {
  const PlotArea area{left, left + kPanelWidth, 56, 346};
  const PlotAxis x({0.0, 2.0}, area.left + 30, area.right - 8, 2.0);
  const PlotAxis y(values, area.bottom, area.top);
  plot.text(left, area.top - 12, title, "title");
  plot.y_axis(area, y);
  for (std::size_t i = 0; i < kBatches.size(); ++i) {
    plot.text(x.at(static_cast<double>(i)), area.bottom + 16, fmt::format("{}", kBatches[i]),
              "muted-text middle");
  }
  plot.text(area.center(), area.bottom + 34, "batch size", "muted-text middle");
  // Names beside the ends of the lines, from the lowest up, none nearer than a line of text.
  std::ranges::sort(lines, {}, [](const Line& line) { return line.points.back().second; });
  double label = area.bottom + kLabelGap;
  for (const Line& line : lines) {
    plot.series(x, y, line.points, line.dash + line.color, line.label);
    label = std::min(y.at(line.points.back().second), label - kLabelGap);
    plot.text(x.at(line.points.back().first) + 12, label + 4.5, line.label, line.color);
  }
}

}  // namespace

std::string plot(const Results& results) {
  std::vector<std::pair<std::string, std::vector<Line>>> panels = {
      {"1 thread", lines_of(results, 1)}, {"2 threads", lines_of(results, 2)}};
  std::erase_if(panels, [](const auto& panel) { return panel.second.empty(); });
  if (panels.empty()) throw std::runtime_error("plot: the results hold no training");
  PlotRange values{0.0, 0.0};
  for (const auto& [title, lines] : panels) {
    for (const Line& line : lines) {
      for (const auto& [batch, value] : line.points) values.add(value);
    }
  }
  double left = 48;
  // The words above take as much as a panel and a half.
  Plot picture(left + kPanelStep * std::max(1.5, static_cast<double>(panels.size())), 392);
  picture.text(16, 20,
               "thousand images a second, training 784-256-128-10 on MNIST; higher is better");
  for (const auto& [title, lines] : panels) {
    draw_panel(picture, left, title, lines, values);
    left += kPanelStep;
  }
  return picture.file("Images a second over batch sizes");
}

}  // namespace octet::bench
