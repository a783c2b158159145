#include <octet/layers/graph.h>
#include <octet/layers/image_layer.h>
#include <octet/layers/initializer.h>
#include <octet/layers/position_embedding.h>

namespace octet {

PositionEmbedding::PositionEmbedding(const PositionEmbedding& other)
    : Layer(other), embeddings_(clone_leaf(other.embeddings_)) {}

std::vector<GraphValue> PositionEmbedding::emit(Graph& graph,
                                                std::span<const GraphValue> inputs) const {
  return {graph.op(OpCode::add, {inputs[0], graph.parameter("embeddings", embeddings_)})};
}

std::unique_ptr<Layer> PositionEmbedding::make(const Description& /*description*/) {
  return std::make_unique<PositionEmbedding>();
}

void PositionEmbedding::make_tensors(std::span<const Shape> input_shapes, const Random& random) {
  const Shape& input_shape = input_shapes[0];
  detail::require_sequences(*this, input_shape);
  embeddings_ =
      initialize(Initializer::glorot_uniform, input_shape, input_shape[0], input_shape[1], random)
          .set_requires_grad(true);
}

}  // namespace octet
