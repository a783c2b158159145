#pragma once

#include <octet/core/kernels/passes.h>
#include <octet/core/quant/activation_range.h>
#include <octet/core/tensor.h>

#include <functional>

namespace octet {

/// f(x W + b) for x [m, k], W [k, n] and b [n], which may be undefined; f the identity or the clamp
/// that `activation` is. To the bit what matmul, + and relu or relu6 give one after the other, in
/// fewer passes over memory. Throws InvalidArgument as matmul does, and for a bias of another
/// shape.
Tensor linear(const Tensor& x, const Tensor& kernel, const Tensor& bias,
              FusedActivation activation = FusedActivation::none);

/// The gradient that reaches the sums of a clamped layer, and what its bias gets of it.
struct SumsGradient {
  Tensor sums;
  Tensor bias;
};

/// For y [m, n] and its gradient g: `sums` is g where y lies inside the window, else 0; `bias` [n]
/// is the sum of its rows.
SumsGradient window_gradient(const Tensor& y, const Tensor& g, const GradientWindow& window);

/// x^T g, the gradient of a kernel: x [m, k], g [m, n]. Lazy, so that an optimizer can use each
/// block of rows while it is in the cache. `finish(begin, end, rows)`, where given, changes the
/// rows [begin, end) afterwards.
Tensor kernel_gradient(const Tensor& x, const Tensor& g,
                       std::function<void(Index begin, Index end, float* rows)> finish = {});

}  // namespace octet
