#pragma once

#include <octet/layers/model.h>

#include <cstdint>
#include <string>
#include <vector>

// The flash that layers take by the bits of their weights, and who says these bits.

namespace octet {

/// What the bits of weights may be.
inline constexpr int kLeastWeightBits = 2;
inline constexpr int kMostWeightBits = 8;

/// Flash that one layer takes, as C source with packed weights holds it, in bytes:
///
///     units (ceil(row bits / 8) + 4 [with a bias]) + 8 scales
///
/// A unit is an output channel, with a row of `row` = kernel size / units weights that is padded to
/// whole bytes, and an int32 bias. Each scale, one per unit or one per kernel, is an int32
/// multiplier and a shift. Throws InvalidArgument for bits outside 2 to 8.
std::int64_t shipped_bytes(const LayerWeights& weights, int bits, bool per_channel);

/// The flash of one layer of a network, by the layer's name in float.
struct LayerFlash {
  std::string layer;
  /// Bits of a weight; 32 of a layer in float.
  int bits = 8;
  std::int64_t bytes = 0;

  bool operator==(const LayerFlash&) const = default;
};

/// shipped_bytes() of every layer of a quantized model that has weights, in their order; of layers
/// in float 4 bytes per parameter.
std::vector<LayerFlash> flash_by_layer(const Model& quantized);

/// The bits of the weights of one layer, by the layer's name.
struct LayerBits {
  std::string layer;
  int bits = 8;

  bool operator==(const LayerBits&) const = default;
};

/// Tells layers of a float model the bits of their weights, for quantize_model(): what else they
/// ask for stays. Throws InvalidArgument as Model::layer() and Layer::set_quantization().
void set_weight_bits(Model& model, const std::vector<LayerBits>& bits);

}  // namespace octet
