#include <fmt/format.h>
#include <octet/core/autograd.h>
#include <octet/core/error.h>
#include <octet/core/log.h>
#include <octet/layers/quantize/calibration_internal.h>
#include <octet/layers/quantize/quantize_wrapper.h>
#include <octet/layers/quantize/ranges.h>

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

namespace octet {
namespace {

void for_each_quantizer(const Model& model, const std::function<void(Quantizer&)>& apply) {
  for (const auto& layer : model.layers()) {
    for (Quantizer* quantizer : layer->quantizers()) apply(*quantizer);
  }
}

/// The quantizers of a layer but for those of kernels and other tensors that it trains.
std::vector<Quantizer*> quantizers_of_results(const Layer& layer) {
  std::vector<Quantizer*> quantizers = layer.quantizers();
  const auto* wrapper = as_quantize_wrapper(layer);
  if (wrapper == nullptr) return quantizers;
  for (const auto& trained : wrapper->trained_tensors()) std::erase(quantizers, trained.first);
  return quantizers;
}

/// Whether the tensor of a quantizer that takes its range from what it sees was 0 throughout.
bool saw_zeros_alone(const Quantizer& quantizer) {
  const ObservedRange& range = quantizer.observer().range();
  const auto is_zero = [](float value) { return value == 0.0F; };
  return quantizer.built() && !quantizer.tied() && range.updates.item() > 0.0F &&
         !range.usable_from_start && std::ranges::all_of(range.min.span(), is_zero) &&
         std::ranges::all_of(range.max.span(), is_zero);
}

}  // namespace

void detail::require_samples(std::string_view operation, const Model& model,
                             std::span<const Tensor> inputs) {
  model.require_inputs(operation, inputs);
  for (const Tensor& samples : inputs) {
    if (samples.defined() && samples.rank() > 0 && samples.size() > 0) continue;
    throw InvalidArgument(fmt::format(
        "{}: expected samples [n, ...], found {}", operation,
        samples.defined() ? "shape " + samples.shape().to_string() : "an undefined tensor"));
  }
}

void detail::show_samples(Model& model, std::span<const Tensor> inputs) {
  if (!is_quantized(model)) {
    throw InvalidArgument(
        fmt::format("calibrate: expected a quantized model, found \"{}\", which is in float; "
                    "calibrate what quantize_model() returns",
                    model.name()));
  }
  detail::require_samples("calibrate", model, inputs);
  no_grad([&] {
    return model.forward_all(inputs, {.mode = ForwardContext::Mode::calibration, .logits = true});
  });
}

std::vector<std::string> range_warnings(const Model& model) {
  std::vector<std::string> layers;
  for (const auto& layer : model.layers()) {
    if (std::ranges::any_of(quantizers_of_results(*layer), [](const Quantizer* quantizer) {
          return saw_zeros_alone(*quantizer);
        })) {
      layers.push_back(fmt::format("\"{}\"", layer->name()));
    }
  }
  if (layers.empty()) return {};
  constexpr std::size_t kMost = 5;
  const std::size_t named = std::min(kMost, layers.size());
  return {fmt::format(
      "model \"{}\": what {} of its layers gave was 0 in all samples that ranges were taken from, "
      "so that in integers it will be 0 for any: {}{}. Are the samples as the model will see them, "
      "read and scaled?",
      model.name(), layers.size(), fmt::join(std::span(layers).first(named), ", "),
      named < layers.size() ? ", ..." : "")};
}

std::vector<std::string> calibrate(Model& model, std::span<const Tensor> inputs) {
  detail::show_samples(model, inputs);
  std::vector<std::string> warnings = range_warnings(model);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::span<const float> values = inputs[i].span();
    if (values.size() < 2 || std::ranges::count(values, values[0]) != std::ssize(values)) continue;
    warnings.push_back(
        fmt::format("calibrate: input \"{}\": all {} samples hold the one value {}, from which no "
                    "range of what the model will see follows",
                    model.layers()[model.input_layers()[i]]->name(), inputs[i].dim(0), values[0]));
  }
  for (const std::string& warning : warnings) log_warn(warning);
  return warnings;
}

void refresh_kernel_ranges(Model& model) {
  for (const auto& layer : model.layers()) {
    auto* wrapper = as_quantize_wrapper(*layer);
    if (wrapper == nullptr) continue;
    for (auto& [quantizer, tensor] : wrapper->trained_tensors()) quantizer->observe(tensor);
    wrapper->hold_frozen_weights();
  }
}

void freeze_ranges(Model& model, bool frozen) {
  for (const auto& layer : model.layers()) {
    // What is trained keeps moving, so its range has to follow it.
    for (Quantizer* quantizer : quantizers_of_results(*layer)) quantizer->freeze(frozen);
  }
}

void enable_quantization(Model& model, bool enabled) {
  for_each_quantizer(model, [enabled](Quantizer& quantizer) { quantizer.enable(enabled); });
}

bool is_quantized(const Model& model) {
  return std::ranges::any_of(model.layers(),
                             [](const auto& layer) { return layer->is_quantized(); });
}

bool has_ranges(const Model& model) {
  bool all = true;
  for_each_quantizer(model, [&all](Quantizer& quantizer) { all = all && quantizer.has_range(); });
  return all;
}

std::vector<OscillatingWeights> oscillating_weights(const Model& model, float threshold) {
  std::vector<OscillatingWeights> result;
  for (const auto& layer : model.layers()) {
    const auto* wrapper = as_quantize_wrapper(*layer);
    const WeightOscillation* oscillation = wrapper ? wrapper->oscillation() : nullptr;
    if (oscillation == nullptr) continue;
    result.push_back({layer->name(), oscillation->share(threshold), oscillation->frozen_share()});
  }
  return result;
}

}  // namespace octet
