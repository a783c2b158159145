#pragma once

#include <octet/layers/model.h>

#include <string_view>

namespace octet {

/// Throws InvalidArgument, naming `operation`, unless the model has tensors and no layer of it is
/// quantized.
void require_float_model(const Model& model, std::string_view operation);

}  // namespace octet
