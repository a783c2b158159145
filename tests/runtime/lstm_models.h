#pragma once

#include <octet/runtime/streaming_interpreter.h>
#include <octet/tests/runtime/naive.h>

#include <array>
#include <cstdint>
#include <string>

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

/// The sequences are tensor 0, the weights 1 to 8, the biases 9 to 12, the states 13 and 14, and
/// the outputs 15 to 17.
inline IntegerModel lstm_model(const SequenceLstm& of) {
  RawModelBuilder b;
  Draw draw(7);
  const bool wide = of.dtype == DType::int16;
  const QuantParams x = wide ? quant(0.0001F, 0, of.dtype) : quant(0.02F, -3);
  const QuantParams hidden = wide ? quant(1.0F / 32768, 0, of.dtype) : quant(0.0078F, 4);
  const QuantParams cell = quant(1.0F / 2048, 0, DType::int16);
  const bool time_major = of.attributes.time_major;
  const auto sequences = [&](std::int32_t values) {
    return time_major ? std::vector{of.steps, of.batch, values}
                      : std::vector{of.batch, of.steps, values};
  };
  std::vector<std::int32_t> inputs = {b.add({"x", of.dtype, sequences(of.inputs), {}, x, {}})};
  for (const std::int32_t depth : {of.inputs, of.cells}) {
    for (int gate = 0; gate < 4; ++gate) {
      const auto count = static_cast<std::size_t>(of.cells) * static_cast<std::size_t>(depth);
      inputs.push_back(b.constant("weights" + std::to_string(inputs.size()), {of.cells, depth},
                                  DType::int8, random_codes(count, draw), quant(0.01F, 0)));
    }
  }
  for (int gate = 0; gate < 4; ++gate) {
    const std::string name = "bias" + std::to_string(gate);
    const std::vector<std::int32_t> small(static_cast<std::size_t>(of.cells), 100 * gate);
    const std::vector<std::int64_t> large(small.begin(), small.end());
    const QuantParams grid = quant(x.scale() * 0.01F, 0, wide ? DType::int64 : DType::int32);
    inputs.push_back(wide ? b.constant(name, {of.cells}, DType::int64, large, grid)
                          : b.constant(name, {of.cells}, DType::int32, small, grid));
  }
  const std::vector<std::int32_t> state{of.batch, of.cells};
  inputs.push_back(b.add({"hidden", of.dtype, state, {}, hidden, {}}));
  inputs.push_back(b.add({"cell", DType::int16, state, {}, cell, {}}));
  const auto y = b.add({"y", of.dtype, sequences(of.cells), {}, hidden, {}});
  const auto next_hidden = b.add({"hidden/0", of.dtype, state, {}, hidden, {}});
  const auto next_cell = b.add({"cell/0", DType::int16, state, {}, cell, {}});
  b.model.inputs = {0, inputs[13], inputs[14]};
  b.model.outputs = {y, next_hidden, next_cell};
  b.op(OpCode::unidirectional_sequence_lstm, std::move(inputs), y, of.attributes).outputs =
      b.model.outputs;
  keep_states(b.model, {{{1, 1}, {2, 2}}, 1});
  return b.model;
}

/// lstm_model() of int8 whose states begin at 0 in each call.
inline IntegerModel lstm_of_one_call() {
  IntegerModel model = lstm_model({});
  model.metadata.erase("octet.states");
  model.inputs.resize(1);
  model.outputs.resize(1);
  for (const std::size_t state : {13U, 14U}) {
    ModelTensor& tensor = model.tensors[state];
    const auto zero = static_cast<std::uint8_t>(tensor.quantization.zero_point());
    tensor.data.assign(static_cast<std::size_t>(tensor.size()) * size_of(tensor.dtype), zero);
  }
  return model;
}

}  // namespace octet::test
