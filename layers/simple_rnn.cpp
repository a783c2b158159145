#include <octet/layers/graph.h>
#include <octet/layers/simple_rnn.h>

namespace octet {

SimpleRNN::SimpleRNN(Index units, SimpleRNNOptions options)
    : Recurrent(kType, units, std::move(options), {.gates = {"h"}}) {}

std::vector<GraphValue> SimpleRNN::step(Graph& g, std::span<const GraphValue> x,
                                        std::span<const GraphValue> states) const {
  const GraphValue u = recurrent_products(g, states[0])[0];
  const GraphValue sum = g.op(OpCode::add, {x[0], u}, std::nullopt, "/sum");
  return {g.op(OpCode::tanh, {sum}, std::nullopt, "/h")};
}

}  // namespace octet
