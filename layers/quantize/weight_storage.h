#pragma once

#include <octet/core/quant/target.h>
#include <octet/layers/model.h>
#include <octet/runtime/packed_weights.h>

#include <optional>
#include <string>
#include <vector>

namespace octet {

/// How a quantized layer's weights are trained, and what a .tflite file of packed weights (see
/// pack_weights()) holds of them.
struct WeightStorage {
  std::string layer;
  /// The operator that the layer becomes, and its rounding mode.
  WeightForm form{};
  Rounding rounding = Rounding::fp32;
  int trained_bits = 8;
  /// 8, 4 or 2: at most so many, since trained weights may happen to need fewer.
  int stored_bits = 8;
  /// Why no runtime of the rounding mode takes them in the fewest bits that hold them, and what
  /// would work; empty where one does.
  std::string obstacle{};

  /// "trained 3 bit, stored 4, FULLY_CONNECTED in rounding mode fp32".
  std::string text() const;
};

/// How a layer's weights are stored; nothing for a layer without a quantized kernel. Known before
/// training.
std::optional<WeightStorage> weight_storage(const Layer& layer);
/// How the weights of all layers of a quantized model are stored.
std::vector<WeightStorage> weight_storage(const Model& model);

/// Throws InvalidArgument, which names layer and operator and says what would work, where weights
/// trained on 4 bits and fewer would be stored in 8 in the .tflite file for `target`, and where a
/// layer does not keep to the target's rounding mode. For a quantized model, before it is trained.
/// The ONNX file for ONNX Runtime holds every width packed: nothing is refused there.
void require_packed_weights(const Model& model, Target target);

}  // namespace octet
