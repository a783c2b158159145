#pragma once

#include <octet/octet.h>

#include <utility>
#include <vector>

namespace octet::bench {

/// The network of the example.
inline Sequential mlp(Index inputs = 784, const std::vector<Index>& hidden = {256, 128}) {
  Sequential model("mlp", Input({inputs}));
  for (const Index units : hidden) model.add(Dense(units, Activation::relu));
  model.add(Dense(10, Activation::softmax));
  model.build(0);
  return model;
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

}  // namespace octet::bench
