#pragma once

#include <octet/core/ops/batch_norm.h>

namespace octet {

/// A kernel and a bias.
struct FoldedWeights {
  Tensor kernel;
  Tensor bias;
};

/// A layer with weights and the batch normalization behind it as one layer, for statistics that
/// stay as they are:
///
///     kernel' = kernel m,    bias' = (bias - mean) m + beta,    m = gamma / sqrt(variance +
///     epsilon)
///
/// in float32: m is gamma times the rounded inverse. `kernel` has its units along its last axis, or
/// along its last axes together, as many as gamma [c] has channels; `bias` is [c] or undefined.
/// Gradients reach all four, none the statistics. Training and export both fold by this function.
/// (Jacob et al., CVPR 2018, section 3.2.) Throws InvalidArgument for shapes that do not fit, and
/// where epsilon is not a finite number above 0.
FoldedWeights fold_batch_norm(const Tensor& kernel, const Tensor& bias, const Tensor& gamma,
                              const Tensor& beta, const ChannelStatistics& statistics,
                              float epsilon);

}  // namespace octet
