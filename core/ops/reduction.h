#pragma once

#include <octet/core/tensor.h>

namespace octet::detail {

/// Adds up x over the axes along which a tensor of `shape` was repeated to x's shape: how a
/// gradient gets back to a broadcast operand. x itself where the shapes are the same.
Tensor sum_to_shape(const Tensor& x, const Shape& shape);

}  // namespace octet::detail
