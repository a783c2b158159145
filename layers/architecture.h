#pragma once

#include <octet/core/archive.h>
#include <octet/layers/model.h>

#include <string>
#include <string_view>

namespace octet {

/// A model's layers with what each reads, their sizes, activations, names and quantizers as JSON,
/// without any tensor. Initializers are not included. Throws InvalidArgument
/// that names the first layer whose class, or whose quantizer's class, is not registered (see
/// register_layer()), and for what model_from_json() refuses: more than kMostLayers layers, or more
/// than 100 outputs or inputs of a layer.
std::string architecture_json(const Model& model);

/// The model that architecture_json() described, not built yet. Throws FormatError for anything
/// else.
Model model_from_json(std::string_view json);

/// Throws FormatError where an archive describes another model than `model`: names the first layer
/// at fault and what differs, e.g. its activation, weight bits or rounding. The model's name and
/// the marks of quantize_annotate_layer(), quantized() and in_float() may differ. Says nothing
/// where the archive or the model has no description.
void check_architecture(const Archive& archive, const Model& model);

/// Puts the architecture into an archive. Throws as architecture_json().
void add_architecture(Archive& archive, const Model& model);
/// Puts the architecture into an archive or, where it cannot be described, why: for checkpoints,
/// which continue a run whose program has made the model already.
void add_architecture_or_reason(Archive& archive, const Model& model);

/// The model that an archive describes, with the tensors that it holds under `prefix`. Throws
/// FormatError for an archive that is broken or was written without the architecture.
Model model_from_archive(const Archive& archive, const std::string& prefix = "");

}  // namespace octet
