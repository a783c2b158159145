#include <fmt/core.h>
#include <octet/bench/report/network_results.h>
#include <octet/bench/report/networks.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <stdexcept>

namespace octet::bench {
namespace {

// Pixels.
constexpr double kLeft = 96;
constexpr double kTop = 40;
constexpr double kWidth = 520;
constexpr double kBar = 14;
constexpr double kGap = 3;
constexpr double kRow = 3 * (kBar + kGap) + 14;

constexpr const char* kStyle = R"(<style>
text { font: 13px system-ui, sans-serif; fill: #1f2328 }
.grid { stroke: #d8dee4; stroke-width: 1 }
.qat { fill: #0b5fd0 }
.float { fill: #c2410c }
.own { fill: #7a5a00 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .grid { stroke: #3d444d }
  .qat { fill: #6cb0ff }
  .float { fill: #ff9a62 }
  .own { fill: #e3c04b }
}
</style>
)";

struct Bar {
  const char* style;
  const char* label;
  std::optional<double> ratio;
};
using Bars = std::array<Bar, 3>;

/// Returns the largest batch of each network, in the order in which networks occur.
std::vector<NetworkBatch> largest_batches(const Results& results) {
  std::vector<NetworkBatch> chosen;
  for (const NetworkBatch& of : network_batches(results, "steps")) {
    const auto found = std::ranges::find(chosen, of.first, &NetworkBatch::first);
    if (found == chosen.end()) {
      chosen.push_back(of);
    } else {
      found->second = std::max(found->second, of.second);
    }
  }
  return chosen;
}

Bars bars_of(const Results& results, const NetworkBatch& of) {
  const Rounds qat = quickest_step(results, of, "octet", "qat");
  const Rounds in_float = quickest_step(results, of, "octet", "float");
  return {
      {{"qat", "peer / ours, quantized", middle_ratio(quickest_peer(results, of, "qat"), qat)},
       {"float", "peer / ours, float", middle_ratio(quickest_peer(results, of, "float"), in_float)},
       {"own", "quantized / float, ours", middle_ratio(qat, in_float)}}};
}

std::string row(const NetworkBatch& of, const Bars& bars, double top, double unit) {
  std::string text = fmt::format(
      "<text x=\"{:.0f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n"
      "<text x=\"{:.0f}\" y=\"{:.1f}\" text-anchor=\"end\">batch {}</text>\n",
      kLeft - 8, top + 18, of.first, kLeft - 8, top + 36, of.second);
  for (const Bar& bar : bars) {
    if (bar.ratio) {
      text += fmt::format(
          "<rect class=\"{}\" x=\"{:.0f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.0f}\"/>"
          "<text x=\"{:.1f}\" y=\"{:.1f}\">{:.2f}</text>\n",
          bar.style, kLeft, top, *bar.ratio * unit, kBar, kLeft + *bar.ratio * unit + 5,
          top + kBar - 2.5, *bar.ratio);
    }
    top += kBar + kGap;
  }
  return text;
}

/// What the colours stand for, side by side.
std::string key(const Bars& bars) {
  std::string text;
  double x = kLeft;
  for (const Bar& bar : bars) {
    text += fmt::format(
        "<rect class=\"{}\" x=\"{:.0f}\" y=\"10\" width=\"12\" height=\"12\"/>"
        "<text x=\"{:.0f}\" y=\"20.5\">{}</text>\n",
        bar.style, x, x + 17, bar.label);
    x += 185;
  }
  return text;
}

}  // namespace

std::string networks_plot(const Results& results) {
  std::vector<std::pair<NetworkBatch, Bars>> rows;
  double largest = 1.0;
  for (const NetworkBatch& of : largest_batches(results)) {
    rows.emplace_back(of, bars_of(results, of));
    for (const Bar& bar : rows.back().second) largest = std::max(largest, bar.ratio.value_or(0.0));
  }
  if (rows.empty()) throw std::runtime_error("networks_plot: the results hold no steps");
  const double unit = kWidth / std::ceil(largest);
  const double bottom = kTop + kRow * static_cast<double>(rows.size());
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
      "height=\"{1:.0f}\" role=\"img\" aria-label=\"Ratios of training steps by network\">\n{2}{3}",
      kLeft + kWidth + 50, bottom + 28, kStyle, key(rows.front().second));
  for (int tick = 0; tick <= std::lround(std::ceil(largest)); ++tick) {
    text += fmt::format(
        "<line class=\"grid\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.0f}\" y2=\"{2:.0f}\"/>"
        "<text x=\"{0:.1f}\" y=\"{3:.0f}\" text-anchor=\"middle\">{4}</text>\n",
        kLeft + tick * unit, kTop - 6, bottom, bottom + 18, tick);
  }
  double top = kTop;
  for (const auto& [of, bars] : rows) {
    text += row(of, bars, top, unit);
    top += kRow;
  }
  return text + "</svg>\n";
}

}  // namespace octet::bench
