#pragma once

#include <octet/core/kernels/passes.h>
#include <octet/core/quant/activation_range.h>
#include <octet/core/tensor.h>

#include <functional>

namespace octet {

// Parts of backward passes that several layers share, which compute outside the tape, and an op.

/// g where x is inside the window, else 0.
Tensor inside_window(const Tensor& x, const Tensor& g, const GradientWindow& window);

/// The clamped sum of tensors of one shape, in one pass. No gradient passes where it is NaN.
Tensor add(const Tensor& a, const Tensor& b, FusedActivation activation);

/// The gradient that reaches the sums of a clamped layer, and what its bias gets of it.
struct SumsGradient {
  Tensor sums;
  Tensor bias;
};

/// What a backward function may write another gradient of the shape of g to, element by element as
/// it reads g: g itself where nobody else has a handle on it, whose memory is in the cache.
Tensor writable_gradient(const Tensor& g);

/// For y [m, n] and its gradient g: `sums` is g where y lies inside the window, else 0; `bias` [n]
/// is the sum of its rows. `sums` is written to `to`, a new tensor or a view of what
/// writable_gradient() gives.
SumsGradient window_gradient(const Tensor& y, const Tensor& g, const GradientWindow& window,
                             const Tensor& to);

/// x^T g, the gradient of a kernel: x [m, k], g [m, n]. Lazy, so that an optimizer can use each
/// block of rows while it is in the cache. `finish(begin, end, rows)`, where given, changes the
/// rows [begin, end) afterwards.
Tensor kernel_gradient(const Tensor& x, const Tensor& g,
                       std::function<void(Index begin, Index end, float* rows)> finish = {});

}  // namespace octet
