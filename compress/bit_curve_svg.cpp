#include <fmt/core.h>
#include <octet/compress/bit_search.h>
#include <octet/core/plot.h>

#include <algorithm>

namespace octet {
namespace {

using namespace detail;

constexpr PlotArea kCurveArea{.left = 56.0, .right = 736.0, .top = 78.0, .bottom = 390.0};
/// Accuracies further than this below the best would squeeze all others into a line.
constexpr double kMostPointsShown = 10.0;
/// A curve of more points is a line alone.
constexpr std::size_t kMostDots = 200;

double kibibytes(std::int64_t bytes) { return static_cast<double>(bytes) / 1024.0; }

PlotRange sizes(const BitSearch& search) {
  PlotRange range;
  range.add(kibibytes(search.chosen.bytes));
  for (const BitAssignment& one : search.curve) range.add(kibibytes(one.bytes));
  for (const BitAssignment& one : search.measured) range.add(kibibytes(one.bytes));
  return range;
}

/// Draws one search.
class BitCurve {
 public:
  explicit BitCurve(const BitSearch& search)
      : search_(search),
        in_points_(search.widest.accuracy.has_value()),
        x_(sizes(search), kCurveArea.left, kCurveArea.right),
        y_(values(), kCurveArea.bottom, kCurveArea.top) {}

  std::string svg(const std::string& title) {
    plot_.text(kCurveArea.left, 20, title, "title");
    plot_.legend({"predicted, layer by layer", "run for real",
                  search_.budget ? fmt::format("budget: {} bytes", *search_.budget)
                                 : fmt::format("drop of {} points", search_.most_drop.value_or(0)),
                  "float: " + text_of(search_.in_float)},
                 kCurveArea.left, 42);
    const ModelScore& score = score_of(search_.chosen);
    plot_.text(kCurveArea.right, 20,
               fmt::format("chosen: {} bytes, {}", search_.chosen.bytes, text_of(score)), "end s1");
    plot_.text(8, 66, in_points_ ? "accuracy on the samples, %" : "loss", "muted-text");
    plot_.y_axis(kCurveArea, y_);
    plot_.x_axis(kCurveArea, x_, "flash of weights, biases and multipliers, KiB");
    draw_limits();
    draw_curve();
    for (const BitAssignment& one : search_.measured) {
      if (one.bits != search_.chosen.bits) mark(one, *one.measured, 4.0, "ring s1", "measured");
    }
    // On top of its neighbours.
    mark(search_.chosen, score, 6.0, "dot s1", search_.chosen.measured ? "measured" : "predicted");
    return plot_.file(title);
  }

 private:
  double y_of(const ModelScore& score) const {
    return in_points_ ? 100.0 * *score.accuracy : score.loss;
  }
  std::string text_of(const ModelScore& score) const {
    return in_points_ ? fmt::format("{:.2f} %", y_of(score)) : fmt::format("{:.4g}", score.loss);
  }
  static const ModelScore& score_of(const BitAssignment& one) {
    return one.measured ? *one.measured : one.predicted;
  }

  /// All values that are drawn: accuracies far below the best and the chosen one are not.
  PlotRange values() const {
    PlotRange range;
    range.add(y_of(search_.in_float));
    range.add(y_of(score_of(search_.chosen)));
    const double must_show = range.low;
    for (const BitAssignment& one : search_.curve) range.add(y_of(one.predicted));
    for (const BitAssignment& one : search_.measured) range.add(y_of(*one.measured));
    if (in_points_) {
      range.low = std::max(range.low, std::min(must_show, range.high - kMostPointsShown));
    }
    return range;
  }

  /// The float model, and what was asked for.
  void draw_limits() {
    const auto horizontal = [&](double value, const char* classes) {
      if (!y_.contains(value)) return;
      plot_.line(kCurveArea.left, y_.at(value), kCurveArea.right, y_.at(value), classes);
    };
    horizontal(y_of(search_.in_float), "line dash s3");
    if (search_.most_drop) {
      horizontal(y_of(search_.in_float) - *search_.most_drop, "line dash s2");
    }
    if (search_.budget && x_.contains(kibibytes(*search_.budget))) {
      const double x = x_.at(kibibytes(*search_.budget));
      plot_.line(x, kCurveArea.top, x, kCurveArea.bottom, "line dash s2");
    }
  }

  void draw_curve() {
    PlotPoints pixels;
    for (const BitAssignment& one : search_.curve) {
      const double value = y_of(one.predicted);
      if (!y_.contains(value)) continue;
      const double x = x_.at(kibibytes(one.bytes));
      // A budget between two points buys the smaller one; a curve that is cut off comes from below.
      if (!pixels.empty()) {
        pixels.emplace_back(x, pixels.back().second);
      } else if (&one != &search_.curve.front()) {
        pixels.emplace_back(x, kCurveArea.bottom);
      }
      pixels.emplace_back(x, y_.at(value));
    }
    plot_.polyline(pixels, "line s0");
    if (search_.curve.size() > kMostDots) return;
    for (const BitAssignment& one : search_.curve) {
      mark(one, one.predicted, 2.5, "dot s0", "predicted");
    }
  }

  void mark(const BitAssignment& one, const ModelScore& score, double radius, const char* classes,
            const char* how) {
    if (!y_.contains(y_of(score))) return;
    std::string text = fmt::format("{} bytes, {} {}", one.bytes, text_of(score), how);
    for (std::size_t i = 0; i < one.bits.size(); ++i) {
      text += fmt::format("\n{}: {} bits", search_.layers[i].name, one.bits[i]);
    }
    plot_.circle(x_.at(kibibytes(one.bytes)), y_.at(y_of(score)), radius, classes, text);
  }

  const BitSearch& search_;
  bool in_points_;
  PlotAxis x_;
  PlotAxis y_;
  Plot plot_{760.0, 440.0};
};

}  // namespace

std::string bit_curve_svg(const BitSearch& search, const std::string& title) {
  return BitCurve(search).svg(title);
}

}  // namespace octet
