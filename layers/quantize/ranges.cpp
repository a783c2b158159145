#include <fmt/core.h>
#include <octet/core/autograd.h>
#include <octet/core/error.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/layers/quantize/quantize_wrapper.h>

#include <algorithm>
#include <functional>
#include <string_view>

namespace octet {
namespace {

void for_each_quantizer(const Model& model, const std::function<void(Quantizer&)>& apply) {
  for (const auto& layer : model.layers()) {
    for (Quantizer* quantizer : layer->quantizers()) apply(*quantizer);
  }
}

/// Throws InvalidArgument unless there is an example to take ranges from.
void require_samples(std::string_view operation, const Tensor& samples) {
  if (samples.defined() && samples.rank() > 0 && samples.size() > 0) return;
  throw InvalidArgument(fmt::format(
      "{}: expected samples [n, ...] to take ranges from, found {}", operation,
      samples.defined() ? "shape " + samples.shape().to_string() : "an undefined tensor"));
}

}  // namespace

void calibrate(Model& model, const Tensor& features) {
  if (!is_quantized(model)) {
    throw InvalidArgument(
        fmt::format("calibrate: expected a quantized model, found \"{}\", which is in float; "
                    "calibrate what quantize_model() returns",
                    model.name()));
  }
  require_samples("calibrate", features);
  no_grad(
      [&] { return model.forward_logits(features, {.mode = ForwardContext::Mode::calibration}); });
}

Model quantize_post_training(const Model& model, const Tensor& samples,
                             const QuantizeOptions& options) {
  require_samples("quantize_post_training", samples);
  Model quantized = quantize_model(model, options);
  calibrate(quantized, samples);
  return quantized;
}

void refresh_kernel_ranges(Model& model) {
  for (const auto& layer : model.layers()) {
    if (Quantizer* kernel = layer->kernel_quantizer()) kernel->observe(layer->weights()->kernel);
    if (auto* wrapper = as_quantize_wrapper(*layer)) wrapper->hold_frozen_weights();
  }
}

void freeze_ranges(Model& model, bool frozen) {
  for (const auto& layer : model.layers()) {
    for (Quantizer* quantizer : layer->quantizers()) {
      // A kernel keeps moving, so its range has to follow it.
      if (quantizer != layer->kernel_quantizer()) quantizer->freeze(frozen);
    }
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

}  // namespace octet
