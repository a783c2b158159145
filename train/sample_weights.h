#pragma once

#include <octet/core/tensor.h>

#include <span>

namespace octet::detail {

/// `output` whose gradient is multiplied by weights[i] in row i: a loss that is a mean over the
/// rows of its outputs then has the gradient of the mean of its rows' losses, each times its
/// weight. The logits of a sigmoid are weighed, too. There is a weight for each row.
Tensor with_row_weights(const Tensor& output, std::span<const float> weights);

}  // namespace octet::detail
