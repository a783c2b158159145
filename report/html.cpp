#include <fmt/format.h>
#include <octet/core/file.h>
#include <octet/core/plot.h>
#include <octet/core/text.h>
#include <octet/report/advice.h>
#include <octet/report/charts.h>
#include <octet/report/html_sections.h>
#include <octet/report/html_text.h>
#include <octet/report/png.h>
#include <octet/report/report.h>
#include <octet/report/verdict.h>
#include <octet/train/run/run_outputs.h>
#include <octet/train/run/sha256.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "page_texts.h"

namespace octet {
namespace {

using namespace detail;

/// Layers that have a small chart in each part.
constexpr std::size_t kMostLayerCharts = 24;

/// The source by which a content security policy admits a script or style, and nothing else.
std::string policy_source(std::string_view text) {
  const std::string digest = sha256(text);
  std::string bytes;
  for (std::size_t i = 0; i < digest.size(); i += 2) {
    unsigned value = 0;
    std::from_chars(digest.data() + i, digest.data() + i + 2, value, 16);
    bytes += static_cast<char>(static_cast<unsigned char>(value));
  }
  return fmt::format("'sha256-{}'", base64(bytes));
}

std::string head(const Report& report) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n{}\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; "
      "style-src 'unsafe-inline'; script-src {}\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<link rel=\"icon\" "
      "href=\"data:,\">\n<title>{}</title>\n<style>{}{}</style>\n</head>\n<body>\n",
      kReportMark, policy_source(kPageScript), escaped_markup(report.title), plot_style(),
      kPageStyle);
}

std::string paired_text(const std::optional<PairedTest>& test) {
  if (!test) return "\xE2\x80\x93";
  return fmt::format("{} / {}, p = {:.3g}", test->only_first_right, test->only_second_right,
                     test->p);
}

std::string outcomes_html(const Report& report) {
  const auto has_error = [](const Outcome& one) { return one.mean_absolute_error.has_value(); };
  const bool any_error = std::ranges::any_of(report.outcomes, has_error);
  Table table((any_error ? "Accuracy or mean absolute error on " : "Accuracy on ") + report.data,
              {"Network", any_error ? "Accuracy or error" : "Accuracy", "95 % interval (Wilson)",
               "Right", "Only float right / only this one, McNemar"});
  const std::string none = "\xE2\x80\x93";
  for (const Outcome& one : report.outcomes) {
    const std::string name = one.output.empty() ? one.name : one.output + ": " + one.name;
    if (has_error(one)) {
      const double error = *one.mean_absolute_error;
      table.add({{name}, number_cell(fmt::format("{:.6g}", error), error), {none}, {none}, {none}});
      continue;
    }
    const Proportion& share = one.accuracy;
    table.add({{name},
               number_cell(percent_text(share.share()), share.share()),
               {fmt::format("{} to {}", percent_text(share.low), percent_text(share.high))},
               number_cell(fmt::format("{} of {}", share.count, share.total),
                           static_cast<double>(share.count)),
               {paired_text(one.against_float)}});
  }
  return table.html();
}

std::string scores_html(const Report& report) {
  if (report.scores.empty()) return "";
  Table table("More scores on " + report.data, {"Score", "Float", "Integers"});
  const auto cell = [](double value) { return number_cell(fmt::format("{:.4g}", value), value); };
  for (const NamedScore& one : report.scores) {
    table.add({{one.output.empty() ? one.name : one.output + ": " + one.name},
               cell(one.in_float),
               cell(one.integer)});
  }
  return table.html();
}

