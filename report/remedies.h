#pragma once

#include <octet/layers/model.h>
#include <octet/layers/quantize/quantize_config.h>
#include <octet/report/report.h>
#include <octet/train/data/dataset.h>

#include <functional>
#include <string>
#include <vector>

// The rules that look for what costs accuracy, and what each would do about it.

namespace octet::detail {

/// What a network is quantized from, and scored on.
struct Attempt {
  Model model;
  QuantizeOptions options;
  /// By input of the model.
  std::vector<Tensor> calibration;
  Dataset samples;
};

/// What may bring accuracy back. `action` says in code what `carry_out` does.
struct Remedy {
  std::string rule;
  std::string layer;
  std::string evidence;
  std::string action;
  std::function<void(Attempt&)> carry_out;
};

/// A layer with a kernel, and what belongs to it: the batch normalization and the activation that
/// alone read it, with which quantization fuses it.
std::vector<std::size_t> group_of(const Model& model, std::size_t kernel);

/// Leaves layers, by their positions, in float.
void leave_in_float(Model& model, const std::vector<std::size_t>& layers);

/// The remedies for what the layers show, quantized from `model`.
std::vector<Remedy> remedies_for(const LayerReport& report, const Model& model);

}  // namespace octet::detail
