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

/// What a folded layer gives while it is trained on the statistics of the batch: with the result z
/// [..., c] of the folded kernel, without its bias, and the result y [..., c] of the kernel as it
/// was before,
///
///     z sqrt(moving_variance + epsilon) / sqrt(batch.variance + epsilon)
///         + beta - gamma batch.mean / sqrt(batch.variance + epsilon)
///
/// `batch` is channel_statistics(y). The gradient flows through it to y, and to z, gamma and beta;
/// moving_variance is a constant. (Krishnamoorthi, Quantizing deep convolutional networks, 2018,
/// section 3.2.2.) Throws InvalidArgument as fold_batch_norm(), and for a y without rows.
Tensor batch_norm_correction(const Tensor& z, const Tensor& y, const Tensor& gamma,
                             const Tensor& beta, const ChannelStatistics& batch,
                             const Tensor& moving_variance, float epsilon);

}  // namespace octet