std::string costs_html(const Report& report) {
  Table table("What it needs", {"", "Float", "Integers"});
  const Costs& costs = report.costs;
  const auto cell = [](std::uint64_t count) {
    return number_cell(count_text(count), static_cast<double>(count));
  };
  table.add({{"Bytes of the .tflite file"}, cell(costs.float_bytes), cell(costs.integer_bytes)});
  table.add({{"RAM: bytes of the arena"}, {""}, cell(costs.arena_bytes)});
  table.add(
      {{"Multiply-adds of a sample"}, {""}, cell(static_cast<std::uint64_t>(costs.multiply_adds))});
  std::string text = table.html();
  text += element("p", fmt::format("Rounding mode: {}. Byte-exact on: {}.", report.contract,
                                   fmt::join(report.targets, ", ")));
  for (const std::string& warning : report.warnings) text += element("p", "Warning: " + warning);
  return text;
}

/// Points of one number over all epochs, counted from 1 through the phases.
template <class Value>
ChartSeries series_of(const History& history, std::string name, Value&& value) {
  ChartSeries series{std::move(name), {}};
  for (std::size_t i = 0; i < history.size(); ++i) {
    const std::optional<double> found = value(history[i]);
    if (found) series.points.emplace_back(static_cast<double>(i + 1), *found);
  }
  return series;
}

/// Leaves out series without points.
LineChart epochs_chart(const Report& report, std::string title, std::string y_label,
                       std::vector<ChartSeries> series) {
  LineChart chart{std::move(title), "epoch", std::move(y_label), {}, {}, false};
  for (ChartSeries& one : series) {
    if (!one.points.empty()) chart.series.push_back(std::move(one));
  }
  for (std::size_t i = 1; i < report.history.size(); ++i) {
    if (report.history[i].phase == report.history[i - 1].phase) continue;
    chart.phases.emplace_back(static_cast<double>(i) + 0.5, report.history[i].phase);
  }
  return chart;
}

/// Charts of every output of several, from the metrics NAME_loss and so on of the records.
std::string output_charts(const Report& report) {
  std::string text;
  std::string before;
  for (const Outcome& one : report.outcomes) {
    if (one.output == before) continue;
    before = one.output;
    const auto series = [&](const std::string& name, const std::string& end, double unit) {
      return series_of(report.history, name, [&](const EpochRecord& record) {
        const std::optional<double> value = find_metric(record, one.output + end);
        return value ? std::optional(unit * *value) : std::nullopt;
      });
    };
    text += line_chart(epochs_chart(report, one.output + ": loss", "loss",
                                    {series(report.epochs_scored_on, "_loss", 1.0)}));
    text += line_chart(epochs_chart(report, one.output + ": accuracy", "accuracy in %",
                                    {series(report.epochs_scored_on, "_accuracy", 100.0),
                                     series("integers", "_integer_accuracy", 100.0)}));
  }
  return text;
}

std::string curves_html(const Report& report) {
  const History& history = report.history;
  const auto share = [](const std::optional<double>& value) {
    return value ? std::optional(100.0 * *value) : std::nullopt;
  };
  using Record = const EpochRecord&;
  return "<div class=\"charts\">\n" +
         line_chart(epochs_chart(
             report, "Loss", "loss",
             {series_of(history, "training", [](Record r) { return std::optional(r.train_loss); }),
              series_of(history, report.epochs_scored_on,
                        [](Record r) { return find_metric(r, "test_loss"); })})) +
         line_chart(epochs_chart(
             report, "Accuracy", "accuracy in %",
             {series_of(history, "training", [&](Record r) { return share(r.train_accuracy); }),
              series_of(history, report.epochs_scored_on,
                        [&](Record r) { return share(r.test_accuracy); }),
              series_of(history, "integers",
                        [&](Record r) { return share(r.integer_accuracy); })})) +
         output_charts(report) + "</div>\n";
}

/// The layers that records are of, each once.
template <class Record>
std::vector<std::string> layers_of(const std::vector<Record>& records) {
  std::vector<std::string> layers;
  for (const Record& one : records) {
    if (std::ranges::find(layers, one.layer) == layers.end()) layers.push_back(one.layer);
  }
  return layers;
}

