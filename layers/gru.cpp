#include <octet/layers/graph.h>
#include <octet/layers/gru.h>

namespace octet {

GRU::GRU(Index units, GRUOptions options)
    : Recurrent(kType, units, std::move(options),
                {.gates = {"z", "r", "n"}, .has_recurrent_bias = true}) {}

std::vector<GraphValue> GRU::step(Graph& g, std::span<const GraphValue> x,
                                  std::span<const GraphValue> states) const {
  const GraphValue h = states[0];
  const std::vector<GraphValue> u = recurrent_products(g, h);
  const auto op = [&](OpCode code, const std::vector<GraphValue>& inputs, std::string_view name) {
    return g.op(code, inputs, std::nullopt, name);
  };
  const GraphValue z = op(OpCode::logistic, {op(OpCode::add, {x[0], u[0]}, "/sum_z")}, "/z");
  const GraphValue r = op(OpCode::logistic, {op(OpCode::add, {x[1], u[1]}, "/sum_r")}, "/r");
  const GraphValue reset = op(OpCode::mul, {r, u[2]}, "/reset");
  const GraphValue n = op(OpCode::tanh, {op(OpCode::add, {x[2], reset}, "/sum_n")}, "/n");
  const GraphValue kept = op(OpCode::mul, {z, op(OpCode::sub, {h, n}, "/difference")}, "/kept");
  return {op(OpCode::add, {n, kept}, "/h")};
}

}  // namespace octet
