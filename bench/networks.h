#pragma once

#include <octet/bench/peak.h>
#include <octet/octet.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace octet::bench {

/// A network of dense layers; by default that of the example.
struct Shapes {
  std::vector<Index> hidden = {256, 128};
  Index inputs = 784;
  Index outputs = 10;

  /// Inputs and outputs of every layer.
  std::vector<std::pair<Index, Index>> layers() const {
    std::vector<std::pair<Index, Index>> result;
    Index in = inputs;
    for (const Index units : hidden) result.emplace_back(std::exchange(in, units), units);
    result.emplace_back(in, outputs);
    return result;
  }
  /// Without biases.
  double weights() const {
    double sum = 0.0;
    for (const auto& [in, out] : layers()) sum += static_cast<double>(in * out);
    return sum;
  }
  /// Operations for one image, two for a multiply-add: forward; and backward, which are kernel
  /// gradients, and input gradients of all but the first layer.
  double forward_operations() const { return 2.0 * weights(); }
  double backward_operations() const {
    const auto [in, out] = layers().front();
    return 4.0 * weights() - 2.0 * static_cast<double>(in * out);
  }
};

inline Sequential mlp(const Shapes& shapes = {}) {
  Sequential model("mlp", Input({shapes.inputs}));
  for (const Index units : shapes.hidden) model.add(Dense(units, Activation::relu));
  model.add(Dense(shapes.outputs, Activation::softmax));
  model.build(0);
  return model;
}

/// Seconds that the products of training on one image take at the peak of one core; those of a
/// quantized forward pass are int8.
inline double training_floor(const Shapes& shapes, bool quantized) {
  const Peak& peaks = peak();
  const double forward = quantized && peaks.int8_ops_per_second > 0.0 ? peaks.int8_ops_per_second
                                                                      : peaks.float_ops_per_second;
  return shapes.forward_operations() / forward +
         shapes.backward_operations() / peaks.float_ops_per_second;
}

/// Seconds that int8 inference of a batch takes at least: its products at the peak, or reading the
/// weights once from the second-level cache.
inline double inference_floor(const Shapes& shapes, double batch) {
  const Peak& peaks = peak();
  const double products = peaks.int8_ops_per_second > 0.0
                              ? batch * shapes.forward_operations() / peaks.int8_ops_per_second
                              : 0.0;
  return std::max(products, shapes.weights() / peaks.read_bytes_per_second);
}

/// Noise in the shape of images, for times that do not depend on the values.
inline Dataset noise(std::size_t count, Index inputs = 784) {
  std::vector<std::uint8_t> pixels(count * static_cast<std::size_t>(inputs));
  const Random random(1);
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    pixels[i] = static_cast<std::uint8_t>(random.bits(i) & 0xFFU);
  }
  std::vector<std::int32_t> labels(count);
  for (std::size_t i = 0; i < count; ++i) labels[i] = static_cast<std::int32_t>(i % 10);
  return Dataset::from_bytes("noise", {inputs}, std::move(pixels), std::move(labels), 10);
}

/// The network quantized and calibrated on noise, in integers.
inline IntegerModel lowered(const Shapes& shapes, IoType io) {
  Sequential model = quantize_model(mlp(shapes));
  calibrate(model, noise(128, shapes.inputs).features(0, 128));
  refresh_kernel_ranges(model);
  return lower(model, {.input = io, .output = io});
}

}  // namespace octet::bench
