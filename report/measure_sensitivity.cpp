#include <octet/layers/lower.h>
#include <octet/report/measure_internal.h>
#include <octet/train/distributed/messages.h>
#include <octet/train/evaluate.h>

#include <algorithm>
#include <span>
#include <vector>

namespace octet {
namespace {

/// A layer with a kernel, and what belongs to it: the batch normalization and the activation that
/// alone read it, with which quantization fuses it.
std::vector<std::size_t> group_of(const Model& model, std::size_t kernel) {
  std::vector<std::size_t> group = {kernel};
  for (std::vector<std::size_t> next = model.readers(kernel); next.size() == 1;
       next = model.readers(group.back())) {
    const Layer& layer = *model.layers()[next[0]];
    if (model.is_output(group.back())) break;
    if (layer.type() != "BatchNorm" && !layer.is_activation()) break;
    // An operator of its own, whose grid is fixed.
    if (layer.ends_in_softmax()) break;
    group.push_back(next[0]);
  }
  return group;
}

void leave_in_float(Model& model, std::size_t layer) {
  LayerQuantization how = model.layers()[layer]->quantization();
  how.in_float = true;
  model.layers()[layer]->set_quantization(how);
}

/// The layers that are in `group`, or all others, left in float.
Model with_in_float(const Model& model, const std::vector<std::size_t>& group, bool others) {
  Model copy = model;
  for (std::size_t i = 0; i < copy.layers().size(); ++i) {
    const bool is_member = std::ranges::find(group, i) != group.end();
    // An Input is no layer that computes.
    if (is_member != others && copy.layers()[i]->example_shape() == nullptr) {
      leave_in_float(copy, i);
    }
  }
  return copy;
}

}  // namespace

void detail::measure_sensitivity(const ReportModels& models, const Tensor& calibration,
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
  const auto accuracy = [&](const Model& in_parts) {
    return evaluate(lower(quantized_as(*models.quantized, in_parts, calibration)), samples)
        .accuracy;
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
