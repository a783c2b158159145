#pragma once

#include <octet/runtime/streaming_interpreter.h>
#include <octet/tests/runtime/naive.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

// Models of one UNIDIRECTIONAL_SEQUENCE_LSTM that carry its states.

namespace octet::test {

struct SequenceLstm {
  std::int32_t batch = 1;
  std::int32_t steps = 3;
  std::int32_t inputs = 4;
  std::int32_t cells = 2;
  DType dtype = DType::int8;
  SequenceLstmAttributes attributes{};
};

/// The grids of an LSTM behind its input, and what its biases are drawn from: by unit, or anything
/// up to `bias`.
struct LstmGrids {
  float weights = 0.01F;
  QuantParams hidden = quant(0.0078F, 4);
  float cell = 1.0F / 2048;
  std::int32_t bias = 0;
};

/// Appends an operator to a model, which reads the sequences `x`. Its states are no inputs and
/// outputs of the model yet.
inline Operator& add_lstm(RawModelBuilder& b, std::int32_t x, const SequenceLstm& of,
                          const LstmGrids& grids, Draw& draw) {
  const bool wide = of.dtype == DType::int16;
  const QuantParams cell = quant(grids.cell, 0, DType::int16);
  const std::string prefix = x == 0 ? "" : "of" + std::to_string(x) + "/";
  std::vector<std::int32_t> inputs = {x};
  for (const std::int32_t depth : {of.inputs, of.cells}) {
    for (int gate = 0; gate < 4; ++gate) {
      const auto count = static_cast<std::size_t>(of.cells) * static_cast<std::size_t>(depth);
      inputs.push_back(b.constant(prefix + "weights" + std::to_string(inputs.size()),
                                  {of.cells, depth}, DType::int8, random_codes(count, draw),
                                  quant(grids.weights, 0)));
    }
  }
  const float scale = b.model.tensors[static_cast<std::size_t>(x)].quantization.scale();
  for (int gate = 0; gate < 4; ++gate) {
    const std::string name = prefix + "bias" + std::to_string(gate);
    std::vector<std::int32_t> small(static_cast<std::size_t>(of.cells), 100 * gate);
    for (std::int32_t& bias : small) {
      if (grids.bias > 0) bias = draw.between(-grids.bias, grids.bias);
    }
    const std::vector<std::int64_t> large(small.begin(), small.end());
    const QuantParams grid = quant(scale * grids.weights, 0, wide ? DType::int64 : DType::int32);
    inputs.push_back(wide ? b.constant(name, {of.cells}, DType::int64, large, grid)
                          : b.constant(name, {of.cells}, DType::int32, small, grid));
  }
  const std::vector<std::int32_t> state{of.batch, of.cells};
  const std::vector<std::int32_t> sequences = of.attributes.time_major
                                                  ? std::vector{of.steps, of.batch, of.cells}
                                                  : std::vector{of.batch, of.steps, of.cells};
  inputs.push_back(b.add({prefix + "hidden", of.dtype, state, {}, grids.hidden, {}}));
  inputs.push_back(b.add({prefix + "cell", DType::int16, state, {}, cell, {}}));
  const auto y = b.add({prefix + "y", of.dtype, sequences, {}, grids.hidden, {}});
  const auto next_hidden = b.add({prefix + "hidden/0", of.dtype, state, {}, grids.hidden, {}});
  const auto next_cell = b.add({prefix + "cell/0", DType::int16, state, {}, cell, {}});
  Operator& op = b.op(OpCode::unidirectional_sequence_lstm, std::move(inputs), y, of.attributes);
  op.outputs = {y, next_hidden, next_cell};
  return op;
}

/// Sequences as the first tensor of a model.
inline void add_sequences(RawModelBuilder& b, const SequenceLstm& of, const QuantParams& grid) {
  b.add({"x",
         of.dtype,
         of.attributes.time_major ? std::vector{of.steps, of.batch, of.inputs}
                                  : std::vector{of.batch, of.steps, of.inputs},
         {},
         grid,
         {}});
}

/// The sequences are tensor 0, the weights 1 to 8, the biases 9 to 12, the states 13 and 14, and
/// the outputs 15 to 17.
inline IntegerModel lstm_model(const SequenceLstm& of) {
  RawModelBuilder b;
  Draw draw(7);
  const bool wide = of.dtype == DType::int16;
  LstmGrids grids;
  if (wide) grids.hidden = quant(1.0F / 32768, 0, of.dtype);
  add_sequences(b, of, wide ? quant(0.0001F, 0, of.dtype) : quant(0.02F, -3));
  const Operator op = add_lstm(b, 0, of, grids, draw);
  b.model.inputs = {0, op.inputs[13], op.inputs[14]};
  b.model.outputs = op.outputs;
  keep_states(b.model, {{{1, 1}, {2, 2}}, 1});
  return b.model;
}

/// Makes states of the model constants of the real value 0.
inline void begin_at_zero(IntegerModel& model, std::span<const std::int32_t> states) {
  for (const std::int32_t state : states) {
    ModelTensor& tensor = model.tensors[static_cast<std::size_t>(state)];
    const auto zero = static_cast<std::uint8_t>(tensor.quantization.zero_point());
    tensor.data.assign(static_cast<std::size_t>(tensor.size()) * size_of(tensor.dtype), zero);
  }
}

/// lstm_model() of int8 whose states begin at 0 in each call.
inline IntegerModel lstm_of_one_call() {
  IntegerModel model = lstm_model({});
  model.metadata.erase("octet.states");
  model.inputs.resize(1);
  model.outputs.resize(1);
  begin_at_zero(model, std::array{13, 14});
  return model;
}

/// How the states of random_lstms() reach it: as kept states, or as constants.
enum class LstmStates { kept, of_one_call };

/// One to three LSTMs one behind the other, of any size, grids and attributes, by rounding mode
/// double; the model gives what the last one gives.
inline IntegerModel random_lstms(std::uint32_t seed, LstmStates states) {
  RawModelBuilder b;
  Draw draw(seed);
  SequenceLstm of{.batch = draw.between(0, 3) == 0 ? 3 : 1,
                  .steps = draw.between(1, 8),
                  .inputs = draw.between(1, 20),
                  .cells = 1};
  of.attributes.time_major = draw.between(0, 1) == 1;
  add_sequences(b, of, quant(draw.uniform(0.005F, 0.05F), draw.between(-128, 127)));
  b.model.inputs = {0};
  CarriedStates carried{{}, 1};
  std::vector<std::int32_t> next;
  std::int32_t x = 0;
  for (int layers = draw.between(1, 3); layers > 0; --layers) {
    of.cells = draw.between(1, 20);
    of.attributes.cell_clip = draw.between(0, 1) == 0 ? 0.0F : draw.uniform(0.01F, 8.0F);
    // A gate has sums from around 0 to where its function ends.
    const float scale = b.model.tensors[static_cast<std::size_t>(x)].quantization.scale();
    const LstmGrids grids{
        .weights = draw.uniform(0.0001F, 0.002F) / scale / static_cast<float>(of.inputs + of.cells),
        .hidden = quant(draw.uniform(0.003F, 0.02F), draw.between(-128, 127)),
        .cell = 1.0F / static_cast<float>(1 << draw.between(5, 15)),
        .bias = 20000};
    const Operator op = add_lstm(b, x, of, grids, draw);
    for (const std::size_t state : {0U, 1U}) {
      carried.states.push_back({b.model.inputs.size(), 1 + next.size()});
      next.push_back(op.outputs[1 + state]);
      b.model.inputs.push_back(op.inputs[13 + state]);
    }
    x = op.outputs[0];
    of.inputs = of.cells;
  }
  b.model.outputs = {x};
  b.model.metadata["octet.rounding"] = "double";
  if (states == LstmStates::of_one_call) {
    begin_at_zero(b.model, std::span(b.model.inputs).subspan(1));
    b.model.inputs.resize(1);
    return b.model;
  }
  b.model.outputs.insert(b.model.outputs.end(), next.begin(), next.end());
  keep_states(b.model, carried);
  return b.model;
}

}  // namespace octet::test
