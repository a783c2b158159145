#include <octet/core/arithmetic/hard_swish.h>
#include <octet/layers/graph.h>
#include <octet/layers/hard_swish.h>
#include <octet/layers/program/float_operators.h>

namespace octet {

std::vector<GraphValue> HardSwish::emit(Graph& graph, std::span<const GraphValue> inputs) const {
  return {graph.op(OpCode::hard_swish, {inputs[0]})};
}

std::unique_ptr<Layer> HardSwish::make(const Description& /*description*/) {
  return std::make_unique<HardSwish>();
}

std::unique_ptr<Layer> HardSwish::clone() const { return std::make_unique<HardSwish>(*this); }

/// x relu6(x + 3) / 6.
Tensor float_forms::hard_swish(const FloatCall& call) {
  return smooth("hard_swish", Work::map_floats, call.x[0], detail::hard_swish,
                detail::hard_swish_slope);
}

}  // namespace octet
