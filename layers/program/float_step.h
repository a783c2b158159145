#pragma once

#include <octet/layers/program/program.h>

namespace octet {

/// A step in floats, with its gradients.
Tensor run_in_floats(const Step& step, const StepInputs& in);

/// linear_operator(), or Layer::linear() where a layer has weights of another layout.
Tensor linear_in_floats(const Layer& layer, const LayerWeights& weights, const Tensor& x,
                        FusedActivation clamp);

}  // namespace octet
