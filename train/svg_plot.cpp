#include <fmt/core.h>
#include <octet/train/svg_plot.h>

#include <algorithm>
#include <cmath>

namespace octet::detail {
namespace {

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
    const bool is_control = static_cast<unsigned char>(c) < ' ';
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

PlotAxis::PlotAxis(double low, double high, double from, double to, double ticks)
    : from_(from), to_(to) {
  // One value alone gets some room.
  const double span = high > low ? high - low : std::max(std::abs(low) * 0.1, 1e-3);
  step_ = step_for(span, ticks);
  low_ = std::floor(low / step_) * step_;
  high_ = std::ceil((low + span) / step_) * step_;
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

std::string svg_text(double x, double y, std::string_view text, std::string_view attributes) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" {}>{}</text>\n", x, y, attributes,
                     escaped_markup(text));
}

std::string svg_line(double x1, double y1, double x2, double y2, std::string_view attributes) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n", x1, y1,
                     x2, y2, attributes);
}

}  // namespace octet::detail
