#pragma once

#include <octet/layers/layer.h>

namespace octet {

/// A layer of a model that is used once more, for other inputs: what Model::reuse() adds.
/// Parameters, state and quantizers are those of the layer, which counts them; training sums its
/// gradients over all uses. Passes that change weights by what reads them (folding, equalization,
/// corrections) leave a layer that is reused as it is.
class ReusedLayer : public Layer {
 public:
  static constexpr std::string_view kType = "ReusedLayer";
  static std::unique_ptr<Layer> make(const Description& description);

  /// `of` is the name of the layer, which the model has before this one.
  explicit ReusedLayer(std::string of, std::string name = "")
      : Layer(std::move(name)), of_(std::move(of)) {}

  ReusedLayer(const ReusedLayer& other) : Layer(other), of_(other.of()) {}

  std::string_view type() const override { return kType; }
  /// The name of the layer that is used.
  std::string of() const { return layer_ == nullptr ? of_ : layer_->name(); }
  /// The layer that is used. Throws InvalidArgument before the layer joins a model.
  Layer& layer() const;
  /// Makes it a layer of a model, as Model::add() does.
  void use(Layer& layer) {
    layer_ = &layer;
    set_activation(layer.activation());
  }

  std::vector<GraphValue> emit(Graph& graph, std::span<const GraphValue> inputs) const override;
  /// The quantizer of the result and the rounding mode; the layer itself counts its quantizers.
  std::optional<LayerQuantizers> quantized_by() const override;
  void describe(Description& description) const override;
  /// A copy that is in no model.
  std::unique_ptr<Layer> clone() const override { return std::make_unique<ReusedLayer>(*this); }

 protected:
  /// Throws InvalidArgument unless the layer is built for inputs of these shapes.
  Shape result_shape(std::span<const Shape> input_shapes) const override;

 private:
  std::string of_;
  Layer* layer_ = nullptr;
};

/// The layer as one; null for any other.
ReusedLayer* as_reused_layer(Layer& layer);
const ReusedLayer* as_reused_layer(const Layer& layer);

}  // namespace octet
