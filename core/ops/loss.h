#pragma once

#include <octet/core/tensor.h>

#include <cstdint>
#include <span>

namespace octet {

// Losses are scalars: means over the batch, summed in double in a fixed order. A NaN or an
// infinity in the operands reaches the loss. Operands that do not fit each other, and an empty
// batch, throw InvalidArgument.

/// The mean over rows of -log_softmax(logits)[row, labels[row]]; logits are [n, c], one label a
/// row. A label outside [0, c) throws InvalidArgument that names its row.
Tensor softmax_cross_entropy(const Tensor& logits, std::span<const std::int32_t> labels);

/// The mean over rows of -sum_j probabilities[row, j] log_softmax(logits)[row, j]; both are
/// [n, c]. Rows need not sum to 1. Differentiable in both.
Tensor softmax_cross_entropy(const Tensor& logits, const Tensor& probabilities);

/// The mean over all elements of -t log(sigmoid(x)) - (1 - t) log(1 - sigmoid(x)) for a logit x and
/// its target t, computed as max(x, 0) - x t + log(1 + e^-|x|), which no finite x overflows. Shapes
/// must be the same. Differentiable in the logits.
Tensor sigmoid_cross_entropy(const Tensor& logits, const Tensor& targets);

/// The mean over all elements of (prediction - target)^2. Shapes must be the same: broadcasting a
/// target of [n] against predictions of [n, 1] is never meant.
Tensor mean_squared_error(const Tensor& prediction, const Tensor& target);

}  // namespace octet
