#pragma once

#include <octet/layers/model.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace octet {

/// A trained model with another last layer.
struct FineTuned {
  Model model;
  /// The layer that was replaced.
  std::string head;
  /// Layers that have the trained tensors.
  std::vector<std::string> loaded;
};

/// Replaces the last Dense layer of a float model by one of `units` units, whose weights are drawn
/// from `seed`; all other layers keep their tensors. Behind it only layers without tensors of their
/// own may stand, a softmax for one. Throws InvalidArgument for a model of several outputs, one
/// that does not end in a Dense layer, a quantized one, and layers that cannot be described
/// (architecture_json()).
FineTuned with_new_head(const Model& trained, Index units, std::uint64_t seed);

/// Freezes the layers of these names, and returns which these are. A name that ends in * stands for
/// all that begin so, but for `head` (FineTuned::head), which is new. Throws InvalidArgument for a
/// name of no layer with weights, for that of the head, and where no layer is left to be trained.
std::vector<std::string> freeze_layers(Model& model, const std::vector<std::string>& names,
                                       std::string_view head = "");

}  // namespace octet
