#include <octet/import/onnx/builder.h>
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
  std::unique_ptr<Layer> (*layer)(Index units, RecurrentOptions options);
};

template <class L>
std::unique_ptr<Layer> made(Index units, RecurrentOptions options) {
  return std::make_unique<L>(units, std::move(options));
}

const Recurrence& recurrence_of(const Node& node) {
  static const std::vector<Recurrence> all = {
      {"LSTM", {0, 2, 3, 1}, 2, "Sigmoid,Tanh,Tanh", made<LSTM>},
      {"GRU", {0, 1, 2}, 1, "Sigmoid,Tanh", made<GRU>},
      {"RNN", {0}, 1, "Tanh", made<SimpleRNN>}};
  return *std::ranges::find(all, node.op, &Recurrence::op);
}

void require_plain(const Builder& builder, const Node& node, const Recurrence& of, Index steps) {
  if (node.text("direction", "forward") != "forward") {
    refuse("expected direction forward, found {}", node.text("direction", "forward"));
  }
  if (node.text("activations", std::string(of.activations)) != of.activations) {
    refuse("expected activations {}, found {}", of.activations, node.text("activations", ""));
  }
  if (node.attributes.contains("clip") || node.integer("input_forget", 0) != 0 || node.has(7)) {
    refuse("expected no clip, input_forget or peepholes");
  }
  if (node.op == "GRU" && node.integer("linear_before_reset", 0) != 1) {
    refuse("expected linear_before_reset 1, as PyTorch and Keras (reset_after) have it, found 0");
  }
  if (const Constant* lengths = builder.constant(node, 4)) {
    if (!std::ranges::all_of(lengths->integers(), [steps](auto n) { return n == steps; })) {
      refuse("expected sequences of {} steps each, found sequence_lens", steps);
    }
  }
}

/// Weights [1, gates * units, inputs] as [inputs, gates * units], the gates in the layer's order.
Tensor kernel_of(const Constant& weights, const Recurrence& of, Index units, Index inputs) {
  const auto gates = static_cast<Index>(of.gates.size());
  if (weights.shape != Shape{1, gates * units, inputs}) {
    refuse("expected weights [1, {}, {}], found {}", gates * units, inputs,
           weights.shape.to_string());
  }
  Tensor kernel({inputs, gates * units});
  for (Index g = 0; g < gates; ++g) {
    for (Index k = 0; k < units; ++k) {
      for (Index i = 0; i < inputs; ++i) {
        kernel.mutable_at({i, g * units + k}) =
            weights.floats()[at((of.gates[at(g)] * units + k) * inputs + i)];
      }
    }
  }
  return kernel;
}

/// Biases [1, 2 * gates * units], those of the inputs in front, as the layer has them: GRU's apart,
/// others added.
Tensor bias_of(const Constant* given, const Recurrence& of, Index units) {
  const auto gates = static_cast<Index>(of.gates.size());
  const bool apart = of.op == "GRU";
  Tensor bias = Tensor::zeros(apart ? Shape{2, gates * units} : Shape{gates * units});
  if (given == nullptr) return bias;
  if (given->shape != Shape{1, 2 * gates * units}) {
    refuse("expected biases [1, {}], found {}", 2 * gates * units, given->shape.to_string());
  }
  for (Index k = 0; k < 2 * gates * units; ++k) {
    const Index row = k / (gates * units);
    const Index column = k % (gates * units);
    const Index from = (row * gates + of.gates[at(column / units)]) * units + column % units;
    bias.mutable_data()[apart ? k : column] += given->floats()[at(from)];
  }
  return bias;
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
      Imported state = builder.value(node, i);
      state.batch = 0;
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
  Imported x = builder.value(node, 0);
  if (x.logical.rank() != 2 || x.batch != (batch_first ? 0 : 1)) {
    refuse(
        "expected sequences [{}], found the batch as axis {} of {} axes: export the model with "
        "batch_first=True",
        batch_first ? "batch, steps, features" : "steps, batch, features", x.batch,
        x.logical.rank() + 1);
  }
  x.batch = 0;
  x = builder.arranged(node, x, {0, 1});
  const Index steps = x.logical[0];
  require_plain(builder, node, of, steps);
  const Constant& recurrent = builder.required_constant(node, 2);
  const Index units = recurrent.shape.rank() == 3 ? recurrent.shape[2] : 0;
  if (units < 1) refuse("expected recurrent weights of one unit or more");
  const auto reads = [&](std::size_t i) {
    return i < node.outputs.size() && builder.is_read(node.outputs[i]);
  };
  if (reads(2)) refuse("expected its states h to be read, found its cell, which no result is");
  Weights tensors = {
      {"kernel", kernel_of(builder.required_constant(node, 1), of, units, x.logical[1])},
      {"recurrent_kernel", kernel_of(recurrent, of, units, units)},
      {"bias", bias_of(builder.constant(node, 3), of, units)}};
  std::vector<Imported> inputs = {x};
  for (Imported& state : first_states(builder, node, of, units)) inputs.push_back(std::move(state));
  Imported all =
      builder.add(node, of.layer(units, {.return_sequences = reads(0)}), inputs,
                  reads(0) ? std::vector<Index>{0, 2} : std::vector<Index>{1}, std::move(tensors));
  Imported last = all;
  if (reads(0)) {
    all.batch = batch_first ? 0 : 2;
    if (!reads(1)) return all;
    Node part;
    part.name = node.name + "/last";
    const Slice slice({.axis = 0, .begin = steps - 1, .size = 1});
    last = builder.add(part, slice.clone(), {all}, {0, 1});
  }
  last.batch = batch_first ? 0 : 1;
  if (reads(1)) builder.set_result(node, 1, last);
  return reads(0) ? all : last;
}

constexpr std::array<Operator, 3> kRecurrent = {
    {{"GRU", import_recurrent}, {"LSTM", import_recurrent}, {"RNN", import_recurrent}}};

}  // namespace

std::span<const Operator> recurrent_operators() { return kRecurrent; }

}  // namespace octet::detail::onnx_import
