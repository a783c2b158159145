#include <fmt/format.h>
#include <octet/compress/post_training.h>
#include <octet/core/text.h>
#include <octet/layers/activation.h>
#include <octet/layers/quantize/quantize_layer.h>
#include <octet/report/measure_internal.h>
#include <octet/report/remedies.h>
#include <octet/train/evaluate.h>

#include <algorithm>
#include <array>

namespace octet {
namespace {

using detail::Attempt;
using detail::Remedy;

constexpr double kMostClipped = 0.01;
/// Most values on fewer than a quarter of the codes lose two bits or more.
constexpr std::size_t kLeastCodesShare = 4;
constexpr int kLeastBitsOfUnusedCodes = 6;
/// In percentage points.
constexpr double kLeastGain = 0.2;
constexpr double kDominantShare = 0.5;
/// What is tried where the default of 99.99 keeps too many outliers.
constexpr std::array kPercentiles = {99.9, 99.0};

bool is_input(const LayerFacts& layer) { return layer.type == QuantizeLayer::kType; }

bool wastes_codes(const LayerFacts& layer) {
  const GridFacts& result = layer.result;
  // Fewer values than codes cannot use them.
  return !layer.fixed_grid && result.bits >= kLeastBitsOfUnusedCodes &&
         result.values >= 4 * result.codes &&
         kLeastCodesShare * result.codes_of_most < result.codes;
}

std::string waste_text(const LayerFacts& layer) {
  return fmt::format("99 % of the values lie on {} of {} quantized values",
                     layer.result.codes_of_most, layer.result.codes);
}

/// The layer of the fewest codes among those that waste theirs and that `is_meant`.
template <class Predicate>
const LayerFacts* worst_of(const LayerReport& report, Predicate&& is_meant) {
  const LayerFacts* worst = nullptr;
  for (const LayerFacts& layer : report.layers) {
    if (!wastes_codes(layer) || !is_meant(layer)) continue;
    const bool is_worse =
        worst == nullptr || layer.result.codes_of_most < worst->result.codes_of_most;
    if (is_worse) worst = &layer;
  }
  return worst;
}

Remedy with_options(std::string rule, const LayerFacts& layer, std::string evidence,
                    std::string_view members, std::string_view flags,
                    std::function<void(QuantizeOptions&)> change) {
  return {.rule = std::move(rule),
          .layer = layer.name,
          .evidence = std::move(evidence),
          .action = fmt::format("QuantizeOptions{{{}}}, octet quantize {}", members, flags),
          .carry_out = [change = std::move(change)](Attempt& of) { change(of.options); }};
}

/// Ranges that leave out more, for `member` of the options, `flag` on the command line.
void add_percentiles(const std::string& rule, const LayerFacts& layer, std::string_view member,
                     std::string_view flag,
                     const std::function<void(QuantizeOptions&, Calibration)>& set,
                     std::vector<Remedy>& found) {
  for (const double percentile : kPercentiles) {
    found.push_back(with_options(
        rule, layer, waste_text(layer),
        fmt::format(".{} = Calibration::percentile, .percentile = {}", member, percentile),
        fmt::format("{} percentile --percentile {}", flag, percentile),
        [set, percentile](QuantizeOptions& o) {
          set(o, Calibration::percentile);
          o.percentile = percentile;
        }));
  }
}

/// An input or results with a few values far from the others.
void look_for_outliers(const LayerReport& report, std::vector<Remedy>& found) {
  if (const LayerFacts* input = worst_of(report, is_input)) {
    add_percentiles(
        "outliers of the input", *input, "input_calibration", "--input-calibration",
        [](QuantizeOptions& o, Calibration how) { o.input_calibration = how; }, found);
    // What the input has, results may have from it.
    return;
  }
  // What a join has put on a wider grid is no matter of outliers.
  const LayerFacts* results = worst_of(
      report, [](const LayerFacts& layer) { return layer.weights && layer.joined_by.empty(); });
  if (results == nullptr) return;
  add_percentiles(
      "outliers of results", *results, "activation_calibration", "--calibration",
      [](QuantizeOptions& o, Calibration how) { o.activation_calibration = how; }, found);
}

/// Ranges that leave out too much.
void look_for_clipping(const LayerReport& report, std::vector<Remedy>& found) {
  const auto add = [&](auto share_of, const char* what, const char* members, const char* flags,
                       std::function<void(QuantizeOptions&)> change) {
    const auto worst = std::ranges::max_element(report.layers, {}, share_of);
    if (worst == report.layers.end() || share_of(*worst) < kMostClipped) return;
    found.push_back(
        with_options("clipped values", *worst,
                     fmt::format("{} of the {} are clipped", percent_text(share_of(*worst)), what),
                     members, flags, std::move(change)));
  };
  add([](const LayerFacts& layer) { return is_input(layer) ? layer.result.clipped_share() : 0.0; },
      "values", ".input_calibration = Calibration::min_max", "--input-calibration min_max",
      [](QuantizeOptions& o) { o.input_calibration = Calibration::min_max; });
  add(
      [](const LayerFacts& layer) {
        return is_input(layer) || layer.fixed_grid ? 0.0 : layer.result.clipped_share();
      },
      "results", ".activation_calibration = Calibration::min_max", "--calibration min_max",
      [](QuantizeOptions& o) { o.activation_calibration = Calibration::min_max; });
  add([](const LayerFacts& layer) { return layer.weights ? layer.weights->clipped_share() : 0.0; },
      "weights", ".weight_calibration = Calibration::min_max", "--weight-calibration min_max",
      [](QuantizeOptions& o) { o.weight_calibration = Calibration::min_max; });
}

Remedy equalization(std::string rule, const LayerFacts& layer, std::string evidence) {
  return {.rule = std::move(rule),
          .layer = layer.name,
          .evidence = std::move(evidence),
          .action = "cross_layer_equalization(model) before quantize_model()",
          .carry_out = [](Attempt& of) { cross_layer_equalization(of.model); }};
}

/// Channels that one scale does not fit.
void look_for_uneven_channels(const LayerReport& report, std::vector<Remedy>& found) {
  const LayerFacts* wide = nullptr;
  const LayerFacts* starved = nullptr;
  for (const LayerFacts& layer : report.layers) {
    const auto& widest = layer.weight_channels.widest;
    const bool is_wide = layer.weights && !layer.per_channel && !widest.empty() &&
                         widest.front().medians >= detail::kWideInMedians;
    const bool is_widest =
        wide == nullptr ||
        (is_wide && widest.front().medians > wide->weight_channels.widest.front().medians);
    if (is_wide && is_widest) wide = &layer;
    const std::size_t most = starved == nullptr ? 0 : starved->result_channels.starved;
    if (layer.weights && layer.separable && layer.result_channels.starved > most) {
      starved = &layer;
    }
  }
  if (wide != nullptr) {
    const ChannelFacts& channels = wide->weight_channels;
    const std::string evidence = fmt::format(
        "{} of {} channels of the kernel span {:.0f} x the median or more; channel {} spans {:.1f} "
        "x",
        channels.wide, channels.channels, detail::kWideInMedians, channels.widest.front().channel,
        channels.widest.front().medians);
    found.push_back(with_options("wide channels", *wide, evidence, ".per_channel = true",
                                 "--per-channel",
                                 [](QuantizeOptions& o) { o.per_channel = true; }));
    found.push_back(equalization("wide channels", *wide, evidence));
  }
  if (starved != nullptr) {
    found.push_back(
        equalization("starved channels", *starved,
                     fmt::format("{} of {} channels vary in float and have fewer than {} values",
                                 starved->result_channels.starved,
                                 starved->result_channels.channels, detail::kFewestCodes)));
  }
}

/// Columns of an input in units that one grid does not fit.
void look_for_unlike_columns(const LayerReport& report, std::vector<Remedy>& found) {
  const auto input = std::ranges::find_if(report.layers, is_input);
  if (input == report.layers.end() || input->result_channels.starved == 0) return;
  found.push_back(
      {.rule = "columns of unlike units",
       .layer = input->name,
       .evidence = fmt::format("{} of {} columns vary in float and have fewer than {} values",
                               input->result_channels.starved, input->result_channels.channels,
                               detail::kFewestCodes),
       .action = "const Standardization columns = standardize_inputs(model, samples) before "
                 "quantize_model(), and give the network columns.apply(x): octet quantize --mean "
                 "and --std with what it found",
       .carry_out = [](Attempt& of) {
         const Standardization columns = standardize_inputs(of.model, of.calibration[0]);
         of.calibration[0] = columns.apply(of.calibration[0]);
         const Tensor x =
             columns.apply(fit_to_input(of.model, of.samples.features(0, of.samples.size())));
         const auto labels = of.samples.labels();
         of.samples =
             Dataset::from_floats(of.samples.name(), of.model.layers().front()->output_shape(),
                                  {x.span().begin(), x.span().end()},
                                  {labels.begin(), labels.end()}, of.samples.classes());
       }});
}

std::string in_float_text(const Model& model, const std::vector<std::size_t>& layers) {
  std::vector<std::string> lines;
  lines.reserve(layers.size());
  for (const std::size_t i : layers) {
    lines.push_back(fmt::format("model.layer(\"{}\").set_quantization({{.in_float = true}})",
                                model.layers()[i]->name()));
  }
  return fmt::format("{} before quantize_model()", fmt::join(lines, ", "));
}

std::size_t position_of(const Model& model, std::string_view name) {
  const auto& layers = model.layers();
  const auto found = std::ranges::find(layers, name, [](const auto& each) { return each->name(); });
  return static_cast<std::size_t>(found - layers.begin());
}

Remedy left_in_float(std::string rule, const std::string& layer, std::string evidence,
                     const Model& model, const std::vector<std::size_t>& layers) {
  std::string action = in_float_text(model, layers);
  return {
      .rule = std::move(rule),
      .layer = layer,
      .evidence = std::move(evidence),
      .action = std::move(action),
      .carry_out = [layers](Attempt& of) { detail::leave_in_float(of.model, layers); },
  };
}

/// Branches that a Concatenate puts on a grid which another of them needs.
void look_for_uneven_branches(const LayerReport& report, const Model& model,
                              std::vector<Remedy>& found) {
  const LayerFacts* narrow = worst_of(
      report, [](const LayerFacts& layer) { return layer.weights && !layer.joined_by.empty(); });
  if (narrow == nullptr) return;
  const std::string evidence = fmt::format(
      "{}: \"{}\" gives it one scale with branches that reach {:.3g} to {:.3g}",
      waste_text(*narrow), narrow->joined_by, narrow->result.grid_low, narrow->result.grid_high);
  found.push_back(equalization("branches of unlike units", *narrow, evidence));
  const std::size_t join = position_of(model, narrow->joined_by);
  if (join == model.layers().size() || model.is_output(join)) return;
  std::vector<std::size_t> layers = {join};
  for (const std::size_t reader : model.readers(join)) {
    for (const std::size_t member : detail::group_of(model, reader)) layers.push_back(member);
  }
  found.push_back(left_in_float("branches of unlike units", narrow->name, evidence, model, layers));
}

/// A layer that costs most of what quantization does.
void look_for_sensitive_layer(const LayerReport& report, const Model& model,
                              std::vector<Remedy>& found) {
  const double loss =
      100.0 * (report.float_accuracy.value_or(0.0) - report.quantized_accuracy.value_or(0.0));
  if (loss < kLeastGain) return;
  for (const LayerFacts& layer : report.layers) {
    if (!layer.sensitivity || !layer.weights) continue;
    const double gain =
        100.0 * (layer.sensitivity->only_this_in_float - *report.quantized_accuracy);
    if (gain < kLeastGain || gain < kDominantShare * loss) continue;
    const std::string evidence = fmt::format(
        "in float it alone brings {:.2f} of the {:.2f} points that quantization costs", gain, loss);
    const std::size_t at = position_of(model, layer.name);
    if (layer.weights->bits < 8) {
      found.push_back({.rule = "sensitive layer",
                       .layer = layer.name,
                       .evidence = evidence,
                       .action = fmt::format(
                           "model.layer(\"{}\").set_quantization({{.weight_bits = 8}}) before "
                           "quantize_model()",
                           layer.name),
                       .carry_out = [at](Attempt& of) {
                         LayerQuantization how = of.model.layers()[at]->quantization();
                         how.weight_bits = 8;
                         of.model.layers()[at]->set_quantization(how);
                       }});
    } else {
      found.push_back(left_in_float("sensitive layer", layer.name, evidence, model,
                                    detail::group_of(model, at)));
    }
  }
}

}  // namespace

std::vector<std::size_t> detail::group_of(const Model& model, std::size_t kernel) {
  std::vector<std::size_t> group = {kernel};
  for (std::vector<std::size_t> next = model.readers(kernel); next.size() == 1;
       next = model.readers(group.back())) {
    const Layer& layer = *model.layers()[next[0]];
    if (model.is_output(group.back())) break;
    if (layer.type() != "BatchNorm" && !is_activation(layer)) break;
    // An operator of its own, whose grid is fixed.
    if (layer.ends_in_softmax()) break;
    group.push_back(next[0]);
  }
  return group;
}

void detail::leave_in_float(Model& model, const std::vector<std::size_t>& layers) {
  for (const std::size_t i : layers) {
    LayerQuantization how = model.layers()[i]->quantization();
    how.in_float = true;
    model.layers()[i]->set_quantization(how);
  }
}

std::vector<Remedy> detail::remedies_for(const LayerReport& report, const Model& model) {
  std::vector<Remedy> found;
  look_for_outliers(report, found);
  look_for_clipping(report, found);
  look_for_uneven_channels(report, found);
  look_for_unlike_columns(report, found);
  look_for_uneven_branches(report, model, found);
  look_for_sensitive_layer(report, model, found);
  return found;
}

}  // namespace octet
