#include <fmt/core.h>
#include <octet/compress/bit_search.h>
#include <octet/train/svg_plot.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace octet {
namespace {

using detail::escaped_markup;
using detail::PlotAxis;
using detail::svg_line;
using detail::svg_text;

constexpr double kWidth = 760.0;
constexpr double kHeight = 440.0;
constexpr double kLeft = 70.0;
constexpr double kRight = 736.0;
constexpr double kTop = 52.0;
constexpr double kBottom = 384.0;
constexpr const char* kPredicted = "#4c78a8";
constexpr const char* kMeasured = "#e4572e";
constexpr const char* kMuted = "#666666";
/// Accuracies further than this below the best would squeeze all others into a line.
constexpr double kMostPointsShown = 10.0;
/// A curve of more points is a line alone.
constexpr std::size_t kMostDots = 200;

/// Draws one search.
class Picture {
 public:
  explicit Picture(const BitSearch& search)
      : search_(search),
        in_points_(search.widest.accuracy.has_value()),
        kibibytes_(largest_bytes() >= 8.0 * 1024.0),
        x_(x_of(bytes_limits().first), x_of(bytes_limits().second), kLeft, kRight),
        y_(value_limits().first, value_limits().second, kBottom, kTop) {}

  std::string svg(const std::string& title) const {
    std::string text = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
        "width=\"{0:.0f}\" height=\"{1:.0f}\" font-family=\"sans-serif\" font-size=\"12\" "
        "fill=\"#222222\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
        kWidth, kHeight);
    text += svg_text(kLeft, 26, title, "font-size=\"15\"");
    text += grid();
    text += fmt::format(
        "<clipPath id=\"plot\"><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/></clipPath>\n"
        "<g clip-path=\"url(#plot)\">\n",
        kLeft - 6, kTop - 6, kRight - kLeft + 12, kBottom - kTop + 12);
    text += limits() + curve() + marks() + "</g>\n";
    return text + legend() + chosen_label() + "</svg>\n";
  }

 private:
  double x_of(double bytes) const { return kibibytes_ ? bytes / 1024.0 : bytes; }
  double y_of(const ModelScore& score) const {
    return in_points_ ? 100.0 * *score.accuracy : score.loss;
  }
  double x_at(const BitAssignment& one) const {
    return x_.at(x_of(static_cast<double>(one.bytes)));
  }

  double largest_bytes() const { return bytes_limits().second; }
  std::pair<double, double> bytes_limits() const {
    auto low = search_.chosen.bytes;
    auto high = search_.chosen.bytes;
    for (const auto* list : {&search_.curve, &search_.measured}) {
      for (const BitAssignment& one : *list) {
        low = std::min(low, one.bytes);
        high = std::max(high, one.bytes);
      }
    }
    return {static_cast<double>(low), static_cast<double>(high)};
  }

  /// The limits of all values that are drawn; accuracies far below the best and the chosen one are
  /// cut off.
  std::pair<double, double> value_limits() const {
    double low = std::numeric_limits<double>::infinity();
    double high = -low;
    const auto add = [&](const ModelScore& score) {
      low = std::min(low, y_of(score));
      high = std::max(high, y_of(score));
    };
    add(search_.in_float);
    add(search_.chosen.measured.value_or(search_.chosen.predicted));
    const double must_show = low;
    for (const BitAssignment& one : search_.curve) add(one.predicted);
    for (const BitAssignment& one : search_.measured) add(*one.measured);
    if (in_points_) low = std::max(low, std::min(must_show, high - kMostPointsShown));
    return {low, high};
  }

  std::string grid() const {
    std::string text;
    for (const double tick : x_.ticks()) {
      const double x = x_.at(tick);
      text += svg_line(x, kTop, x, kBottom, "stroke=\"#eeeeee\"");
      text += svg_text(x, kBottom + 18, x_.text(tick),
                       fmt::format("text-anchor=\"middle\" fill=\"{}\"", kMuted));
    }
    for (const double tick : y_.ticks()) {
      const double y = y_.at(tick);
      text += svg_line(kLeft, y, kRight, y, "stroke=\"#eeeeee\"");
      text += svg_text(kLeft - 10, y + 4, y_.text(tick),
                       fmt::format("text-anchor=\"end\" fill=\"{}\"", kMuted));
    }
    text += svg_text((kLeft + kRight) / 2, kBottom + 40,
                     kibibytes_ ? "flash of weights, biases and multipliers, KiB"
                                : "flash of weights, biases and multipliers, bytes",
                     "text-anchor=\"middle\"");
    const double middle = (kTop + kBottom) / 2;
    return text + svg_text(20, middle, in_points_ ? "accuracy on the samples, %" : "loss",
                           fmt::format("text-anchor=\"middle\" transform=\"rotate(-90 20 {:.1f})\"",
                                       middle));
  }

