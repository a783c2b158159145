#pragma once

#include <octet/layers/dropout.h>
#include <octet/layers/lower.h>
#include <octet/layers/reshape.h>
#include <octet/tests/layers/quantize/quantize_testing.h>

#include <cstring>
#include <stdexcept>

// What tests of lower() read off its models.

namespace octet::test {

inline const ModelTensor& tensor_of(const IntegerModel& model, std::int32_t index) {
  return model.tensors[static_cast<std::size_t>(index)];
}

inline const ModelTensor& tensor_of(const IntegerModel& model, const std::string& name) {
  for (const ModelTensor& tensor : model.tensors) {
    if (tensor.name == name) return tensor;
  }
  throw std::runtime_error("no tensor named " + name);
}

/// "OPERATOR output" in order.
inline std::vector<std::string> operator_lines(const IntegerModel& model) {
  std::vector<std::string> lines;
  for (const Operator& op : model.operators) {
    lines.push_back(std::string(to_string(op.code)) + " " + tensor_of(model, op.outputs[0]).name);
  }
  return lines;
}

template <class T>
std::vector<T> data_of(const ModelTensor& tensor) {
  std::vector<T> values(tensor.data.size() / sizeof(T));
  std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
  return values;
}

/// `model` quantized, its ranges those of 32 random examples.
inline Sequential calibrated(const Sequential& model, const QuantizeOptions& options = {}) {
  Sequential quantized = quantize_model(model, options);
  calibrate(quantized, random_tensor(model.input_shape().with_batch(32), 1));
  return quantized;
}

}  // namespace octet::test
