#pragma once

#include <octet/core/tensor.h>
#include <octet/import/channel_affine.h>
#include <octet/layers/layer.h>
#include <octet/runtime/integer_model.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

// What a float operator of a .tflite file is as layers.

namespace octet::detail {

/// The layers of one result of an operator, of which each reads the one before it.
struct OperatorLayers {
  OpCode code = OpCode::reshape;
  /// The tensor that the last one gives.
  std::int32_t result = 0;
  std::vector<std::unique_ptr<Layer>> layers;
  /// The tensors that the first one reads.
  std::vector<std::int32_t> inputs;
  /// Which of the layers has weights, and by the names that it has for them.
  std::size_t weighted = 0;
  std::vector<NamedTensor> weights;
  /// What stands behind the layers.
  std::optional<LayerWithTensors> last;
};

/// The layers of result number `result`. Throws FormatError that says why an operator cannot be
/// Octet's layers.
OperatorLayers layers_of(const IntegerModel& model, const Operator& op, std::size_t result);

/// The layer of an operator that is a function of one value. Throws FormatError that says why there
/// is none.
std::unique_ptr<Layer> function_layer(const Operator& op);

}  // namespace octet::detail
