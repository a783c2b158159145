#pragma once

#include <octet/deploy/tflite/reader.h>
#include <octet/train/data/idx.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace octet::peers {

/// One dense layer of an int8 model with a scale per tensor, in the numbers that a runtime asks
/// for: y = clamp(round(factor * (sum (x - zero_in) w + bias)) + zero_out).
struct Layer {
  int in = 0;
  int out = 0;
  float scale_in = 0.0F;
  float scale_weights = 0.0F;
  float scale_out = 0.0F;
  int zero_in = 0;
  int zero_out = 0;
  bool relu = false;
  std::vector<std::int8_t> weights;  ///< [out, in]
  std::vector<std::int32_t> bias;

  float factor() const { return scale_in * scale_weights / scale_out; }
};

template <class T>
std::vector<T> values(const ModelTensor& tensor) {
  std::vector<T> result(tensor.data.size() / sizeof(T));
  std::memcpy(result.data(), tensor.data.data(), result.size() * sizeof(T));
  return result;
}

inline Layer layer_of(const IntegerModel& model, const Operator& op) {
  const auto tensor = [&](std::int32_t index) -> const ModelTensor& {
    return model.tensors.at(static_cast<std::size_t>(index));
  };
  const ModelTensor& x = tensor(op.inputs.at(0));
  const ModelTensor& w = tensor(op.inputs.at(1));
  const ModelTensor& y = tensor(op.outputs.at(0));
  if (w.quantization.per_channel()) throw std::runtime_error("expected one scale per layer");
  return {.in = w.shape.at(1),
          .out = w.shape.at(0),
          .scale_in = x.quantization.scale(),
          .scale_weights = w.quantization.scale(),
          .scale_out = y.quantization.scale(),
          .zero_in = x.quantization.zero_point(),
          .zero_out = y.quantization.zero_point(),
          .relu = op.activation() == FusedActivation::relu,
          .weights = values<std::int8_t>(w),
          .bias = values<std::int32_t>(tensor(op.inputs.at(2)))};
}

/// The dense layers of a model that mnist_qat wrote. What follows the last one, the softmax, is
/// left to us alone: a peer stops at the logits.
inline std::vector<Layer> read_layers(const std::string& file) {
  const IntegerModel model = read_tflite(file);
  std::vector<Layer> layers;
  for (const Operator& op : model.operators) {
    if (op.code == OpCode::fully_connected) layers.push_back(layer_of(model, op));
  }
  if (layers.empty()) throw std::runtime_error("expected dense layers in " + file);
  return layers;
}

/// Images as codes of the first layer's input.
inline std::vector<std::int8_t> codes(const Dataset& images, const Layer& first) {
  std::vector<std::int8_t> result;
  result.reserve(images.bytes().size());
  for (const std::uint8_t byte : images.bytes()) {
    const float code = std::nearbyint(static_cast<float>(byte) / 255.0F / first.scale_in) +
                       static_cast<float>(first.zero_in);
    result.push_back(static_cast<std::int8_t>(std::clamp(code, -128.0F, 127.0F)));
  }
  return result;
}

/// The share of rows whose first largest score is at their label.
template <class Score>
double accuracy(const std::vector<Score>& scores, const Dataset& images) {
  const std::size_t classes = scores.size() / images.size();
  std::size_t right = 0;
  for (std::size_t i = 0; i < images.size(); ++i) {
    const auto row = scores.begin() + static_cast<std::ptrdiff_t>(i * classes);
    const auto best = std::max_element(row, row + static_cast<std::ptrdiff_t>(classes));
    right += best - row == images.labels()[i] ? 1U : 0U;
  }
  return static_cast<double>(right) / static_cast<double>(images.size());
}

}  // namespace octet::peers
