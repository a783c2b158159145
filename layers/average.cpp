#include <octet/layers/average.h>
#include <octet/layers/graph.h>

namespace octet {

std::vector<GraphValue> Average::emit(Graph& g, std::span<const GraphValue> inputs) const {
  require_inputs_that_fit(g, inputs);
  const GraphValue sum = g.op(OpCode::add, {inputs.begin(), inputs.end()}, std::nullopt, "/sum");
  const GraphValue half = g.parameter("half", Tensor::full({1}, 0.5F));
  return {
      g.op(code(), {sum, half}, BinaryAttributes{.activation = fused_activation(activation())})};
}

}  // namespace octet
