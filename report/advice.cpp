#include <fmt/format.h>
#include <octet/core/text.h>
#include <octet/report/advice.h>

#include <algorithm>

namespace octet {
namespace {

constexpr double kMostOscillating = 0.02;
/// What a remedy has to bring more than a cheaper one that was found before it, in points.
constexpr double kWorthItsCost = 0.5;
constexpr std::size_t kMostChannelsNamed = 12;

std::string channels_text(const std::vector<std::size_t>& channels) {
  const std::size_t named = std::min(channels.size(), kMostChannelsNamed);
  return fmt::format("{}{}",
                     fmt::join(channels.begin(), channels.begin() + std::ptrdiff_t(named), ", "),
                     named < channels.size() ? ", ..." : "");
}

/// Whether less is right than without training, in the outcome before, at any output.
bool harmed_by_training(const Report& report) {
  const auto& all = report.outcomes;
  return std::ranges::any_of(shipped_outcomes(all), [&](std::size_t i) {
    return i > 1 && all[i - 2].output == all[i].output &&
           all[i].accuracy.count < all[i - 1].accuracy.count;
  });
}

/// The paired test of the first output at which the integers are worse than float.
std::optional<PairedTest> significant_loss(const Report& report) {
  for (const std::size_t i : shipped_outcomes(report.outcomes)) {
    const auto& test = report.outcomes[i].against_float;
    if (test && test->p < kSignificance && test->only_first_right > test->only_second_right) {
      return test;
    }
  }
  return std::nullopt;
}

/// Whether the epochs of the last phase, of which there are several, were of one rate.
bool keeps_its_rate(const History& history) {
  if (history.size() < 2 || history[history.size() - 2].phase != history.back().phase) return false;
  return history[history.size() - 2].learning_rate <= history.back().learning_rate;
}

}  // namespace

std::vector<std::size_t> shipped_outcomes(const std::vector<Outcome>& all) {
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i + 1 == all.size() || all[i + 1].output != all[i].output) result.push_back(i);
  }
  return result;
}

bool loses_significantly(const Report& report) { return significant_loss(report).has_value(); }

std::vector<Advice> advise_tried_remedies(const Report& report) {
  std::vector<Advice> result;
  const LayerReport& layers = report.layers;
  if (!loses_significantly(report)) return result;
  for (const Trial& trial : layers.trials) {
    const PairedTest& test = trial.against_quantized;
    const double gain = 100.0 * (trial.accuracy - trial.accuracy_without);
    if (test.p >= kSignificance || test.only_second_right <= test.only_first_right || gain <= 0.0) {
      continue;
    }
    Advice advice{
        .rule = trial.rule,
        .layer = trial.layer,
        .evidence = trial.evidence,
        .action = trial.action,
        .promise = fmt::format("without training that gives {} instead of {} on {} "
                               "training examples",
                               percent_text(trial.accuracy), percent_text(trial.accuracy_without),
                               layers.trial_samples),
        .gain = gain};
    // Keeps the best of several remedies for one symptom; what was found first costs least.
    const auto same = std::ranges::find_if(result, [&](const Advice& other) {
      return other.rule == advice.rule && other.layer == advice.layer;
    });
    if (same == result.end()) {
      result.push_back(std::move(advice));
    } else if (*same->gain + kWorthItsCost < gain) {
      *same = std::move(advice);
    }
  }
  return result;
}

std::vector<Advice> advise_dead_channels(const Report& report) {
  std::vector<Advice> result;
  for (const LayerFacts& layer : report.layers.layers) {
    const std::vector<std::size_t>& dead = layer.result_channels.dead;
    if (!layer.weights || !layer.separable || dead.empty()) continue;
    result.push_back(
        {.rule = "dead channels",
         .layer = layer.name,
         .evidence = fmt::format("{} of {} channels have one value in float too, on all {} "
                                 "samples: {}",
                                 dead.size(), layer.result_channels.channels, report.layers.samples,
                                 channels_text(dead)),
         .action = fmt::format("build the layer with {} units: copy the weights of the others, and "
                               "of the next kernel the rows that read them; where the value is "
                               "not 0, its product with the rows left out joins the next bias",
                               layer.result_channels.channels - dead.size()),
         .promise = "the file is smaller and computes the same"});
  }
  return result;
}

std::vector<Advice> advise_constant_units(const Report& report) {
  std::vector<Advice> result;
  for (const PrunedUnits& layer : report.constant_units) {
    result.push_back(
        {.rule = "constant units",
         .layer = layer.layer,
         .evidence = fmt::format("{} of {} units give one integer for every input, and {} are "
                                 "read with weights of 0 alone",
                                 layer.constant, layer.units, layer.unread),
         .action = fmt::format("train so that they are used, at a smaller rate or with less weight "
                               "decay, or build the layer with {} units; octet export "
                               "--prune-constant drops them from a file",
                               layer.units - layer.constant - layer.unread),
         .promise = "the network computes more with what it costs, or the same for less"});
  }
  return result;
}

std::vector<Advice> advise_oscillation(const Report& report) {
  std::vector<Advice> result;
  if (!loses_significantly(report) || !keeps_its_rate(report.history)) return result;
  for (const LayerFacts& layer : report.layers.layers) {
    if (layer.oscillating.value_or(0.0) < kMostOscillating) continue;
    result.push_back({.rule = "oscillating weights",
                      .layer = layer.name,
                      .evidence = fmt::format("{} of the weights oscillate between two values",
                                              percent_text(*layer.oscillating)),
                      .action = "a rate that falls to 0 while the network trains quantized: "
                                "Adam(cosine_decay(rate, steps, 0.0F)), mnist_qat --qat-schedule "
                                "cosine",
                      .promise = "fewer weights oscillate"});
  }
  return result;
}

std::vector<Advice> advise_training(const Report& report) {
  const std::optional<PairedTest> test = significant_loss(report);
  if (!test) return {};
  if (!harmed_by_training(report) && !advise_tried_remedies(report).empty()) return {};
  return {{.rule = "significant loss",
           .layer = "",
           .evidence = fmt::format("float alone has {} examples right, the integers alone {}: p = "
                                   "{:.2g}",
                                   test->only_first_right, test->only_second_right, test->p),
           .action = "train with quantization in the loop, or for more epochs, at a tenth of the "
                     "rate in float that falls to 0: Adam(cosine_decay(rate, steps, 0.0F)), octet "
                     "quantize --epochs 10",
           .promise = "fewer examples are lost"}};
}

std::vector<Advice> advice(const Report& report) {
  std::vector<Advice> all;
  for (const auto rule : {advise_tried_remedies, advise_training, advise_oscillation,
                          advise_dead_channels, advise_constant_units}) {
    for (Advice& one : rule(report)) all.push_back(std::move(one));
  }
  std::ranges::stable_sort(all, std::ranges::greater(),
                           [](const Advice& one) { return one.gain.value_or(0.0); });
  return all;
}

}  // namespace octet
