#include <fmt/core.h>
#include <octet/core/description.h>
#include <octet/core/error.h>
#include <octet/core/ops/ops.h>
#include <octet/layers/embedding.h>
#include <octet/layers/graph.h>
#include <octet/layers/program/float_operators.h>

namespace octet {

Embedding::Embedding(Index input_dim, Index output_dim, std::string name)
    : Layer(std::move(name)), input_dim_(input_dim), output_dim_(output_dim) {
  if (input_dim >= 1 && output_dim >= 1) return;
  throw InvalidArgument(
      fmt::format("Embedding \"{}\": expected at least one index and one feature, found {} and {}",
                  this->name(), input_dim, output_dim));
}

Embedding::Embedding(const Embedding& other)
    : Layer(other),
      input_dim_(other.input_dim_),
      output_dim_(other.output_dim_),
      embeddings_(clone_leaf(other.embeddings_)) {}

std::vector<GraphValue> Embedding::emit(Graph& graph, std::span<const GraphValue> inputs) const {
  return {graph.op(OpCode::gather, {graph.parameter("embeddings", embeddings_), inputs[0]})};
}

void Embedding::describe(Description& description) const {
  description.set("input_dim", input_dim_).set("output_dim", output_dim_);
}

std::unique_ptr<Layer> Embedding::make(const Description& d) {
  return std::make_unique<Embedding>(d.integer("input_dim"), d.integer("output_dim"));
}

void Embedding::make_tensors(std::span<const Shape> /*input_shapes*/, const Random& random) {
  // Keras' "uniform".
  constexpr float kMost = 0.05F;
  embeddings_ =
      Tensor::uniform({input_dim_, output_dim_}, random, -kMost, kMost).set_requires_grad(true);
}

Tensor float_forms::gather(const FloatCall& call) {
  return take_rows(call.x[0], call.x[1], call.owner());
}

}  // namespace octet
