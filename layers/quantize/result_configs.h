#pragma once

#include <octet/layers/quantize/quantize_config.h>
#include <octet/layers/quantize/result_rule.h>

#include <memory>

// Default schemes of layers whose results are quantized in another way.

namespace octet {

/// Quantizes a result and leaves the kernel alone: for layers in front of a marked one. Their
/// inputs are real values, so that a ReLU6 has no scale to keep.
class ResultOnlyConfig : public Default8BitQuantizeConfig {
 public:
  using Default8BitQuantizeConfig::Default8BitQuantizeConfig;
  std::unique_ptr<Quantizer> kernel_quantizer(const Layer& /*layer*/) const override {
    return nullptr;
  }
  std::unique_ptr<Quantizer> parameter_quantizer(const Layer& /*layer*/,
                                                 int /*unit_axis*/) const override {
    return nullptr;
  }
  std::unique_ptr<Quantizer> output_quantizer(const Layer& layer) const override {
    const bool has_no_grid = result_rule(layer, options().rounding) == ResultRule::clamps;
    return has_no_grid ? activation_quantizer(layer)
                       : Default8BitQuantizeConfig::output_quantizer(layer);
  }
};

/// The default scheme for a layer whose result is a second factor. What a layer without a kernel
/// computes in front of its result stays as it is.
class FactorConfig : public Default8BitQuantizeConfig {
 public:
  using Default8BitQuantizeConfig::Default8BitQuantizeConfig;
  std::unique_ptr<Quantizer> activation_quantizer(const Layer& layer) const override {
    return layer.weights() ? factor_quantizer(layer)
                           : Default8BitQuantizeConfig::activation_quantizer(layer);
  }
  std::unique_ptr<Quantizer> output_quantizer(const Layer& layer) const override {
    const bool is_measured = Default8BitQuantizeConfig::output_quantizer(layer) != nullptr;
    return is_measured ? factor_quantizer(layer) : nullptr;
  }
};

}  // namespace octet
