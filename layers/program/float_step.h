#pragma once

#include <octet/layers/program/program.h>

#include <span>

namespace octet {

/// A step in floats, with its gradients.
Tensor run_in_floats(const Step& step, const Shape& result, std::span<const Tensor> x,
                     const ForwardContext& context);

/// linear_operator(), or Layer::linear() where a layer has weights of another layout.
Tensor linear_in_floats(const Layer& layer, const LayerWeights& weights, const Tensor& x,
                        FusedActivation clamp);

}  // namespace octet
