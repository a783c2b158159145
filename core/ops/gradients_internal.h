#pragma once

#include <octet/core/kernels/passes.h>
#include <octet/core/tensor.h>

#include <functional>

namespace octet {

// Parts of backward passes that several layers share. All compute outside the tape.

/// g where x is inside the window, else 0.
Tensor inside_window(const Tensor& x, const Tensor& g, const GradientWindow& window);

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
