#pragma once

#include <octet/import/weights/weight_file.h>
#include <octet/import/weights/weight_layout.h>
#include <octet/import/weights/weights.h>

#include <string>
#include <string_view>
#include <vector>

// The names of tensors in files.

namespace octet::detail {

/// A file's tensor, by the name that a layer has for it.
struct NamedWeight {
  /// The layer's name in the file, and the layer's tensor, "kernel".
  std::string prefix;
  std::string name;
  const WeightTensor* tensor = nullptr;
};

/// The tensors of a file under the names of layers' tensors; without those that no model has.
std::vector<NamedWeight> named_weights(const std::vector<WeightTensor>& tensors, WeightNames names);

/// How a file names the tensor `name` of the layer that it calls `prefix`.
std::string file_name(std::string_view prefix, std::string_view name, WeightNames names);

/// `WeightRules::layers` that would pair what is left of a model with what is left of a file, by
/// the names and shapes of their tensors, as C++; empty where there is none. A guess: layers that
/// look alike are paired in the order of their names and numbers.
std::string suggested_layers(const std::vector<WeightSlot>& missing,
                             const std::vector<NamedWeight>& unused);

}  // namespace octet::detail
