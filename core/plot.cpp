#include <fmt/core.h>
#include <octet/core/plot.h>

#include <algorithm>
#include <cmath>

namespace octet::detail {
namespace {

constexpr std::size_t kSeriesColors = 4;

/// `currentColor` and classes alone, no variables: programs other than browsers know those too.
constexpr std::string_view kPlotStyle = R"(
:root { color: #1b1f24; }
.s0 { color: #1f5fa8; } .s1 { color: #b8421f; } .s2 { color: #2c7a3f; } .s3 { color: #7a4fa3; }
svg { font: 12px system-ui, sans-serif; }
svg text { fill: currentColor; }
svg .muted-text { fill: #57606a; }
svg .title { font-size: 15px; }
.middle { text-anchor: middle; } .end { text-anchor: end; }
.paper { fill: #ffffff; }
.grid-line { stroke: #e6eaef; }
.divider { stroke: #57606a; stroke-dasharray: 4 4; }
.line { fill: none; stroke: currentColor; stroke-width: 2; }
.dash { stroke-dasharray: 6 4; }
.dot, .bar { fill: currentColor; }
.ring { fill: #ffffff; stroke: currentColor; stroke-width: 1.5; }
@media (prefers-color-scheme: dark) {
  :root { color: #e6edf3; }
  .s0 { color: #6cb0ff; } .s1 { color: #ff9d7a; } .s2 { color: #74d08a; } .s3 { color: #c9a3f2; }
  svg .muted-text { fill: #9da7b3; }
  .paper, .ring { fill: #14181d; }
  .grid-line { stroke: #2a323b; }
  .divider { stroke: #9da7b3; }
}
)";

/// 1, 2 or 5 times a power of ten, so that `span` has about `ticks` of it.
double step_for(double span, double ticks) {
  const double rough = span / ticks;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  const double digit = rough / power;
  return power * (digit <= 1.0 ? 1.0 : digit <= 2.0 ? 2.0 : digit <= 5.0 ? 5.0 : 10.0);
}

}  // namespace

std::string escaped_markup(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const bool is_control = static_cast<unsigned char>(c) < ' ' && c != '\n';
    if (c == '&') {
      result += "&amp;";
    } else if (c == '<') {
      result += "&lt;";
    } else if (c == '>') {
      result += "&gt;";
    } else if (c == '"') {
      result += "&quot;";
    } else {
      result += is_control ? ' ' : c;
    }
  }
  return result;
}

void PlotRange::add(double value) {
  if (!std::isfinite(value)) return;
  low = std::min(low, value);
  high = std::max(high, value);
}

PlotAxis::PlotAxis(const PlotRange& range, double from, double to, double ticks, double least_step)
    : from_(from), to_(to) {
  // One value alone gets some room.
  const double span =
      range.high > range.low ? range.high - range.low : std::max(std::abs(range.low) * 0.1, 1e-3);
  step_ = std::max(step_for(span, ticks), least_step);
  low_ = std::floor(range.low / step_) * step_;
  high_ = std::ceil((range.low + span) / step_) * step_;
}

std::vector<double> PlotAxis::ticks() const {
  std::vector<double> result;
  const auto count = static_cast<int>(std::lround((high_ - low_) / step_));
  for (int i = 0; i <= count; ++i) result.push_back(low_ + i * step_);
  return result;
}

std::string PlotAxis::text(double tick) const {
  const int digits = std::max(0, static_cast<int>(std::ceil(-std::log10(step_) - 1e-9)));
  return fmt::format("{:.{}f}", tick, digits);
}

std::string series_class(std::size_t series) { return fmt::format("s{}", series % kSeriesColors); }

std::string_view plot_style() { return kPlotStyle; }

void Plot::text(double x, double y, std::string_view text, std::string_view classes) {
  marks_ += fmt::format("<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", classes, x, y,
                        escaped_markup(text));
}

void Plot::line(double x1, double y1, double x2, double y2, std::string_view classes) {
  marks_ +=
      fmt::format("<line class=\"{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n",
                  classes, x1, y1, x2, y2);
}

void Plot::rect(double x, double y, double width, double height, std::string_view classes,
                std::string_view tooltip) {
  marks_ +=
      fmt::format("<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"",
                  classes, x, y, width, height);
  closed("rect", tooltip);
}

void Plot::circle(double x, double y, double radius, std::string_view classes,
                  std::string_view tooltip) {
  marks_ += fmt::format("<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"", classes, x, y,
                        radius);
  closed("circle", tooltip);
}

void Plot::closed(std::string_view name, std::string_view tooltip) {
  marks_ += tooltip.empty()
                ? "/>\n"
                : fmt::format("><title>{}</title></{}>\n", escaped_markup(tooltip), name);
}

void Plot::polyline(const PlotPoints& points, std::string_view classes) {
  marks_ += fmt::format("<polyline class=\"{}\" points=\"", classes);
  for (const auto& [x, y] : points) marks_ += fmt::format("{:.1f},{:.1f} ", x, y);
  marks_ += "\"/>\n";
}

void Plot::x_axis(const PlotArea& area, const PlotAxis& axis, std::string_view label) {
  for (const double tick : axis.ticks()) {
    const double x = axis.at(tick);
    line(x, area.top, x, area.bottom, "grid-line");
    text(x, area.bottom + 16, axis.text(tick), "muted-text middle");
  }
  text(area.center(), area.bottom + 34, label, "muted-text middle");
}

void Plot::y_axis(const PlotArea& area, const PlotAxis& axis) {
  for (const double tick : axis.ticks()) {
    const double y = axis.at(tick);
    line(area.left, y, area.right, y, "grid-line");
    text(area.left - 6, y + 4, axis.text(tick), "muted-text end");
  }
}

void Plot::series(const PlotAxis& x, const PlotAxis& y, const PlotPoints& points,
                  std::string_view classes, std::string_view name) {
  PlotPoints pixels;
  for (const auto& [px, py] : points) {
    if (std::isfinite(py)) pixels.emplace_back(x.at(px), y.at(py));
  }
  polyline(pixels, fmt::format("line {}", classes));
  for (const auto& [px, py] : points) {
    if (!std::isfinite(py)) continue;
    circle(x.at(px), y.at(py), 3.0, fmt::format("dot {}", classes),
           fmt::format("{}: {:.5g}", name, py));
  }
}

void Plot::legend(const std::vector<std::string>& names, double left, double y) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    rect(left, y - 9, 10, 10, "bar " + series_class(i));
    text(left + 14, y, names[i]);
    left += 26.0 + 6.6 * static_cast<double>(names[i].size());
  }
}

std::string Plot::file(std::string_view title) const {
  const auto attributes = fmt::format(
      "xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0f}\" height=\"{:.0f}\" ", width_, height_);
  return svg(title, attributes,
             fmt::format("<style>{}</style>\n<rect class=\"paper\" width=\"100%\" "
                         "height=\"100%\"/>\n",
                         kPlotStyle));
}

std::string Plot::svg(std::string_view title, std::string_view attributes,
                      std::string_view first) const {
  return fmt::format(
      "<svg {}role=\"img\" aria-label=\"{}\" viewBox=\"0 0 {:.0f} {:.0f}\">\n"
      "<title>{}</title>\n{}{}</svg>\n",
      attributes, escaped_markup(title), width_, height_, escaped_markup(title), first, marks_);
}

}  // namespace octet::detail
