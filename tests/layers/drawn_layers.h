#pragma once

#include <octet/core/gradcheck.h>
#include <octet/core/ops/ops.h>
#include <octet/tests/layers/layer_testing.h>

#include <vector>

// Layers of any inputs with parameters of any size.

namespace octet::test {

/// Builds a layer, and draws its parameters, biases too.
inline void draw(Layer& layer, const std::vector<Shape>& shapes) {
  layer.build_all(shapes, Random(3));
  std::uint64_t seed = 40;
  for (auto& [name, parameter] : layer.parameters()) {
    const Tensor values = Tensor::normal(parameter.shape(), Random(++seed), 0.0F, 0.6F);
    std::ranges::copy(values.span(), parameter.mutable_span().begin());
  }
}

template <class L>
L drawn(L layer, const std::vector<Shape>& shapes) {
  draw(layer, shapes);
  return layer;
}

/// Fails unless the gradients of inputs and parameters are those of finite differences.
inline void expect_gradients(Layer& built, const std::vector<Shape>& shapes) {
  draw(built, shapes);
  std::vector<Tensor> inputs;
  std::uint64_t seed = 10;
  for (const Shape& shape : shapes) {
    inputs.push_back(Tensor::normal(shape.with_batch(2), Random(++seed), 0.0F, 1.0F));
    inputs.back().set_requires_grad(true);
  }
  const std::size_t count = inputs.size();
  for (auto& [name, parameter] : built.parameters()) inputs.push_back(parameter);
  const auto f = [&](const std::vector<Tensor>& at) {
    const Tensor y = built.forward_all(std::span(at).first(count), training());
    return sum(mul(y, y));
  };
  const GradcheckResult result = gradcheck(f, inputs);
  EXPECT_TRUE(result.ok) << result.message;
}

}  // namespace octet::test
