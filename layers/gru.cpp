#include <octet/layers/graph.h>
#include <octet/layers/gru.h>

#include <utility>

namespace octet {

GRU::GRU(Index units, GRUOptions options)
    : Recurrent(kType, units, std::move(options),
                {.gates = {"z", "r", "n"}, .has_recurrent_bias = true}) {}

std::vector<GraphValue> GRU::step(Graph& g, std::span<const GraphValue> x,
                                  std::span<const GraphValue> states) const {
  const GraphValue h = states[0];
  const GraphValue read = read_state(g, h);
  const auto op = [&](OpCode code, const std::vector<GraphValue>& inputs, std::string_view name) {
    return g.op(code, inputs, std::nullopt, name);
  };
  const auto u = [&](GraphValue of, std::size_t i) { return recurrent_product(g, of, i); };
  const GraphValue u_z = u(read, 0);
  const GraphValue u_r = u(read, 1);
  const bool resets_after = options().reset_after;
  const GraphValue u_n = resets_after ? u(read, 2) : read;
  const GraphValue z = op(OpCode::logistic, {op(OpCode::add, {x[0], u_z}, "/sum_z")}, "/z");
  const GraphValue r = op(OpCode::logistic, {op(OpCode::add, {x[1], u_r}, "/sum_r")}, "/r");
  const GraphValue reset = op(OpCode::mul, {r, u_n}, "/reset");
  const GraphValue new_part = resets_after ? reset : u(reset, 2);
  const GraphValue n = op(OpCode::tanh, {op(OpCode::add, {x[2], new_part}, "/sum_n")}, "/n");
  const GraphValue kept = op(OpCode::mul, {z, op(OpCode::sub, {h, n}, "/difference")}, "/kept");
  return {op(OpCode::add, {n, kept}, "/h")};
}

}  // namespace octet
