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

Shape PositionEmbedding::do_build(const Shape& input_shape, const Random& random) {
  detail::require_sequences(*this, input_shape);
  embeddings_ =
      initialize(Initializer::glorot_uniform, input_shape, input_shape[0], input_shape[1], random)
          .set_requires_grad(true);
  return input_shape;
}

}  // namespace octet
