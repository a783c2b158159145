#include <fmt/core.h>
#include <octet/bench/report/plot.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

namespace octet::bench {
namespace {

constexpr double kEpochImages = 60'000;
constexpr std::array kBatches = {32, 128, 512};

// Pixels.
constexpr double kPanelWidth = 250;
constexpr double kPanelHeight = 290;
constexpr double kLeft = 64;
constexpr double kTop = 56;
constexpr double kLabelWidth = 160;
constexpr double kPanelStep = kPanelWidth + kLabelWidth + 20;
/// For the title.
constexpr double kLeastWidth = 560;
constexpr double kHeight = kTop + kPanelHeight + 56;
constexpr double kLabelGap = 17;

constexpr const char* kStyle = R"(<style>
text { font: 13px system-ui, sans-serif; fill: #1f2328 }
.title { font-weight: 600 }
.grid { stroke: #d8dee4; stroke-width: 1 }
polyline { fill: none; stroke-width: 2.5 }
.float { stroke-dasharray: 5 4 }
.octet polyline { stroke: #0b5fd0 }
.octet circle, .octet text { fill: #0b5fd0 }
.torch polyline { stroke: #c2410c }
.torch circle, .torch text { fill: #c2410c }
.libtorch polyline { stroke: #7a5a00 }
.libtorch circle, .libtorch text { fill: #7a5a00 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .grid { stroke: #3d444d }
  .octet polyline { stroke: #6cb0ff }
  .octet circle, .octet text { fill: #6cb0ff }
  .torch polyline { stroke: #ff9a62 }
  .torch circle, .torch text { fill: #ff9a62 }
  .libtorch polyline { stroke: #e3c04b }
  .libtorch circle, .libtorch text { fill: #e3c04b }
}
</style>
)";

struct Line {
  std::string who;
  std::string mode;
  std::string label;
  /// (index of the batch, images a second).
  std::vector<std::pair<int, double>> points;
};

std::vector<Line> lines_of(const Results& results, int threads) {
  std::vector<Line> lines = {
      {"octet", "qat", "Octet, quantized", {}},       {"octet", "float", "Octet, float", {}},
      {"torch", "qat", "PyTorch, quantized", {}},     {"torch", "float", "PyTorch, float", {}},
      {"libtorch", "qat", "libtorch, quantized", {}}, {"libtorch", "float", "libtorch, float", {}}};
  for (Line& line : lines) {
    for (std::size_t i = 0; i < kBatches.size(); ++i) {
      const auto seconds = results.median({{"what", "train"},
                                           {"who", line.who},
                                           {"mode", line.mode},
                                           {"isa", "auto"},
                                           {"batch", kBatches[i]},
                                           {"threads", threads}},
                                          "s_per_epoch");
      if (seconds) line.points.emplace_back(static_cast<int>(i), kEpochImages / *seconds);
    }
  }
  std::erase_if(lines, [](const Line& line) { return line.points.empty(); });
  return lines;
}

/// 1, 2 or 5 times a power of ten, so that at most six steps reach `largest`.
double tick_step(double largest) {
  const double power = std::pow(10.0, std::floor(std::log10(largest / 6.0)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (largest / (factor * power) <= 6.0) return factor * power;
  }
  return 10.0 * power;
}

/// Turns figures into places of one panel.
class Panel {
 public:
  Panel(double left, double top_value) : left_(left), top_value_(top_value) {}

  double x(int batch) const {
    constexpr double kFirst = 30;
    constexpr double kBehind = 8;
    const double step = (kPanelWidth - kFirst - kBehind) / (kBatches.size() - 1);
    return left_ + kFirst + step * batch;
  }
  double y(double value) const { return kTop + kPanelHeight * (1.0 - value / top_value_); }

  std::string axes(const std::string& title, double step) const {
    std::string text = fmt::format("<text class=\"title\" x=\"{:.0f}\" y=\"{:.0f}\">{}</text>\n",
                                   left_, kTop - 14, title);
    for (int tick = 0; tick <= std::lround(top_value_ / step); ++tick) {
      const double value = tick * step;
      text += fmt::format(
          "<line class=\"grid\" x1=\"{0:.0f}\" x2=\"{1:.0f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/>"
          "<text x=\"{3:.0f}\" y=\"{4:.1f}\" text-anchor=\"end\">{5:g}</text>\n",
          left_, left_ + kPanelWidth, y(value), left_ - 8, y(value) + 4.5, value / 1000.0);
    }
    for (std::size_t i = 0; i < kBatches.size(); ++i) {
      text += fmt::format("<text x=\"{:.1f}\" y=\"{:.0f}\" text-anchor=\"middle\">{}</text>\n",
                          x(static_cast<int>(i)), kTop + kPanelHeight + 20, kBatches[i]);
    }
    return text +
           fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"middle\">batch size</text>\n",
                       left_ + kPanelWidth / 2, kTop + kPanelHeight + 42);
  }

  std::string line(const Line& line) const {
    std::string path;
    std::string dots;
    for (const auto& [batch, value] : line.points) {
      path += fmt::format("{:.1f},{:.1f} ", x(batch), y(value));
      dots += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\"/>", x(batch), y(value));
    }
    return fmt::format("<g class=\"{}\"><polyline class=\"{}\" points=\"{}\"/>{}</g>\n", line.who,
                       line.mode, path.substr(0, path.size() - 1), dots);
  }

  /// Names beside the ends of the lines, from the lowest up, none nearer than a line of text.
  std::string labels(std::vector<Line> lines) const {
    std::ranges::sort(lines, {}, [](const Line& line) { return line.points.back().second; });
    std::string text;
    double free_below = kTop + kPanelHeight + kLabelGap;
    for (const Line& line : lines) {
      const double at = std::min(y(line.points.back().second), free_below - kLabelGap);
      free_below = at;
      text += fmt::format("<g class=\"{}\"><text x=\"{:.1f}\" y=\"{:.1f}\">{}</text></g>\n",
                          line.who, x(line.points.back().first) + 12, at + 4.5, line.label);
    }
    return text;
  }

 private:
  double left_;
  double top_value_;
};

double largest(const std::vector<Line>& lines) {
  double result = 0.0;
  for (const Line& line : lines) {
    for (const auto& [batch, value] : line.points) result = std::max(result, value);
  }
  return result;
}

}  // namespace

std::string plot(const Results& results) {
  std::vector<std::pair<std::string, std::vector<Line>>> panels = {
      {"1 thread", lines_of(results, 1)}, {"2 threads", lines_of(results, 2)}};
  std::erase_if(panels, [](const auto& panel) { return panel.second.empty(); });
  if (panels.empty()) throw std::runtime_error("plot: the results hold no training");
  double highest = 0.0;
  for (const auto& [title, lines] : panels) highest = std::max(highest, largest(lines));
  const double step = tick_step(highest);
  const double top = step * std::ceil(highest / step);
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
      "height=\"{1:.0f}\" role=\"img\" aria-label=\"Images a second over batch sizes\">\n{2}"
      "<text x=\"16\" y=\"20\">thousand images a second, training 784-256-128-10 on MNIST; "
      "higher is better</text>\n",
      std::max(kLeft + kPanelStep * static_cast<double>(panels.size()), kLeastWidth), kHeight,
      kStyle);
  double left = kLeft;
  for (const auto& [title, lines] : panels) {
    const Panel panel(left, top);
    text += panel.axes(title, step);
    for (const Line& line : lines) text += panel.line(line);
    text += panel.labels(lines);
    left += kPanelStep;
  }
  return text + "</svg>\n";
}

}  // namespace octet::bench
