#pragma once

#include <octet/layers/quantize/quantize_config.h>

#include <nlohmann/json.hpp>

// Quantizers and their options as JSON: part of a model's architecture. Not for users' includes.

namespace octet::detail {

nlohmann::json options_json(const QuantizeOptions& options);
QuantizeOptions options_from(const nlohmann::json& entry);

/// Null for null. Throws InvalidArgument for a quantizer whose class is not registered.
nlohmann::json quantizer_json(const Quantizer* quantizer);
/// Null for null. Throws FormatError or nlohmann's exceptions.
std::unique_ptr<Quantizer> quantizer_from(const nlohmann::json& entry);

/// A config that gives copies of these quantizers, whatever the layer.
std::shared_ptr<const QuantizeConfig> fixed_config(QuantizeOptions options,
                                                   std::unique_ptr<Quantizer> kernel,
                                                   std::unique_ptr<Quantizer> activation,
                                                   std::unique_ptr<Quantizer> output);

}  // namespace octet::detail
