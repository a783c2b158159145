#pragma once

#include <octet/runtime/dense_form.h>

namespace octet {

/// Element types of a lowered model's inputs and outputs.
enum class IoType {
  int8,    ///< the quantized values themselves; int16 with activations of 16 bits
  uint8,   ///< the quantized values plus 128, by a QUANTIZE at each end; not of int16
  float32  ///< real values, by a QUANTIZE in front and a DEQUANTIZE behind
};

struct LowerOptions {
  IoType input = IoType::int8;
  IoType output = IoType::int8;
  DenseForm per_channel_dense = DenseForm::fully_connected;
  /// Stores weights of 2 to 4 bits packed, where that changes no result: see pack_weights().
  bool pack_weights = false;
};

}  // namespace octet
