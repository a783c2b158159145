#pragma once

#include <octet/core/shape.h>
#include <octet/import/weights/weights.h>
#include <octet/layers/model.h>

#include <string>
#include <string_view>
#include <vector>

// A tensor of a model as a file holds it.

namespace octet::detail {

/// Where the elements of a model's tensor lie in that of the file: element (i, j, ...) of the model
/// is at rows[i] * strides[0] + j * strides[1] + ... of the file's.
struct WeightLayout {
  Shape file_shape;
  std::vector<Index> strides;
  /// The order of the first axis; empty where it stays.
  std::vector<Index> rows{};
};

/// A tensor of a model that a file is to hold.
struct WeightSlot {
  std::string layer;
  /// As the layer calls it, "kernel".
  std::string name;
  Tensor tensor;
  WeightLayout layout;
};

/// The parameters and the state of a model, as files under `rules` hold them. Throws
/// InvalidArgument that begins with `operation` for a model that is not built, and for a quantized
/// layer where the rules are another framework's.
std::vector<WeightSlot> weight_slots(const Model& model, const WeightRules& rules,
                                     std::string_view operation);

/// `values`, of the layout's file_shape, as the model's tensor; and the other way.
Tensor from_file_layout(const Tensor& values, const WeightSlot& slot);
Tensor to_file_layout(const WeightSlot& slot);

}  // namespace octet::detail