std::string ranges_html(const Report& report) {
  std::vector<std::string> layers = layers_of(report.ranges);
  if (layers.empty()) return "";
  std::string text = element("h3", "Ranges of results");
  text += element(
      "p",
      "The range of real values that is quantized, after calibration (0) and after each epoch.");
  text += "<div class=\"charts small\">\n";
  layers.resize(std::min(layers.size(), kMostLayerCharts));
  for (const std::string& layer : layers) {
    LineChart chart{layer, "epoch", "range", {{"lowest", {}}, {"highest", {}}}, {}, true};
    double moment = -1.0;
    for (const RangeRecord& one : report.ranges) {
      if (one.layer != layer) continue;
      moment = one.moment == "calibrated" ? 0.0 : std::max(moment + 1.0, 1.0);
      chart.series[0].points.emplace_back(moment, one.min);
      chart.series[1].points.emplace_back(moment, one.max);
    }
    text += line_chart(chart);
  }
  return text + "</div>\n";
}

std::string oscillations_html(const Report& report) {
  if (report.oscillations.empty()) return "";
  Table table("Weights that oscillate between two values more often than once in 200 steps",
              {"Layer", "After", "Oscillating", "Frozen"}, /*sortable=*/true);
  for (const OscillationRecord& one : report.oscillations) {
    table.add({{one.layer},
               {one.moment},
               number_cell(percent_text(one.share), one.share),
               number_cell(percent_text(one.frozen), one.frozen)});
  }
  return element("h3", "Oscillating weights") + table.html();
}

/// The mean and the largest angle of one product over the steps.
std::pair<Cell, Cell> angle_cells(const PlotPoints& points) {
  const Cell none = number_cell("\xE2\x80\x93", -1.0);
  if (points.empty()) return {none, none};
  double sum = 0.0;
  double most = 0.0;
  for (const auto& [step, degrees] : points) {
    sum += degrees;
    most = std::max(most, degrees);
  }
  const auto cell = [](double degrees) {
    return number_cell(fmt::format("{:.2f}", degrees), degrees);
  };
  return {cell(sum / static_cast<double>(points.size())), cell(most)};
}

std::string gradient_angles_html(const Report& report) {
  if (report.gradient_angles.empty()) return "";
  std::string charts;
  Table table("Angles in degrees over these steps",
              {"Layer", "Kernel, mean", "Kernel, largest", "Input, mean", "Input, largest"},
              /*sortable=*/true);
  std::size_t drawn = 0;
  for (const std::string& layer : layers_of(report.gradient_angles)) {
    LineChart chart{layer, "step", "degrees", {{"kernel", {}}, {"input", {}}}, {}, true};
    for (const GradientAngle& one : report.gradient_angles) {
      if (one.layer != layer) continue;
      const auto step = static_cast<double>(one.step);
      if (one.kernel) chart.series[0].points.emplace_back(step, *one.kernel);
      if (one.input) chart.series[1].points.emplace_back(step, *one.input);
    }
    const auto [kernel_mean, kernel_most] = angle_cells(chart.series[0].points);
    const auto [input_mean, input_most] = angle_cells(chart.series[1].points);
    table.add({{layer}, kernel_mean, kernel_most, input_mean, input_most});
    std::erase_if(chart.series, [](const ChartSeries& one) { return one.points.empty(); });
    if (drawn++ < kMostLayerCharts) charts += line_chart(chart);
  }
  return element("h3", "Angles between int8 and float gradients") +
         element("p",
                 "Degrees between the gradient that a layer computed on int8 and the one of "
                 "products of floats, for its kernel and its input, in steps that are spread over "
                 "quantized training.") +
         "<div class=\"charts small\">\n" + charts + "</div>\n" + table.html();
}

