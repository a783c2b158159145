#pragma once

#include <octet/layers/batch_norm.h>

#include <memory>
#include <utility>
#include <vector>

namespace octet::detail {

/// A layer and the tensors that it gets.
struct LayerWithTensors {
  std::unique_ptr<Layer> layer;
  std::vector<NamedTensor> tensors;
};

/// x gamma + beta, with one value per channel, the last axis: a BatchNorm of mean 0 and variance 1,
/// epsilon included, to the bit. quantize_model() folds it into the layer in front.
inline LayerWithTensors channel_affine(Tensor gamma, Tensor beta) {
  constexpr float kEpsilon = 0x1p-10F;
  const Shape channels = gamma.shape();
  return {std::make_unique<BatchNorm>(BatchNormOptions{.epsilon = kEpsilon}),
          {{"gamma", std::move(gamma)},
           {"beta", std::move(beta)},
           {"moving_mean", Tensor::zeros(channels)},
           {"moving_variance", Tensor::full(channels, 1.0F - kEpsilon)}}};
}

}  // namespace octet::detail
