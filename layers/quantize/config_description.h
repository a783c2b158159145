#pragma once

#include <octet/core/description.h>
#include <octet/layers/quantize/quantize_config.h>

#include <memory>
#include <string_view>

// How a quantized layer writes its options into a file and gets them back.

namespace octet {

/// The options of a config.
Description describe_config(const QuantizeConfig& config);
Description describe_options(const QuantizeOptions& options);
/// Throws FormatError where an option is missing or unsound.
QuantizeOptions options_from(const Description& description);

/// The quantizer that is part `key` of a description. Throws FormatError where there is none.
std::unique_ptr<Quantizer> quantizer_in(const Description& description, std::string_view key);

/// A config that hands out copies of these quantizers, null for a tensor that is left alone:
/// `result` for the result of a layer with a kernel and for the output of any other.
std::shared_ptr<const QuantizeConfig> given_quantizers(QuantizeOptions options,
                                                       std::unique_ptr<Quantizer> kernel,
                                                       std::unique_ptr<Quantizer> result);

}  // namespace octet
