#include <fmt/format.h>
#include <octet/layers/activation.h>
#include <octet/layers/folded_batch_norm.h>
#include <octet/layers/quantize/batch_norm_folding.h>
#include <octet/layers/quantize/quantize_model.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace octet {

const BatchNorm* as_batch_norm(const Layer& layer) {
  return dynamic_cast<const BatchNorm*>(&layer);
}

std::string why_not_foldable(const Model& model, std::size_t i) {
  const std::size_t read = model.inputs_of(i).front();
  Layer& layer = *model.layers()[read];
  const std::string found =
      fmt::format("found \"{}\" of type {} in front", layer.name(), layer.type());
  if (!layer.weights()) {
    return found + ", which has no kernel; put the BatchNorm right behind a layer that has one";
  }
  if (layer.activation() != Activation::none) {
    return fmt::format(
        "{}, which ends in {}; leave that out there, and put it behind the BatchNorm as a layer",
        found, to_string(layer.activation()));
  }
  if (layer.folded_batch_norm() != nullptr) return found + ", which has one already";
  if (model.is_output(read)) return found + ", which is an output of the model as well";
  const std::size_t readers = model.readers(read).size();
  if (readers == 1) return "";
  return fmt::format("{}, which {} layers read; let all of them read the BatchNorm", found,
                     readers);
}

std::size_t foldable_reader(const Model& model, std::size_t i) {
  const std::vector<std::size_t> readers = model.readers(i);
  const bool norm = readers.size() == 1 && as_batch_norm(*model.layers()[readers[0]]) != nullptr;
  return norm && why_not_foldable(model, readers[0]).empty() ? readers[0] : i;
}

Model with_folded_batch_norm(const Model& model) {
  Model result(model.name());
  std::vector<std::optional<Value>> values(model.layers().size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i]) continue;
    std::unique_ptr<Layer> layer = model.layers()[i]->clone();
    const std::size_t norm = foldable_reader(model, i);
    if (norm != i) {
      layer = std::make_unique<FoldedBatchNorm>(std::move(layer),
                                                as_batch_norm(*model.layers()[norm])->copy());
    }
    std::vector<Value> inputs;
    for (const std::size_t input : model.inputs_of(i)) inputs.push_back(*values[input]);
    values[i] = result.add(std::move(layer), inputs);
    values[norm] = values[i];
    Layer& added = *result.layers().back();
    if (!added.built()) {
      added.build_all(result.shapes_read_by(result.layers().size() - 1), Random());
    }
  }
  for (const std::size_t output : model.output_layers()) result.output(*values[output]);
  return result;
}

void freeze_batch_norm(Model& model) {
  for (const auto& layer : model.layers()) {
    if (FoldedBatchNorm* folded = layer->folded_batch_norm()) folded->freeze();
  }
}

}  // namespace octet
