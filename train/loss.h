#pragma once

#include <octet/core/tensor.h>

#include <functional>
#include <span>

namespace octet {

/// A scalar that training makes small, from a model's output and the labels of the batch. The
/// output is that of forward_logits(): without a final softmax.
using Loss = std::function<Tensor(const Tensor& output, std::span<const std::int32_t> labels)>;

/// The mean of -log softmax(logits)[label].
Loss sparse_categorical_cross_entropy();

/// The same with labels smoothed: 1 - smoothing on the label, the rest spread over all classes.
/// Throws InvalidArgument unless 0 <= smoothing < 1.
Loss smoothed_cross_entropy(float smoothing);

/// The mean of (output - one_hot(label))^2 over rows and classes.
Loss one_hot_mean_squared_error();

/// Labels as rows of 0 and 1, [labels.size(), classes]. Throws InvalidArgument for a label outside.
Tensor one_hot(std::span<const std::int32_t> labels, Index classes);

}  // namespace octet
