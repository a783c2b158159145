#pragma once

#include <octet/core/quant/activation_range.h>
#include <octet/core/tensor.h>

namespace octet {

/// f(x W + b) for x [.., k], W [k, n] and b [n], which may be undefined: [.., n], a contraction
/// over the last axis of x, which has two axes or more; f the identity or the clamp that
/// `activation` is. To the bit what matmul on the rows of x, + and relu or relu6 give one after the
/// other, in fewer passes over memory. Throws InvalidArgument as matmul does, and for a bias of
/// another shape.
Tensor linear(const Tensor& x, const Tensor& kernel, const Tensor& bias,
              FusedActivation activation = FusedActivation::none);

}  // namespace octet
