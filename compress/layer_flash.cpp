#include <fmt/core.h>
#include <octet/compress/layer_flash.h>
#include <octet/core/error.h>
#include <octet/layers/quantize/quantize_wrapper.h>

namespace octet {
namespace {

constexpr std::int64_t kBiasBytes = 4;
/// Bytes of an int32 multiplier, and of a shift in a word of its own.
constexpr std::int64_t kScaleBytes = 8;
constexpr int kFloatBits = 32;
constexpr std::int64_t kFloatBytes = 4;

}  // namespace

std::int64_t shipped_bytes(const LayerWeights& weights, int bits, bool per_channel) {
  if (bits < kLeastWeightBits || bits > kMostWeightBits) {
    throw InvalidArgument(fmt::format("shipped_bytes: expected {} to {} bits, found {}",
                                      kLeastWeightBits, kMostWeightBits, bits));
  }
  const std::int64_t units = weights.kernel.dim(weights.unit_axis);
  const std::int64_t row = units == 0 ? 0 : weights.kernel.size() / units;
  const std::int64_t row_bytes = (row * bits + 7) / 8;
  const std::int64_t bias_bytes = weights.bias.defined() ? kBiasBytes : 0;
  return units * (row_bytes + bias_bytes) + kScaleBytes * (per_channel ? units : 1);
}

std::vector<LayerFlash> flash_by_layer(const Model& quantized) {
  std::vector<LayerFlash> result;
  for (const auto& layer : quantized.layers()) {
    const auto* wrapper = as_quantize_wrapper(*layer);
    const std::string& name = wrapper == nullptr ? layer->name() : wrapper->wrapped().name();
    const std::optional<LayerWeights> weights = layer->weights();
    if (weights && layer->kernel_quantizer() != nullptr) {
      const QuantSpec& spec = layer->kernel_quantizer()->spec();
      result.push_back(
          {name, spec.num_bits, shipped_bytes(*weights, spec.num_bits, spec.axis >= 0)});
    } else if (weights || !layer->is_quantized()) {
      // The parameters of quantized layers without a kernel are steps of their grids.
      const Index parameters = count_elements(layer->parameters());
      if (parameters > 0) result.push_back({name, kFloatBits, kFloatBytes * parameters});
    }
  }
  return result;
}

void set_weight_bits(Model& model, const std::vector<LayerBits>& bits) {
  for (const LayerBits& one : bits) {
    Layer& layer = model.layer(one.layer);
    LayerQuantization quantization = layer.quantization();
    quantization.weight_bits = one.bits;
    layer.set_quantization(quantization);
  }
}

}  // namespace octet
