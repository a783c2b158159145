#pragma once

#include <octet/layers/layer.h>

namespace octet {

/// Adds a trained vector to every position of sequences [steps, features]: y = x + p, as x plus
/// KerasHub's PositionEmbedding. Parameter: "embeddings" [steps, features], glorot_uniform.
/// Quantized, p has int8 values, a scale and a zero point of its own. build() throws
/// InvalidArgument for examples that are no sequences.
class PositionEmbedding : public Layer {
 public:
  static constexpr std::string_view kType = "PositionEmbedding";
  static std::unique_ptr<Layer> make(const Description& description);

  explicit PositionEmbedding(std::string name = "") : Layer(std::move(name)) {}
  PositionEmbedding(const PositionEmbedding& other);

  std::string_view type() const override { return kType; }
  std::vector<GraphValue> emit(Graph& graph, std::span<const GraphValue> inputs) const override;
  LayerTensors tensors() const override { return {.parameters = {{"embeddings", embeddings_}}}; }
  std::unique_ptr<Layer> clone() const override {
    return std::make_unique<PositionEmbedding>(*this);
  }

 protected:
  void make_tensors(std::span<const Shape> input_shapes, const Random& random) override;

 private:
  Tensor embeddings_;
};

}  // namespace octet
