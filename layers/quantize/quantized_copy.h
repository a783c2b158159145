#pragma once

#include <octet/layers/model.h>
#include <octet/layers/quantize/quantize_config.h>

#include <memory>
#include <vector>

namespace octet {

/// How one layer is to be quantized: not at all without a config.
struct QuantizationPlan {
  std::shared_ptr<const QuantizeConfig> config;
  /// Whether the user gave the config to this very layer.
  bool own_config = false;
  /// Whether the layer computes in floats and has its result quantized.
  bool result_only = false;
};

/// Returns a copy of a model whose batch normalizations are folded, layer by layer: a ReLU or ReLU6
/// behind a layer becomes its activation, a QuantizeLayer stands behind each input and in front of
/// what needs one, see model_passes.h, and each layer with a plan is in a QuantizeWrapper. Throws
/// InvalidArgument that names the layer where one cannot be quantized so.
Model quantized_copy(const Model& source, std::vector<QuantizationPlan> plans,
                     const QuantizeOptions& options);

}  // namespace octet
