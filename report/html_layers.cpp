#include <fmt/core.h>
#include <octet/core/plot.h>
#include <octet/core/text.h>
#include <octet/report/charts.h>
#include <octet/report/html_sections.h>
#include <octet/report/html_text.h>
#include <octet/report/png.h>

#include <algorithm>
#include <cmath>

namespace octet::detail {
namespace {

/// Layers whose histograms are drawn, those of the least SQNR first.
constexpr std::size_t kMostHistograms = 16;
/// Decibels from which on a layer has lost nothing to speak of: it gets no bar.
constexpr double kMostSqnrDrawn = 100.0;
/// The text of a missing number.
const Cell kNone{.text = "\xE2\x80\x93", .number = -1.0};

Cell sqnr_cell(const LayerFacts& layer) {
  if (!layer.sqnr_db) return kNone;
  if (std::isinf(*layer.sqnr_db)) return number_cell("exact", 1e9);
  return number_cell(fmt::format("{:.1f}", *layer.sqnr_db), *layer.sqnr_db);
}

Cell share_cell(double share) { return number_cell(percent_text(share), share); }

Cell unused_cell(const GridFacts& facts) {
  const std::size_t unused = facts.codes - facts.codes_used;
  return number_cell(fmt::format("{} of {}", unused, facts.codes), static_cast<double>(unused));
}

/// "17 (3.2x), 4 (2.9x)".
Cell widest_cell(const ChannelFacts& channels) {
  if (channels.widest.empty()) return {.text = kNone.text};
  std::string text;
  for (const WideChannel& one : channels.widest) {
    text +=
        fmt::format("{}{} ({:.1f}\xC3\x97)", text.empty() ? "" : ", ", one.channel, one.medians);
  }
  return {.text = text};
}

std::string results_table(const LayerReport& report) {
  Table table(fmt::format("Results of layers on {} test examples; SQNR in dB against the same "
                          "weights in float",
                          report.samples),
              {"Layer", "Type", "SQNR", "Clipped", "Values unused", "Dead channels",
               "Channels of few values", "Widest channels (\xC3\x97 median)"},
              /*sortable=*/true);
  for (const LayerFacts& layer : report.layers) {
    const ChannelFacts& channels = layer.result_channels;
    const auto part = [&](std::size_t count) {
      return number_cell(fmt::format("{} of {}", count, channels.channels),
                         static_cast<double>(count));
    };
    table.add({{layer.name},
               {layer.type},
               sqnr_cell(layer),
               layer.fixed_grid ? kNone : share_cell(layer.result.clipped_share()),
               unused_cell(layer.result),
               layer.weights ? part(channels.dead.size()) : kNone,
               part(channels.starved),
               widest_cell(channels)});
  }
  return table.html();
}

std::string weights_table(const LayerReport& report) {
  Table table("Weights of layers",
              {"Layer", "Weights", "Bits", "Scales", "Clipped", "Values unused", "Oscillating",
               "Widest channels (\xC3\x97 median)"},
              /*sortable=*/true);
  for (const LayerFacts& layer : report.layers) {
    if (!layer.weights) continue;
    const GridFacts& weights = *layer.weights;
    table.add({{layer.name},
               number_cell(count_text(weights.values), static_cast<double>(weights.values)),
               number_cell(fmt::format("{}", weights.bits), weights.bits),
               {layer.per_channel ? "per channel" : "one"},
               share_cell(weights.clipped_share()),
               unused_cell(weights),
               layer.oscillating ? share_cell(*layer.oscillating) : kNone,
               widest_cell(layer.weight_channels)});
  }
  return table.html();
}

std::string sensitivity_html(const LayerReport& report) {
  if (!report.quantized_accuracy) return "";
  const double in_float = *report.float_accuracy;
  const double quantized = *report.quantized_accuracy;
  std::string text = element("h3", "Sensitivity");
  text += element(
      "p",
      fmt::format("Without training, on {} test examples: {} in float, {} with all layers "
                  "quantized. What a layer loses alone, and what leaving it in float brings "
                  "back, in percentage points:",
                  report.sensitivity_samples, percent_text(in_float), percent_text(quantized)));
  BarChart chart{.title = "Sensitivity of layers",
                 .x_label = "percentage points",
                 .series = {"lost by it alone", "gained by float"},
                 .rows = {}};
  Table table("Accuracy without training",
              {"Layer", "Only this one quantized", "Lost", "Only this one in float", "Gained"},
              /*sortable=*/true);
  for (const LayerFacts& layer : report.layers) {
    if (!layer.sensitivity) continue;
    const double lost = 100.0 * (in_float - layer.sensitivity->only_this_quantized);
    const double gained = 100.0 * (layer.sensitivity->only_this_in_float - quantized);
    chart.rows.push_back({layer.name, {lost, gained}});
    table.add({{layer.name},
               share_cell(layer.sensitivity->only_this_quantized),
               number_cell(fmt::format("{:.2f}", lost), lost),
               share_cell(layer.sensitivity->only_this_in_float),
               number_cell(fmt::format("{:.2f}", gained), gained)});
  }
  return text + "<div class=\"charts\">\n" + bar_chart(chart) + "</div>\n" + table.html();
}

/// The layers in the order of their SQNR, the least first.
std::vector<const LayerFacts*> by_sqnr(const LayerReport& report) {
  std::vector<const LayerFacts*> result;
  for (const LayerFacts& layer : report.layers) result.push_back(&layer);
  std::ranges::stable_sort(result, {},
                           [](const LayerFacts* layer) { return layer->sqnr_db.value_or(1e9); });
  return result;
}

std::string histograms_html(const LayerReport& report) {
  std::string text = element("h3", "Values and their quantization");
  text += element("p",
                  "Bars are square roots of counts, so that rare values show. The lines below are "
                  "the quantized values; what lies in the shaded part is clipped.");
  std::vector<const LayerFacts*> layers = by_sqnr(report);
  if (layers.size() > kMostHistograms) {
    layers.resize(kMostHistograms);
    text += element("p", fmt::format("The {} layers of the least SQNR.", kMostHistograms),
                    "class=\"muted\"");
  }
  text += "<div class=\"charts small\">\n";
  for (const LayerFacts* layer : layers) {
    if (layer->weights) text += histogram_chart(layer->name + ", weights", *layer->weights);
    text += histogram_chart(layer->name + ", results", layer->result);
  }
  return text + "</div>\n";
}

std::string label_text(const Report& report, std::int32_t label) {
  return class_text(report, static_cast<std::size_t>(label));
}

std::string confusion_html(const Report& report) {
  if (report.confusion.empty()) return "";
  const std::size_t classes = report.confusion.size();
  std::vector<std::string> columns = {"Label"};
  std::uint64_t most = 1;
  for (std::size_t i = 0; i < classes; ++i) {
    columns.push_back("said " + class_text(report, i));
    for (std::size_t k = 0; k < classes; ++k) {
      if (i != k) most = std::max(most, report.confusion[i][k]);
    }
  }
  Table table("What the integers said of the examples of each class; mistakes are shaded", columns);
  for (std::size_t i = 0; i < classes; ++i) {
    std::vector<Cell> row = {{class_text(report, i)}};
    for (std::size_t k = 0; k < classes; ++k) {
      const std::uint64_t count = report.confusion[i][k];
      const double shade =
          i == k ? 0.0 : 0.45 * static_cast<double>(count) / static_cast<double>(most);
      row.push_back(
          {fmt::format("{}", count), static_cast<double>(count),
           fmt::format("class=\"heat\" style=\"background:rgba(var(--heat),{:.2f})\"", shade)});
    }
    table.add(std::move(row));
  }
  return element("h3", "Which classes are taken for which") + table.html();
}

std::string said(const char* who, const std::string& what,
                 const std::optional<double>& confidence) {
  return confidence ? fmt::format("{}: {} ({:.0f} %)", who, what, 100.0 * *confidence)
                    : fmt::format("{}: {}", who, what);
}

/// A list of examples, each with how it looks.
std::string examples_html(const Report& report, const std::vector<ShownExample>& examples) {
  std::string text = "<ul class=\"images\">\n";
  for (const ShownExample& one : examples) {
    const std::string title =
        fmt::format("Test example: {}, of class {}", one.name, label_text(report, one.label));
    text += "<li>";
    if (!one.view.png.empty()) {
      text +=
          fmt::format("<img alt=\"{}\"{} src=\"data:image/png;base64,{}\">", escaped_markup(title),
                      one.view.is_map ? " class=\"map\"" : "", base64(one.view.png));
    }
    if (!one.view.lines.empty()) text += example_plot(one.view, title);
    text += fmt::format(
        "{}, label {}<br>{}<br>{}</li>\n", escaped_markup(one.name),
        escaped_markup(label_text(report, one.label)),
        escaped_markup(said("float", label_text(report, one.in_float), one.float_confidence)),
        escaped_markup(
            said("integers", label_text(report, one.in_integers), one.integer_confidence)));
  }
  return text + "</ul>\n";
}

std::string confused_html(const Report& report) {
  if (report.confused.empty()) return "";
  std::string text = element("h3", "The commonest mistakes");
  text += element(
      "p", report.confused.size() < report.confused_pairs
               ? fmt::format("What the integers take for what most often, of {} pairs of classes, "
                             "with examples of each.",
                             report.confused_pairs)
               : "What the integers take for what, with examples of each.");
  text += "<div class=\"pairs\">\n";
  for (const ConfusedPair& pair : report.confused) {
    text += "<div>\n" +
            element("h4", fmt::format("{} taken for {}: {} {}", label_text(report, pair.label),
                                      label_text(report, pair.said), pair.count,
                                      pair.count == 1 ? "example" : "examples")) +
            examples_html(report, pair.examples) + "</div>\n";
  }
  return text + "</div>\n";
}

}  // namespace

std::string layers_html(const Report& report) {
  if (report.layers.layers.empty()) return "";
  BarChart chart{.title = "Signal to quantization noise of each layer's result",
                 .x_label = "SQNR in dB",
                 .series = {"SQNR"},
                 .rows = {}};
  for (const LayerFacts& layer : report.layers.layers) {
    // Inputs differ by roundings of floats: their bars would dwarf all others.
    if (layer.sqnr_db && *layer.sqnr_db < kMostSqnrDrawn)
      chart.rows.push_back({layer.name, {*layer.sqnr_db}});
  }
  std::string text = element("h3", "Layers") + "<div class=\"charts\">\n" + bar_chart(chart) +
                     "</div>\n" + results_table(report.layers) + weights_table(report.layers);
  return text + sensitivity_html(report.layers) + histograms_html(report.layers);
}

std::string classes_html(const Report& report) {
  std::string text = confusion_html(report) + confused_html(report);
  const auto has_classes = [](const Outcome& one) {
    return one.output.empty() && !one.mean_absolute_error;
  };
  if (!std::ranges::all_of(report.outcomes, has_classes)) return text;
  text += element("h3", "Examples that changed class");
  text += element("p", fmt::format("Float and integers class {} test examples differently{}",
                                   report.changed_examples,
                                   report.changed.size() < report.changed_examples
                                       ? fmt::format("; shown here: {}", report.changed.size())
                                       : "."));
  return report.changed.empty() ? text : text + examples_html(report, report.changed);
}

}  // namespace octet::detail
