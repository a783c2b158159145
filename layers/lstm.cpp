#include <fmt/core.h>
#include <octet/core/description.h>
#include <octet/core/error.h>
#include <octet/core/ops/ops.h>
#include <octet/layers/graph.h>
#include <octet/layers/lstm.h>
#include <octet/layers/program/float_operators.h>
#include <octet/runtime/operators/sequence_lstm.h>

#include <utility>

namespace octet {

LSTM::LSTM(Index units, LSTMOptions given)
    : Recurrent(kType, units, std::move(given),
                {.gates = {"i", "f", "c", "o"}, .states = 2, .starts_open = "f"}) {
  const LSTMOptions& o = options();
  if (!o.fused) return;
  const std::string_view other = o.masked                     ? "masked"
                                 : o.recurrent_dropout > 0.0F ? "recurrent_dropout"
                                 : o.truncation > 0           ? "truncation"
                                 : o.go_backwards             ? "go_backwards"
                                                              : "";
  if (other.empty()) return;
  throw InvalidArgument(fmt::format(
      "LSTM: expected fused without {}, which UNIDIRECTIONAL_SEQUENCE_LSTM does not have, found "
      "both; leave fused out",
      other));
}

std::unique_ptr<Layer> LSTM::make(const Description& description) {
  auto layer = make_recurrent<LSTM>(description);
  layer->carries_states_ = description.has(kCarriesStates) && description.flag(kCarriesStates);
  return layer;
}

void LSTM::describe(Description& description) const {
  Recurrent::describe(description);
  if (carries_states_) description.set(kCarriesStates, true);
}

std::vector<GraphValue> LSTM::emit(Graph& g, std::span<const GraphValue> inputs) const {
  const bool begins_at_zero = inputs.size() == 1;
  if (!is_one_operator() || !(begins_at_zero || carries_states_)) return Recurrent::emit(g, inputs);
  std::vector<GraphValue> kernels;
  const auto& gates = cell().gates;
  for (std::size_t i = 0; i < gates.size(); ++i) {
    kernels.push_back(g.parameter(fmt::format("kernel_{}", gates[i]),
                                  [this, i] { return transpose(input_weights(i).kernel); }));
  }
  for (std::size_t i = 0; i < gates.size(); ++i) {
    kernels.push_back(g.parameter(fmt::format("recurrent_kernel_{}", gates[i]),
                                  [this, i] { return transpose(recurrent_weights(i).kernel); }));
  }
  const bool gives_all = options().return_sequences;
  std::vector<GraphValue> results = g.sequence_lstm(
      read_input(g, inputs[0]), kernels, first_states(g, inputs), [this] { return bias(); },
      gives_all ? "" : "/sequence");
  if (gives_all) return results;
  const Index steps = g.shape(results[0])[0];
  const GraphValue last = g.slice(results[0], {{steps - 1, steps}, {0, units()}}, "/last");
  results[0] = g.reshape(last, {units()});
  return results;
}

/// The formulas of LSTM, of kernels that lie as the operator reads them, [units, depth].
Tensor float_forms::unidirectional_sequence_lstm(const FloatCall& call) {
  constexpr std::size_t kLeast = 1 + 2 * detail::kLstmGates;
  const bool begins = call.x.size() == kLeast + 2;
  if (call.x.size() != kLeast && !begins) {
    throw InvalidArgument(fmt::format(
        "{}: expected UNIDIRECTIONAL_SEQUENCE_LSTM to read sequences, eight kernels and "
        "two states or none, found {} inputs",
        call.owner(), call.x.size()));
  }
  const Tensor& x = call.x[0];
  const Index batch = x.dim(0);
  const Index units = call.x[1].dim(0);
  const auto side_by_side = [&](std::size_t first) {
    const auto kernels = call.x.subspan(first, detail::kLstmGates);
    return transpose(concatenate({kernels.begin(), kernels.end()}));
  };
  const Tensor of_x = linear(x, side_by_side(1), call.step.weights().bias);
  const Tensor recurrent = side_by_side(1 + detail::kLstmGates);
  Tensor h = begins ? call.x[kLeast] : Tensor::zeros({batch, units});
  Tensor c = begins ? call.x[kLeast + 1] : h;
  std::vector<Tensor> states;
  for (Index t = 0; t < x.dim(1); ++t) {
    const Tensor row = slice(of_x, {{0, batch}, {t, t + 1}, {0, of_x.dim(2)}});
    const Tensor sums = add(row.reshape({batch, of_x.dim(2)}), matmul(h, recurrent));
    const auto gate = [&](Index i) {
      return slice(sums, {{0, batch}, {i * units, (i + 1) * units}});
    };
    c = add(mul(sigmoid(gate(1)), c), mul(sigmoid(gate(0)), octet::tanh(gate(2))));
    h = mul(sigmoid(gate(3)), octet::tanh(c));
    states.push_back(h.reshape({batch, 1, units}));
  }
  return call.step.output == 2 ? c : concatenate(states, 1);
}

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
