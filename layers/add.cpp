#include <octet/layers/add.h>
#include <octet/layers/graph.h>

namespace octet {

Add::Add(Activation activation, std::string name) : Merge(kType, activation, std::move(name)) {}

std::vector<GraphValue> Add::emit(Graph& graph, std::span<const GraphValue> inputs) const {
  return {merged(graph, OpCode::add, inputs)};
}

std::unique_ptr<Layer> Add::clone() const { return std::make_unique<Add>(*this); }

std::unique_ptr<Layer> Add::make(const Description& description) {
  return std::make_unique<Add>(merge_activation(description));
}

}  // namespace octet
