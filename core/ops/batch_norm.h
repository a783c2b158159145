#pragma once

#include <octet/core/tensor.h>

namespace octet {

/// The mean and the variance of each channel, [c] each.
struct ChannelStatistics {
  Tensor mean;
  Tensor variance;
};

struct BatchNormResult {
  Tensor y;
  /// Mean and biased variance of the batch, outside the tape.
  ChannelStatistics statistics;
};

// Batch normalization of x [..., c], whose last axis holds the channels:
//
//     y = gamma (x - mean) / sqrt(variance + epsilon) + beta,    gamma and beta [c]
//
// Sums run over all other axes, in double within parts of the rows and in an order that depends on
// the shape alone. (Ioffe and Szegedy, Batch Normalization, 2015.) Throws InvalidArgument for
// shapes that do not fit, and where epsilon is not a finite number above 0.

/// The mean and the biased variance of each channel of x [..., c], off the tape. Throws
/// InvalidArgument for an x without rows.
ChannelStatistics channel_statistics(const Tensor& x);

/// Normalizes x by its own mean and biased variance, the mean of the squared differences from the
/// mean. The gradient flows through both. Throws InvalidArgument for an x without rows.
BatchNormResult batch_norm_training(const Tensor& x, const Tensor& gamma, const Tensor& beta,
                                    float epsilon);

/// Normalizes x by the statistics given, which are constants: no gradient reaches them.
Tensor batch_norm_inference(const Tensor& x, const Tensor& gamma, const Tensor& beta,
                            const ChannelStatistics& statistics, float epsilon);

}  // namespace octet