  /// The float model, and what was asked for.
  std::string limits() const {
    const double y = y_.at(y_of(search_.in_float));
    std::string text = svg_line(kLeft, y, kRight, y,
                                fmt::format("stroke=\"{}\" stroke-dasharray=\"2 3\"", kMuted));
    const std::string dashed = fmt::format("stroke=\"{}\" stroke-dasharray=\"6 4\"", kMeasured);
    if (search_.budget) {
      const double x = x_.at(x_of(static_cast<double>(*search_.budget)));
      text += svg_line(x, kTop, x, kBottom, dashed);
    }
    if (search_.most_drop) {
      const double least = y_.at(y_of(search_.in_float) - *search_.most_drop);
      text += svg_line(kLeft, least, kRight, least, dashed);
    }
    return text;
  }

  std::string tooltip(const BitAssignment& one, const ModelScore& score, const char* how) const {
    std::string bits;
    for (std::size_t i = 0; i < one.bits.size(); ++i) {
      bits += fmt::format("\n{}: {} bits", escaped_markup(search_.layers[i].name), one.bits[i]);
    }
    return fmt::format("<title>{} bytes, {} {}{}</title>", one.bytes, value_text(score), how, bits);
  }
  std::string value_text(const ModelScore& score) const {
    return in_points_ ? fmt::format("{:.2f} %", y_of(score)) : fmt::format("{:.4g}", score.loss);
  }

  std::string curve() const {
    std::string points;
    std::string dots;
    double before = y_.at(y_of(search_.curve.front().predicted));
    for (const BitAssignment& one : search_.curve) {
      const double x = x_at(one);
      const double y = y_.at(y_of(one.predicted));
      // A budget between two points buys the smaller one.
      points += fmt::format("{0:.1f},{1:.1f} {0:.1f},{2:.1f} ", x, before, y);
      before = y;
      if (search_.curve.size() > kMostDots) continue;
      dots += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.5\" fill=\"{}\">{}</circle>\n",
                          x, y, kPredicted, tooltip(one, one.predicted, "predicted"));
    }
    return fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\"/>\n", points,
                       kPredicted) +
           dots;
  }

  std::string marks() const {
    std::string text;
    // The chosen one last, on top of its neighbours.
    for (const bool wanted : {false, true}) {
      for (const BitAssignment& one : search_.measured) {
        const bool is_chosen = one.bits == search_.chosen.bits;
        if (is_chosen != wanted) continue;
        text += fmt::format(
            "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" fill=\"{}\" stroke=\"{}\" "
            "stroke-width=\"1.5\">{}</circle>\n",
            x_at(one), y_.at(y_of(*one.measured)), is_chosen ? 6 : 4,
            is_chosen ? kMeasured : "#ffffff", kMeasured, tooltip(one, *one.measured, "measured"));
      }
    }
    return text;
  }

  /// In the corner that a curve leaves free: below high accuracies, above low losses.
  std::string legend() const {
    const double x = kRight - 210;
    double y = in_points_ ? kBottom - 78 : kTop + 16;
    std::string text = fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"216\" height=\"{}\" fill=\"#ffffff\" "
        "fill-opacity=\"0.85\"/>\n",
        x - 10, y - 14, 84);
    const auto row = [&](const std::string& mark, const std::string& words) {
      text += mark + svg_text(x + 32, y + 4, words, "");
      y += 19;
    };
    const auto dot = [&](double r, const char* fill, const char* stroke) {
      return fmt::format(
          "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" fill=\"{}\" stroke=\"{}\"/>\n", x + 12, y,
          r, fill, stroke);
    };
    row(svg_line(x, y, x + 24, y, fmt::format("stroke=\"{}\"", kPredicted)) +
            dot(2.5, kPredicted, kPredicted),
        "predicted, layer by layer");
    row(dot(4, "#ffffff", kMeasured), "run for real");
    row(svg_line(x, y, x + 24, y, fmt::format("stroke=\"{}\" stroke-dasharray=\"6 4\"", kMeasured)),
        search_.budget ? fmt::format("budget: {} bytes", *search_.budget)
                       : fmt::format("drop of {} points", search_.most_drop.value_or(0.0)));
    row(svg_line(x, y, x + 24, y, fmt::format("stroke=\"{}\" stroke-dasharray=\"2 3\"", kMuted)),
        fmt::format("float: {}", value_text(search_.in_float)));
    return text;
  }

  std::string chosen_label() const {
    const BitAssignment& one = search_.chosen;
    const ModelScore& score = one.measured ? *one.measured : one.predicted;
    const std::string words = fmt::format("chosen: {} bytes, {}", one.bytes, value_text(score));
    return svg_text(kRight, 26, words, fmt::format("text-anchor=\"end\" fill=\"{}\"", kMeasured));
  }

  const BitSearch& search_;
  bool in_points_;
  bool kibibytes_;
  PlotAxis x_;
  PlotAxis y_;
};

}  // namespace

std::string bit_curve_svg(const BitSearch& search, const std::string& title) {
  return Picture(search).svg(title);
}

}  // namespace octet