std::string history_table(const Report& report) {
  std::string scored = report.epochs_scored_on + " accuracy";
  scored[0] = static_cast<char>(scored[0] - 'a' + 'A');
  Table table("Epochs",
              {"Phase", "Epoch", "Rate", "Loss", "Training accuracy", scored, "Integers"});
  const auto share = [](const std::optional<double>& value) {
    return value ? number_cell(percent_text(*value), *value) : number_cell("\xE2\x80\x93", -1.0);
  };
  for (const EpochRecord& one : report.history) {
    table.add({{one.phase},
               number_cell(fmt::format("{}", one.epoch), one.epoch),
               number_cell(fmt::format("{:.3g}", one.learning_rate),
                           static_cast<double>(one.learning_rate)),
               number_cell(fmt::format("{:.4f}", one.train_loss), one.train_loss),
               share(one.train_accuracy),
               share(one.test_accuracy),
               share(one.integer_accuracy)});
  }
  return table.html();
}

std::string training_html(const Report& report) {
  if (report.history.empty()) return element("p", "No training was recorded.");
  return curves_html(report) + history_table(report) + ranges_html(report) +
         oscillations_html(report) + gradient_angles_html(report);
}

std::string advice_html(const Report& report) {
  const std::vector<Advice> all = advice(report);
  if (all.empty()) return element("p", "No rule found anything to improve.");
  std::string text = "<ol class=\"advice\">\n";
  for (const Advice& one : all) {
    const std::string where = one.layer.empty() ? "the network" : "layer " + one.layer;
    text +=
        fmt::format("<li><strong>{}: {}.</strong> {}. What to do: {}; {}.</li>\n",
                    escaped_markup(where), escaped_markup(one.rule), escaped_markup(one.evidence),
                    escaped_markup(one.action), escaped_markup(one.promise));
  }
  return text + "</ol>\n";
}

std::string facts_table(const std::string& caption,
                        const std::vector<std::pair<std::string, std::string>>& facts) {
  if (facts.empty()) return "";
  Table table(caption, {"Name", "Value"});
  for (const auto& [name, value] : facts) table.add({{name}, {value, {}, "class=\"long\""}});
  return table.html();
}

std::string repeat_html(const Report& report) {
  std::string text;
  if (!report.command.empty()) text += element("pre", report.command);
  return text + facts_table("What decides the result", report.facts) +
         facts_table("SHA-256", report.hashes);
}

/// The verdict, before any number.
std::string verdict_html(const Report& report) {
  const Verdict verdict = judge(report);
  std::string text = "<section aria-labelledby=\"verdict\">\n" +
                     element("h2", to_string(verdict.decision), "id=\"verdict\"");
  for (const std::string& reason : verdict.reasons) text += element("p", reason);
  if (!verdict.next.empty()) text += element("p", "Next:") + element("pre", verdict.next);
  return text + "</section>\n";
}

std::string section(const char* id, const char* title, const std::string& body) {
  return fmt::format("<section aria-labelledby=\"{0}\">\n<h2 id=\"{0}\">{1}</h2>\n{2}</section>\n",
                     id, title, body);
}

}  // namespace

std::string report_html(const Report& report) {
  std::string missing;
  for (const std::string& one : report.missing) missing += element("p", one, "class=\"muted\"");
  return head(report) + element("h1", report.title) +
         "<nav aria-label=\"Parts\"><ul><li><a href=\"#verdict\">Verdict</a></li>"
         "<li><a href=\"#outcome\">What came out</a></li>"
         "<li><a href=\"#training\">How it went</a></li><li><a href=\"#layers\">Where it hurts</a>"
         "</li><li><a href=\"#advice\">What to do</a></li><li><a href=\"#repeat\">How to repeat it"
         "</a></li></ul></nav>\n<main>\n" +
         verdict_html(report) +
         section("outcome", "What came out",
                 outcomes_html(report) + scores_html(report) + costs_html(report)) +
         section("training", "How it went", training_html(report)) +
         section("layers", "Where it hurts", layers_html(report) + missing + classes_html(report)) +
         section("advice", "What to do", advice_html(report)) +
         section("repeat", "How to repeat it", repeat_html(report)) +
         fmt::format("</main>\n<script>{}</script>\n</body>\n</html>\n", kPageScript);
}

void write_report(const std::filesystem::path& path, const Report& report) {
  write_file_atomic(path, report_html(report));
}

}  // namespace octet
