#include <octet/import/onnx/builder.h>
#include <octet/layers/bidirectional.h>
#include <octet/layers/gru.h>
#include <octet/layers/lstm.h>
#include <octet/layers/simple_rnn.h>
#include <octet/layers/slice.h>

#include <algorithm>

// LSTM, GRU and RNN over sequences, which ONNX has as [steps, batch, features] (layout 0) or
// [batch, steps, features].

namespace octet::detail::onnx_import {
namespace {

/// What a recurrent operator of ONNX is in Octet.
struct Recurrence {
  std::string_view op;
  /// By gate of the layer: which of ONNX's it is.
  std::vector<Index> gates;
  std::size_t states;
  /// The activations of ONNX's default.
  std::string_view activations;
  std::unique_ptr<Recurrent> (*layer)(Index units, RecurrentOptions options);
};

template <class L>
std::unique_ptr<Recurrent> made(Index units, RecurrentOptions options) {
  return std::make_unique<L>(units, std::move(options));
}

std::string direction_of(const Node& node) {
  return std::string(node.text("direction", "forward"));
}

bool goes_both_ways(const Node& node) { return direction_of(node) == "bidirectional"; }

bool goes_backwards(const Node& node) { return direction_of(node) == "reverse"; }

const Recurrence& recurrence_of(const Node& node) {
  static const std::vector<Recurrence> all = {
      {"LSTM", {0, 2, 3, 1}, 2, "Sigmoid,Tanh,Tanh", made<LSTM>},
      {"GRU", {0, 1, 2}, 1, "Sigmoid,Tanh", made<GRU>},
      {"RNN", {0}, 1, "Tanh", made<SimpleRNN>}};
  return *std::ranges::find(all, node.op, &Recurrence::op);
}

void require_plain(const Builder& builder, const Node& node, const Recurrence& of, Index steps) {
  const bool both = goes_both_ways(node);
  if (direction_of(node) != "forward" && !both && !goes_backwards(node)) {
    refuse("expected direction forward, reverse or bidirectional, found {}", direction_of(node));
  }
  std::string activations(of.activations);
  if (both) activations += "," + activations;
  if (node.text("activations", activations) != activations) {
    refuse("expected activations {}, found {}", activations, node.text("activations", ""));
  }
  if (node.attributes.contains("clip") || node.integer("input_forget", 0) != 0 || node.has(7)) {
    refuse("expected no clip, input_forget or peepholes");
  }
  if (const Constant* lengths = builder.constant(node, 4)) {
    if (!std::ranges::all_of(lengths->integers(), [steps](auto n) { return n == steps; })) {
      refuse("expected sequences of {} steps each, found sequence_lens", steps);
    }
  }
}

/// Weights [directions, gates * units, inputs] of a direction as [inputs, gates * units], the gates
/// in the layer's order.
Tensor kernel_of(const Constant& weights, const Recurrence& of, Index direction, Index units,
                 Index inputs) {
  const auto gates = static_cast<Index>(of.gates.size());
  Tensor kernel({inputs, gates * units});
  for (Index g = 0; g < gates; ++g) {
    for (Index k = 0; k < units; ++k) {
      const Index row = (direction * gates + of.gates[at(g)]) * units + k;
      for (Index i = 0; i < inputs; ++i) {
        kernel.mutable_at({i, g * units + k}) = weights.floats()[at(row * inputs + i)];
      }
    }
  }
  return kernel;
}

/// Whether a GRU resets the product with the state, as PyTorch and Keras do, not the state itself.
bool resets_after(const Node& node) { return node.integer("linear_before_reset", 0) != 0; }

/// Biases [directions, 2 * gates * units], those of the inputs in front, of a direction as the
/// layer has them: apart in a GRU that resets products, others added.
Tensor bias_of(const Constant* given, const Recurrence& of, bool apart, Index direction,
               Index units) {
  const auto gates = static_cast<Index>(of.gates.size());
  Tensor bias = Tensor::zeros(apart ? Shape{2, gates * units} : Shape{gates * units});
  if (given == nullptr) return bias;
  for (Index k = 0; k < 2 * gates * units; ++k) {
    const Index row = direction * 2 + k / (gates * units);
    const Index column = k % (gates * units);
    const Index from = (row * gates + of.gates[at(column / units)]) * units + column % units;
    bias.mutable_data()[apart ? k : column] += given->floats()[at(from)];
  }
  return bias;
}

/// The tensors of the layer, by its names: those of both directions where it has them.
Weights tensors_of(const Builder& builder, const Node& node, const Recurrence& of, Index units,
                   Index features) {
  const Index directions = goes_both_ways(node) ? 2 : 1;
  const Index rows = static_cast<Index>(of.gates.size()) * units;
  const auto checked = [&](std::size_t i, const Shape& shape) -> const Constant& {
    const Constant& found = builder.required_constant(node, i);
    if (found.shape == shape) return found;
    refuse("expected {} of {} as input {}, found {}", i == 3 ? "biases" : "weights",
           shape.to_string(), i, found.shape.to_string());
  };
  const Constant& kernel = checked(1, {directions, rows, features});
  const Constant& recurrent = checked(2, {directions, rows, units});
  const Constant* bias =
      builder.constant(node, 3) == nullptr ? nullptr : &checked(3, {directions, 2 * rows});
  const bool apart = node.op == "GRU" && resets_after(node);
  Weights tensors;
  for (Index d = 0; d < directions; ++d) {
    const std::string prefix = directions == 1 ? "" : d == 0 ? "forward_" : "backward_";
    tensors.emplace_back(prefix + "kernel", kernel_of(kernel, of, d, units, features));
    tensors.emplace_back(prefix + "recurrent_kernel", kernel_of(recurrent, of, d, units, units));
    tensors.emplace_back(prefix + "bias", bias_of(bias, of, apart, d, units));
  }
  return tensors;
}

/// The first states that a value gives; none where they are zeros.
std::vector<Imported> first_states(Builder& builder, const Node& node, const Recurrence& of,
                                   Index units) {
  std::vector<Imported> states;
  for (std::size_t i = 5; i < 5 + of.states; ++i) {
    if (builder.is_constant(node, i)) {
      const std::vector<float>& values = builder.required_constant(node, i).floats();
      if (!std::ranges::all_of(values, [](float v) { return v == 0.0F; })) {
        refuse("expected first states of 0, or ones that are computed, found other constants");
      }
    } else if (node.has(i)) {
      Imported state = builder.unjoined(node, i);
      state.batch = {};
      states.push_back(builder.arranged(node, builder.reshaped(node, state, {units}), {0}));
    }
  }
  if (!states.empty() && states.size() != of.states) {
    refuse("expected all of {} first states to be computed, or none, found {}", of.states,
           states.size());
  }
  return states;
}

Imported import_recurrent(Builder& builder, const Node& node) {
  const Recurrence& of = recurrence_of(node);
  const bool batch_first = node.integer("layout", 0) == 1;
  // One step of one example is the same either way.
  Imported x = builder.with_batch_at(builder.unjoined(node, 0), batch_first ? 0 : 1);
  if (x.logical.rank() != 2 || x.batch.axis != (batch_first ? 0 : 1)) {
    refuse(
        "expected sequences [{}], found the batch as axis {} of {} axes: export the model with "
        "batch_first=True",
        batch_first ? "batch, steps, features" : "steps, batch, features", x.batch.axis,
        x.logical.rank() + 1);
  }
  x.batch = {};
  x = builder.arranged(node, x, {0, 1});
  const Index steps = x.logical[0];
  require_plain(builder, node, of, steps);
  const Constant& recurrent = builder.required_constant(node, 2);
  const Index units = recurrent.shape.rank() == 3 ? recurrent.shape[2] : 0;
  if (units < 1) refuse("expected recurrent weights of one unit or more");
  const auto reads = [&](std::size_t i) {
    return i < node.outputs.size() && builder.is_read(node.outputs[i]);
  };
  Weights tensors = tensors_of(builder, node, of, units, x.logical[1]);
  std::vector<Imported> inputs = {x};
  for (Imported& state : first_states(builder, node, of, units)) inputs.push_back(std::move(state));
  std::unique_ptr<Recurrent> layer =
      of.layer(units, {.return_sequences = reads(0),
                       .reset_after = node.op != "GRU" || resets_after(node),
                       .go_backwards = goes_backwards(node)});
  if (goes_both_ways(node)) {
    if (reads(0) == reads(1) || reads(2) || inputs.size() > 1) {
      refuse("expected one result of both directions to be read, no cell, and first states of 0");
    }
    Imported both = builder.add(node, std::make_unique<Bidirectional>(std::move(layer)), inputs,
                                reads(0) ? std::vector<Index>{0, 1} : std::vector<Index>{0},
                                std::move(tensors));
    both.logical = both.physical;
    Imported apart =
        builder.reshaped(node, both, reads(0) ? Shape{steps, 2, units} : Shape{2, units});
    apart.batch.axis = batch_first ? 0 : reads(0) ? 2 : 1;
    if (reads(1)) builder.set_result(node, 1, apart);
    return apart;
  }
  Imported all =
      builder.add(node, std::move(layer), inputs,
                  reads(0) ? std::vector<Index>{0, 2} : std::vector<Index>{1}, std::move(tensors));
  Node part;
  if (reads(2)) {
    part.name = node.name + "/cell";
    Imported cell = builder.add(part, std::make_unique<CellState>(), {all}, {1});
    cell.batch.axis = batch_first ? 0 : 1;
    builder.set_result(node, 2, cell);
  }
  Imported last = all;
  if (reads(0)) {
    all.batch.axis = batch_first ? 0 : 2;
    if (!reads(1)) return all;
    part.name = node.name + "/last";
    const Index at = goes_backwards(node) ? 0 : steps - 1;
    const Slice slice({.axis = 0, .begin = at, .size = 1});
    last = builder.add(part, slice.clone(), {all}, {0, 1});
  }
  last.batch.axis = batch_first ? 0 : 1;
  if (reads(1)) builder.set_result(node, 1, last);
  return reads(0) ? all : last;
}

constexpr std::array<Operator, 3> kRecurrent = {
    {{"GRU", import_recurrent}, {"LSTM", import_recurrent}, {"RNN", import_recurrent}}};

}  // namespace

std::span<const Operator> recurrent_operators() { return kRecurrent; }

}  // namespace octet::detail::onnx_import
