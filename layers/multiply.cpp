#include <octet/layers/graph.h>
#include <octet/layers/multiply.h>

namespace octet {

Multiply::Multiply(Activation activation, std::string name)
    : Merge(kType, activation, std::move(name)) {}

std::vector<GraphValue> Multiply::emit(Graph& graph, std::span<const GraphValue> inputs) const {
  return {merged(graph, OpCode::mul, inputs)};
}

std::unique_ptr<Layer> Multiply::clone() const { return std::make_unique<Multiply>(*this); }

std::unique_ptr<Layer> Multiply::make(const Description& description) {
  return std::make_unique<Multiply>(merge_activation(description));
}

}  // namespace octet
