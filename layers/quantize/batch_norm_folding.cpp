#include <octet/layers/activation.h>
#include <octet/layers/channel_identity.h>
#include <octet/layers/folded_batch_norm.h>
#include <octet/layers/quantize/batch_norm_folding.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/layers/quantize/step_rules.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace octet {
namespace {

const BatchNorm* as_batch_norm(const Layer& layer) {
  return dynamic_cast<const BatchNorm*>(&layer);
}

/// Whether a layer with a mark or a LayerQuantization says how it is quantized.
bool has_own_way(const Layer& layer) {
  const LayerQuantization& own = layer.quantization();
  return layer.annotation() != nullptr || own.weight_bits || own.per_channel;
}

/// The BatchNorm that becomes part of layer `i`; null where there is none.
const BatchNorm* folded_into(const Model& model, std::size_t i,
                             FunctionRef<bool(const Layer&)> is_quantized) {
  Layer& layer = *model.layers()[i];
  const std::vector<std::size_t> readers = model.readers(i);
  if (readers.size() != 1 || model.is_output(i) || model.is_reused(i)) return nullptr;
  const BatchNorm* norm = as_batch_norm(*model.layers()[readers.front()]);
  if (model.is_reused(readers.front())) return nullptr;
  if (norm == nullptr || has_own_way(*norm) || is_quantized(layer) != is_quantized(*norm)) {
    return nullptr;
  }
  const bool foldable = layer.weights() && layer.activation() == Activation::none &&
                        folded_batch_norm(layer) == nullptr && is_linear_alone(layer);
  return foldable ? norm : nullptr;
}

/// Returns both layers as one, which is quantized as `layer` is.
std::unique_ptr<Layer> folded(std::unique_ptr<Layer> layer, const BatchNorm& norm,
                              BatchNormMode mode, const Layer& marked) {
  layer->remove_annotation();
  auto result = std::make_unique<FoldedBatchNorm>(std::move(layer), norm.copy(), mode);
  if (marked.quantization() != LayerQuantization{}) {
    result->set_quantization(marked.quantization());
  }
  if (marked.is_annotated()) result->annotate(marked.annotation());
  return result;
}

}  // namespace

Model with_folded_batch_norm(const Model& model, BatchNormMode mode,
                             FunctionRef<bool(const Layer&)> is_quantized) {
  Model result(model.name());
  std::vector<std::optional<Value>> values(model.layers().size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i]) continue;
    const Layer& source = *model.layers()[i];
    std::vector<Value> inputs;
    for (const std::size_t input : model.inputs_of(i)) inputs.push_back(*values[input]);
    std::unique_ptr<Layer> layer = clone_of(source, source.name());
    const BatchNorm* behind = folded_into(model, i, is_quantized);
    if (behind != nullptr) {
      layer = folded(std::move(layer), *behind, mode, source);
    } else if (const BatchNorm* alone = as_batch_norm(source)) {
      layer = folded(std::make_unique<ChannelIdentity>(source.name()), *alone, mode, source);
    }
    values[i] = result.add_built(std::move(layer), inputs);
    if (behind != nullptr) values[model.readers(i).front()] = values[i];
  }
  for (const std::size_t output : model.output_layers()) result.output(*values[output]);
  return result;
}

void freeze_batch_norm(Model& model) {
  for (const auto& layer : model.layers()) {
    if (FoldedBatchNorm* folded = folded_batch_norm(*layer)) folded->freeze();
  }
}

}  // namespace octet
