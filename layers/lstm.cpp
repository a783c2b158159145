#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/layers/graph.h>
#include <octet/layers/lstm.h>

namespace octet {

LSTM::LSTM(Index units, LSTMOptions options)
    : Recurrent(kType, units, std::move(options),
                {.gates = {"i", "f", "c", "o"}, .states = 2, .starts_open = "f"}) {}

std::vector<GraphValue> LSTM::step(Graph& g, std::span<const GraphValue> x,
                                   std::span<const GraphValue> states) const {
  const std::vector<GraphValue> u = recurrent_products(g, states[0]);
  const auto op = [&](OpCode code, const std::vector<GraphValue>& inputs, std::string_view name) {
    return g.op(code, inputs, std::nullopt, name);
  };
  const GraphValue i = op(OpCode::logistic, {op(OpCode::add, {x[0], u[0]}, "/sum_i")}, "/i");
  const GraphValue f = op(OpCode::logistic, {op(OpCode::add, {x[1], u[1]}, "/sum_f")}, "/f");
  const GraphValue candidate = op(OpCode::tanh, {op(OpCode::add, {x[2], u[2]}, "/sum_c")}, "/c");
  const GraphValue o = op(OpCode::logistic, {op(OpCode::add, {x[3], u[3]}, "/sum_o")}, "/o");
  const GraphValue kept = op(OpCode::mul, {f, states[1]}, "/kept");
  const GraphValue added = op(OpCode::mul, {i, candidate}, "/added");
  const GraphValue cell = op(OpCode::add, {kept, added}, "/cell");
  const GraphValue h = op(OpCode::mul, {o, op(OpCode::tanh, {cell}, "/cell_tanh")}, "/h");
  return {h, cell};
}

std::vector<GraphValue> CellState::emit(Graph& g, std::span<const GraphValue> inputs) const {
  std::vector<GraphValue> states = g.beside(inputs[0]);
  if (!states.empty()) return states;
  // Looked at alone, it stands for the last step of what it reads.
  if (g.is_from_outside(inputs[0])) {
    const Shape read = g.shape(inputs[0]);
    if (read.rank() == 1) return {inputs[0]};
    const GraphValue last = g.slice(inputs[0], {{read[0] - 1, read[0]}, {0, read[1]}}, "/last");
    return {g.reshape(last, {read[1]})};
  }
  throw InvalidArgument(fmt::format(
      "CellState \"{}\": expected to read an LSTM, found a result of another layer", name()));
}

Shape CellState::result_shape(std::span<const Shape> input_shapes) const {
  return {input_shapes[0].dim(-1)};
}

}  // namespace octet
