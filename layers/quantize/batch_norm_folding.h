#pragma once

#include <octet/layers/batch_norm.h>
#include <octet/layers/model.h>

#include <cstddef>
#include <string>

namespace octet {

/// The layer as a BatchNorm; null where it is another.
const BatchNorm* as_batch_norm(const Layer& layer);

/// Why the BatchNorm at `i` cannot become part of the layer that it reads, as the end of a sentence
/// that begins with what was expected; empty where it can: that layer has a kernel and no
/// activation, and nothing else reads it.
std::string why_not_foldable(const Model& model, std::size_t i);

/// The BatchNorm that can become part of layer `i`; `i` where there is none.
std::size_t foldable_reader(const Model& model, std::size_t i);

/// A copy of a built model in which every BatchNorm that can is part of the layer in front.
Model with_folded_batch_norm(const Model& model);

}  // namespace octet
