#pragma once

#include <octet/deploy/layer_codes.h>

#include <memory>
#include <optional>
#include <string>

namespace octet::tools {

/// A model of any kind, opened to be compared with another.
struct VerifyModel {
  /// "integers", "simulation" or "C source".
  std::string kind;
  std::unique_ptr<LayerCodes> codes;
  /// Whether `codes` shows all layers, or the model's ends alone.
  bool has_layers = true;
};

/// Whether the file is C source: it then has no scales of its own.
bool is_c_source(const std::string& file);

/// Opens a .tflite file or the checkpoint of a quantized model. `rounding` is the contract asked
/// for, none for the model's own; only a .tflite file can be run under another (UsageError).
/// Throws the errors of reading.
VerifyModel open_model(const std::string& file, std::optional<Rounding> rounding);

/// Opens C source, whose input is quantized as `other` quantizes its own; null: samples are codes.
VerifyModel open_c_source(const std::string& file, std::optional<Rounding> rounding,
                          const LayerCodes* other);

}  // namespace octet::tools
