#include <fmt/core.h>
#include <octet/report/advice.h>
#include <octet/report/html_text.h>

#include <algorithm>

namespace octet {
namespace {

constexpr double kMostMedians = 8.0;
constexpr double kMostClipped = 0.01;
constexpr double kLeastCodesUsed = 0.25;
constexpr int kLeastBitsOfUnusedCodes = 6;
constexpr double kMostOscillating = 0.02;
constexpr double kLeastGain = 0.2;
constexpr double kDominantShare = 0.5;
constexpr double kSignificance = 0.05;

/// In percentage points; see Advice::gain.
std::optional<double> gain_of(const LayerReport& layers, const LayerFacts& layer) {
  if (!layer.sensitivity || !layers.quantized_accuracy) return std::nullopt;
  return 100.0 * (layer.sensitivity->only_this_in_float - *layers.quantized_accuracy);
}

/// The advice of `rule` on each layer, where it has some.
template <class Rule>
std::vector<Advice> for_each_layer(const Report& report, std::string_view name, Rule&& rule) {
  std::vector<Advice> result;
  for (const LayerFacts& layer : report.layers.layers) {
    std::optional<Advice> found = rule(layer);
    if (!found) continue;
    found->rule = name;
    found->layer = layer.name;
    found->gain = gain_of(report.layers, layer);
    result.push_back(std::move(*found));
  }
  return result;
}

}  // namespace

std::vector<Advice> advise_wide_channels(const Report& report) {
  return for_each_layer(report, "wide channels", [](const LayerFacts& layer) {
    const ChannelFacts& channels = layer.weight_channels;
    const bool fires = layer.weights && !layer.per_channel && !channels.widest.empty() &&
                       channels.widest.front().medians >= kMostMedians;
    if (!fires) return std::optional<Advice>();
    return std::optional(Advice{
        .evidence = fmt::format("{} of {} channels of the kernel span {:.0f} x the median or more; "
                                "channel {} spans {:.1f} x",
                                channels.wide, channels.channels, kMostMedians,
                                channels.widest.front().channel, channels.widest.front().medians),
        .action = "a scale per channel (QuantizeOptions::per_channel), or "
                  "cross_layer_equalization() before quantize_model()"});
  });
}

std::vector<Advice> advise_clipping(const Report& report) {
  return for_each_layer(report, "clipped values", [](const LayerFacts& layer) {
    const double result = layer.fixed_grid ? 0.0 : layer.result.clipped_share();
    const double weights = layer.weights ? layer.weights->clipped_share() : 0.0;
    if (std::max(result, weights) < kMostClipped) return std::optional<Advice>();
    const bool is_result = result >= kMostClipped;
    return std::optional(Advice{
        .evidence = fmt::format("{} of the {} lie outside the grid",
                                detail::percent_text(is_result ? result : weights),
                                is_result ? "results" : "weights"),
        .action = fmt::format("another range: QuantizeOptions::{}, min_max or a higher percentile, "
                              "or learned scales (Scales::lsq)",
                              is_result ? "activation_calibration" : "weight_calibration")});
  });
}

std::vector<Advice> advise_dead_channels(const Report& report) {
  return for_each_layer(report, "dead channels", [&](const LayerFacts& layer) {
    const ChannelFacts& channels = layer.result_channels;
    if (!layer.weights || channels.dead == 0) return std::optional<Advice>();
    return std::optional(Advice{
        .evidence = fmt::format("{} of {} channels gave one code on all {} samples", channels.dead,
                                channels.channels, report.layers.samples),
        .action = "remove them: a smaller layer costs less and computes the same; or train in "
                  "float with a lower rate, so that units do not die"});
  });
}

std::vector<Advice> advise_unused_codes(const Report& report) {
  return for_each_layer(report, "unused codes", [](const LayerFacts& layer) {
    const GridFacts& result = layer.result;
    const auto used = static_cast<double>(result.codes_used);
    const bool fires = !layer.fixed_grid && result.bits >= kLeastBitsOfUnusedCodes &&
                       // Fewer values than codes cannot use them.
                       result.values >= 4 * result.codes &&
                       used < kLeastCodesUsed * static_cast<double>(result.codes);
    if (!fires) return std::optional<Advice>();
    return std::optional(Advice{
        .evidence = fmt::format("results use {} of {} codes", result.codes_used, result.codes),
        .action = "a narrower range: QuantizeOptions::activation_calibration = Calibration::mse, "
                  "or percentile"});
  });
}

std::vector<Advice> advise_oscillation(const Report& report) {
  return for_each_layer(report, "oscillating weights", [](const LayerFacts& layer) {
    if (!layer.oscillating || *layer.oscillating < kMostOscillating) {
      return std::optional<Advice>();
    }
    return std::optional(
        Advice{.evidence = fmt::format("{} of the weights swing between two codes",
                                       detail::percent_text(*layer.oscillating)),
               .action = "QuantizeOptions::freeze_oscillations_above, or a learning rate that "
                         "falls to 0 (cosine_decay())"});
  });
}

std::vector<Advice> advise_sensitive_layer(const Report& report) {
  return for_each_layer(report, "sensitive layer", [&](const LayerFacts& layer) {
    const auto gain = gain_of(report.layers, layer);
    const double loss = 100.0 * (report.layers.float_accuracy.value_or(0.0) -
                                 report.layers.quantized_accuracy.value_or(0.0));
    if (!gain || *gain < kLeastGain || loss < kLeastGain || *gain < kDominantShare * loss) {
      return std::optional<Advice>();
    }
    return std::optional(
        Advice{.evidence = fmt::format("in float it alone brings {:.2f} of the {:.2f} points that "
                                       "quantization costs without training, on {} samples",
                                       *gain, loss, report.layers.sensitivity_samples),
               .action = layer.weights && layer.weights->bits < 8
                             ? "more bits for it: quantized(layer, {.weight_bits = 8})"
                             : "train with quantization in the loop, or leave it in float: "
                               "in_float(layer)"});
  });
}

std::vector<Advice> advise_significant_loss(const Report& report) {
  std::vector<Advice> result;
  if (report.outcomes.size() < 2) return result;
  const Outcome& in_float = report.outcomes.front();
  const Outcome& shipped = report.outcomes.back();
  const auto& test = shipped.against_float;
  if (!test || test->p >= kSignificance || test->only_first_right <= test->only_second_right) {
    return result;
  }
  result.push_back(
      {.rule = "significant loss",
       .layer = "",
       .evidence = fmt::format("float alone has {} examples right, the integers alone {}: p = "
                               "{:.2g}",
                               test->only_first_right, test->only_second_right, test->p),
       .action = "more epochs with quantization in the loop, starting from a rate that is a tenth "
                 "of the one in float and falls to 0",
       .gain = 100.0 * (in_float.accuracy.share() - shipped.accuracy.share())});
  return result;
}

std::vector<Advice> advice(const Report& report) {
  std::vector<Advice> all;
  for (const auto rule :
       {advise_significant_loss, advise_sensitive_layer, advise_wide_channels, advise_clipping,
        advise_unused_codes, advise_oscillation, advise_dead_channels}) {
    for (Advice& one : rule(report)) all.push_back(std::move(one));
  }
  std::ranges::stable_sort(all, std::ranges::greater(),
                           [](const Advice& one) { return one.gain.value_or(-1e9); });
  return all;
}

}  // namespace octet
