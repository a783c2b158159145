#include <octet/layers/graph.h>
#include <octet/layers/hard_swish.h>

namespace octet {

std::vector<GraphValue> HardSwish::emit(Graph& graph, std::span<const GraphValue> inputs) const {
  return {graph.op(OpCode::hard_swish, {inputs[0]})};
}

std::unique_ptr<Layer> HardSwish::make(const Description& /*description*/) {
  return std::make_unique<HardSwish>();
}

std::unique_ptr<Layer> HardSwish::clone() const { return std::make_unique<HardSwish>(*this); }

}  // namespace octet
