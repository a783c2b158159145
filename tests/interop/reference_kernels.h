#pragma once

#include <octet/runtime/interpreter.h>

#include <algorithm>
#include <vector>

// What tfjs-tflite computes. Its XNNPACK is of a time that knew no FULLY_CONNECTED with a scale per
// channel and no BATCH_MATMUL: TensorFlow Lite's own kernels do them, and rescale as under contract
// single. All else is fp32.

namespace octet::interop {

using Bytes = std::vector<std::byte>;

inline const ModelTensor& tensor_of(const IntegerModel& model, std::int32_t i) {
  return model.tensors[static_cast<std::size_t>(i)];
}

inline bool rescales_by_single(const IntegerModel& model, const Operator& op) {
  return op.code == OpCode::batch_matmul ||
         (op.code == OpCode::fully_connected &&
          tensor_of(model, op.inputs[1]).quantization.per_channel());
}

/// Computes one operator by our interpreter; `values` has what it reads, and gets its results.
inline void run_operator(const IntegerModel& model, const Operator& op, std::vector<Bytes>& values,
                         Index samples, Rounding rounding) {
  IntegerModel one = model;
  one.operators = {op};
  one.inputs.clear();
  one.outputs = op.outputs;
  for (const std::int32_t i : op.inputs) {
    const bool given = i == -1 || tensor_of(model, i).is_constant();
    if (!given && !std::ranges::count(one.inputs, i)) one.inputs.push_back(i);
  }
  const std::vector<std::int32_t> inputs = one.inputs;
  Interpreter interpreter(std::move(one), {.rounding = rounding, .batch = samples});
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    std::ranges::copy(values[static_cast<std::size_t>(inputs[k])],
                      interpreter.input_bytes(k).begin());
  }
  interpreter.invoke();
  for (std::size_t k = 0; k < op.outputs.size(); ++k) {
    const auto bytes = interpreter.output_bytes(k);
    values[static_cast<std::size_t>(op.outputs[k])] = {bytes.begin(), bytes.end()};
  }
}

/// The values of every tensor that is computed, by its index.
inline std::vector<Bytes> run_reference(const IntegerModel& model, const Bytes& input,
                                        Index samples) {
  std::vector<Bytes> values(model.tensors.size());
  values[static_cast<std::size_t>(model.inputs[0])] = input;
  for (const Operator& op : model.operators) {
    const Rounding rounding =
        rescales_by_single(model, op) ? Rounding::single_rounding : Rounding::fp32;
    run_operator(model, op, values, samples, rounding);
  }
  return values;
}

}  // namespace octet::interop
