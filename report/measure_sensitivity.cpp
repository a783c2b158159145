#include <octet/layers/input.h>
#include <octet/layers/lower.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/report/measure_internal.h>
#include <octet/report/remedies.h>
#include <octet/train/distributed/messages.h>
#include <octet/train/evaluate.h>

#include <algorithm>
#include <span>
#include <vector>

namespace octet {
namespace {

/// The layers that are in `group`, or all others, left in float.
Model with_in_float(const Model& model, const std::vector<std::size_t>& group, bool others) {
  std::vector<std::size_t> in_float;
  for (std::size_t i = 0; i < model.layers().size(); ++i) {
    const bool is_member = std::ranges::find(group, i) != group.end();
    // An Input is no layer that computes.
    if (is_member != others && !is_input(*model.layers()[i])) in_float.push_back(i);
  }
  Model copy = model;
  detail::leave_in_float(copy, in_float);
  return copy;
}

}  // namespace

void detail::measure_sensitivity(const ReportModels& models, std::span<const Tensor> calibration,
                                 const Dataset& samples, ProcessGroup& ranks, LayerReport& report) {
  const Model& model = *models.float_model;
  report.sensitivity_samples = samples.size();
  report.float_accuracy = evaluate(models.in_float, samples, &ranks).accuracy;
  const bool has_others = std::ranges::count_if(report.layers, [](const LayerFacts& facts) {
                            return facts.weights.has_value();
                          }) > 1;
  /// What is measured of a layer, and the layers that belong to it.
  struct Measured {
    LayerFacts* facts = nullptr;
    std::vector<std::size_t> group;
  };
  std::vector<Measured> layers;
  for (std::size_t i = 0; i < model.layers().size(); ++i) {
    const Layer& layer = *model.layers()[i];
    if (!layer.weights() || layer.type() == "BatchNorm") continue;
    const auto facts = std::ranges::find(report.layers, layer.name(), &LayerFacts::name);
    // In float already, or fused under another name.
    if (facts == report.layers.end() || !facts->weights) continue;
    layers.push_back({&*facts, group_of(model, i)});
  }
  const QuantizeOptions options = options_of(*models.quantized);
  const auto accuracy = [&](const Model& in_parts) {
    return evaluate(lower(quantize_quietly(in_parts, calibration, options)), samples).accuracy;
  };
  // The whole network, then each layer quantized alone, then each in float alone.
  const std::size_t count = layers.size();
  const auto measure = [&](std::size_t i, std::span<double> result) {
    if (i == 0) {
      result[0] = accuracy(model);
    } else if (i <= count) {
      result[0] = accuracy(with_in_float(model, layers[i - 1].group, /*others=*/true));
    } else if (has_others) {
      result[0] = accuracy(with_in_float(model, layers[i - 1 - count].group, /*others=*/false));
    } else {
      // With nothing left to quantize that is the float network.
      result[0] = *report.float_accuracy;
    }
  };
  const std::vector<double> found = share_out(ranks, 1 + 2 * count, 1, measure);
  report.quantized_accuracy = found[0];
  for (std::size_t i = 0; i < count; ++i) {
    layers[i].facts->sensitivity = {.only_this_quantized = found[1 + i],
                                    .only_this_in_float = found[1 + count + i]};
  }
}

}  // namespace octet
