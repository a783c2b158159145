#pragma once

#include <octet/core/quant/activation_range.h>
#include <octet/core/tensor.h>

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

namespace octet {

/// The parameters that a quantizer's scale is made of, and their gradients: what training on
/// integers puts on the tape beside the tensor that is quantized. Empty where the range is
/// observed.
struct LearnedRange {
  /// Given x, what was put on the grid, and the gradient of the loss with respect to the result:
  /// one gradient per parameter, of its shape. It may run when the quantizer is gone or has moved
  /// on, so that it holds what it needs by value. For y = s clamp(round(x / s), lo, hi) and LSQ
  /// (Esser et al., ICLR 2020): d y / d s = round(x / s) - x / s inside, lo or hi outside.
  using Gradients = std::function<std::vector<Tensor>(const Tensor& x, const Tensor& upstream)>;

  /// The same in one pass that also leaves in `upstream` what x passes; it may become another
  /// tensor. Null: not known.
  using GradientsAndMask = std::function<std::vector<Tensor>(const Tensor& x, Tensor& upstream)>;

  /// The same for a tensor on one grid, which leaves `upstream` alone and writes what x passes of
  /// it to `to`, which may be `upstream`. Null: not known.
  using GradientsAndPassed =
      std::function<std::vector<Tensor>(const Tensor& x, const Tensor& upstream, const Tensor& to)>;

  std::vector<Tensor> parameters{};
  Gradients gradients{};
  GradientsAndMask gradients_and_mask{};
  GradientsAndPassed gradients_and_passed{};
  /// Where x passes its gradient: lo <= x <= hi, one pair or one per channel of the grid. Without
  /// any it does as with an observed range.
  std::vector<RealLimits> passes{};

  /// Whether an optimizer is to change one of the parameters.
  bool wants_gradient() const {
    return std::ranges::any_of(parameters, [](const Tensor& p) { return p.requires_grad(); });
  }
  /// Where a tensor on one grid passes its gradient, `observed` if nothing else is known.
  RealLimits passes_or(const RealLimits& observed) const {
    return passes.empty() ? observed : passes.front();
  }
  /// Puts the parameters behind the inputs of an operation.
  void append_to(std::vector<Tensor>& inputs) const {
    inputs.insert(inputs.end(), parameters.begin(), parameters.end());
  }
  /// Puts their gradients behind those of the inputs.
  void append_gradients(std::vector<Tensor>& list, const Tensor& x, const Tensor& upstream) const {
    if (!wants_gradient()) {
      list.resize(list.size() + parameters.size());
      return;
    }
    for (Tensor& gradient : gradients(x, upstream)) list.push_back(std::move(gradient));
  }
};

}  // namespace octet
