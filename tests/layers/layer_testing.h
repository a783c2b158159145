#pragma once

#include <octet/layers/dense.h>
#include <octet/layers/layer_registry.h>
#include <octet/layers/sequential.h>
#include <octet/tests/core/ops/op_testing.h>
#include <octet/tests/core/thrown.h>

#include <algorithm>
#include <memory>
#include <utility>

namespace octet::test {

/// `layer`, built for examples of `input_shape`.
template <class L>
std::unique_ptr<L> built(L layer, const Shape& input_shape, std::uint64_t seed = 1) {
  auto result = std::make_unique<L>(std::move(layer));
  result->build(input_shape, Random(seed));
  return result;
}

/// `layer`, built, with parameters that are not zero, as a bias begins.
template <class L>
std::unique_ptr<L> with_values(L layer, const Shape& input_shape) {
  auto result = built(std::move(layer), input_shape);
  for (auto& [name, tensor] : result->parameters()) {
    Random(3).fill_uniform(tensor.mutable_span(), -1.0F, 1.0F);
  }
  return result;
}

/// Fails unless the layer's description makes a layer of the same description.
inline void expect_made_again(const Layer& layer) {
  const Description description = describe_layer(layer);
  EXPECT_EQ(describe_layer(*make_layer(description)).to_json(), description.to_json());
}

inline ForwardContext training(std::uint64_t seed = 0) {
  return {.mode = ForwardContext::Mode::training, .random = Random(seed)};
}

inline ForwardContext calibration() { return {.mode = ForwardContext::Mode::calibration}; }

/// Puts `values` over a tensor, e.g. a parameter.
inline void fill(Tensor tensor, const std::vector<float>& values) {
  ASSERT_EQ(static_cast<std::size_t>(tensor.size()), values.size());
  std::ranges::copy(values, tensor.mutable_data());
}

inline std::vector<std::string> names_of(const std::vector<NamedTensor>& tensors) {
  std::vector<std::string> names;
  names.reserve(tensors.size());
  for (const NamedTensor& tensor : tensors) names.push_back(tensor.name);
  return names;
}

inline Tensor tensor_named(const std::vector<NamedTensor>& tensors, std::string_view name) {
  for (const NamedTensor& tensor : tensors) {
    if (tensor.name == name) return tensor.tensor;
  }
  ADD_FAILURE() << "no tensor named " << name;
  return Tensor::scalar(kNan);
}

}  // namespace octet::test
