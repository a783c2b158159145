#pragma once

#include <octet/runtime/interpreter.h>
#include <octet/tests/runtime/int16_models.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

// A model of one operator, what it computes by its definition, and how its inputs are drawn.

namespace octet::test {

using Bytes = std::vector<std::uint8_t>;
/// The bytes of each input or each output of one sample.
using Values = std::vector<Bytes>;

struct DrawnOperator {
  IntegerModel model;
  /// The outputs of one sample by the operator's definition.
  std::function<Values(const Values& inputs, Rounding)> naive;
  /// Whether ONNX of style exact has it.
  bool has_exact_onnx = true;
  /// The inputs of one sample, where random_inputs() tells too little.
  std::function<Values(Draw&)> inputs{};
};

template <class T>
std::vector<T> values_of(const Bytes& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

/// Quantized values of any size, or floats of whole eighths, of which no sum is rounded.
inline Values random_inputs(const DrawnOperator& op, Draw& draw) {
  if (op.inputs) return op.inputs(draw);
  Values inputs;
  for (const std::int32_t i : op.model.inputs) {
    const ModelTensor& tensor = op.model.tensors[static_cast<std::size_t>(i)];
    const auto size = static_cast<std::size_t>(tensor.size());
    if (tensor.dtype == DType::int8) {
      inputs.push_back(to_bytes(random_codes(size, draw)));
    } else if (tensor.dtype == DType::int16) {
      inputs.push_back(to_bytes(random_int16(size, draw)));
    } else {
      std::vector<float> values(size);
      for (float& value : values) value = static_cast<float>(draw.between(-160, 160)) / 8;
      inputs.push_back(to_bytes(values));
    }
  }
  return inputs;
}

/// The outputs of `batch` samples by the interpreter; inputs and outputs have samples end to end.
inline Values interpreted(const IntegerModel& model, Rounding rounding, const Values& inputs,
                          Index batch = 1) {
  Interpreter interpreter(model, {.rounding = rounding, .batch = batch});
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    EXPECT_EQ(interpreter.input_bytes(i).size(), inputs[i].size());
    std::memcpy(interpreter.input_bytes(i).data(), inputs[i].data(), inputs[i].size());
  }
  interpreter.invoke();
  Values outputs;
  for (std::size_t i = 0; i < model.outputs.size(); ++i) {
    const auto bytes = std::as_const(interpreter).output_bytes(i);
    const auto* from = reinterpret_cast<const std::uint8_t*>(bytes.data());
    outputs.emplace_back(from, from + bytes.size());
  }
  return outputs;
}

/// A definition `naive(x, rounding)` of one input and one output.
template <class T, class Naive>
auto by_values(Naive naive) {
  return [naive](const Values& inputs, Rounding rounding) {
    return Values{to_bytes(naive(values_of<T>(inputs.at(0)), rounding))};
  };
}

}  // namespace octet::test
