#pragma once

#include <octet/layers/layer.h>

namespace octet {

/// Whether the operator of a layer with weights takes them as they lie: inputs first, units last.
bool has_operator_layout(const LayerWeights& weights);

/// The product or the convolution x W + b of weights as operators take them, and a clamp behind it.
/// Throws InvalidArgument for weights of another layout.
Tensor float_linear(const LayerWeights& weights, const Tensor& x, FusedActivation clamp);

/// Returns float_linear(), or Layer::linear() where a layer has weights of another layout.
Tensor linear_in_floats(const Layer& layer, const LayerWeights& weights, const Tensor& x,
                        FusedActivation clamp);

}  // namespace octet
