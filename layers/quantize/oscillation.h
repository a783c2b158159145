#pragma once

#include <octet/core/quant/quant_params.h>
#include <octet/core/tensor.h>
#include <octet/layers/layer.h>

#include <string>
#include <vector>

namespace octet {

/// How often a kernel's quantized weights oscillate in training (Nagel et al., ICML 2022). In
/// training pass t, o = 1 for a weight whose quantized value changed, and in the direction opposite
/// to its last change, else 0; f = m o + (1 - m) f is the frequency, with m = 0.01.
///
/// A weight with f above a threshold may be frozen: it is given the quantized value rint(mean),
/// where mean is the moving average of its quantized values, also by m, and keeps it for good.
class WeightOscillation {
 public:
  static constexpr float kMomentum = 0.01F;

  /// Weights above the frequency `freeze_above` are frozen; 0: none is. Throws InvalidArgument
  /// unless that is 0 or above 0 and below 1.
  explicit WeightOscillation(float freeze_above = 0.0F);
  WeightOscillation(const WeightOscillation& other);
  WeightOscillation& operator=(const WeightOscillation&) = delete;

  /// Whether count() may change the kernel.
  bool freezes() const { return freeze_above_ > 0.0F; }

  /// Makes the counters for a kernel of `shape`, whose units are on the last axis.
  void build(const Shape& shape);
  /// Counts a training pass of the kernel, quantized by `grid`, and holds frozen weights.
  void count(Tensor kernel, const QuantParams& grid);
  /// Sets frozen weights back to their quantized values, where an optimizer has moved them.
  void hold(Tensor kernel, const QuantParams& grid) const;
  /// Whether hold() would change nothing.
  bool is_held(const Tensor& kernel, const QuantParams& grid) const;

  /// The share of weights of a frequency above `threshold`, and that of the frozen.
  double share(float threshold) const;
  double frozen_share() const;

  /// "oscillation_passes", "_code", "_direction" and "_frequency"; with freezing also "_mean" and
  /// "_frozen".
  std::vector<NamedTensor> counters() const;

 private:
  float freeze_above_;
  Tensor passes_;
  /// Per weight: its quantized value, the sign of its last change, f, the mean quantized value, and
  /// 1 where it is frozen.
  Tensor code_, direction_, frequency_, mean_, frozen_;
};

}  // namespace octet
