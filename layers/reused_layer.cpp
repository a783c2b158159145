#include <fmt/core.h>
#include <octet/core/description.h>
#include <octet/core/error.h>
#include <octet/layers/graph.h>
#include <octet/layers/reused_layer.h>

#include <algorithm>

namespace octet {

Layer& ReusedLayer::layer() const {
  if (layer_ == nullptr) {
    throw InvalidArgument(
        fmt::format("ReusedLayer \"{}\": expected a layer of a model that has \"{}\", found one "
                    "that is in no model; use Model::reuse()",
                    name(), of_));
  }
  return *layer_;
}

std::vector<GraphValue> ReusedLayer::emit(Graph& graph, std::span<const GraphValue> inputs) const {
  return graph.emit_again(layer(), inputs);
}

Shape ReusedLayer::result_shape(std::span<const Shape> input_shapes) const {
  const Layer& used = layer();
  if (!std::ranges::equal(used.input_shapes(), input_shapes)) {
    const auto text = [](std::span<const Shape> shapes) {
      std::string all;
      for (const Shape& shape : shapes) all += (all.empty() ? "" : ", ") + shape.to_string();
      return all;
    };
    throw InvalidArgument(fmt::format(
        "layer \"{}\": expected inputs of the shapes that \"{}\" was built for, {}, found {}",
        name(), used.name(), text(used.input_shapes()), text(input_shapes)));
  }
  return used.output_shape();
}

std::optional<LayerQuantizers> ReusedLayer::quantized_by() const {
  if (!layer().is_quantized()) return std::nullopt;
  return LayerQuantizers{.result = layer().result_quantizer(), .contract = layer().contract()};
}

void ReusedLayer::describe(Description& description) const { description.set("layer", of()); }

std::unique_ptr<Layer> ReusedLayer::make(const Description& description) {
  return std::make_unique<ReusedLayer>(description.text("layer"));
}

ReusedLayer* as_reused_layer(Layer& layer) { return dynamic_cast<ReusedLayer*>(&layer); }
const ReusedLayer* as_reused_layer(const Layer& layer) {
  return dynamic_cast<const ReusedLayer*>(&layer);
}

}  // namespace octet
