#pragma once

#include <octet/core/tensor.h>

#include <vector>

namespace octet {

// Without `axes` all elements are reduced, to a scalar of rank 0. With them the listed axes are
// reduced (negative ones count from the end) and dropped, or kept with extent 1 with `keep_dims`;
// an empty list reduces nothing. An axis outside the shape, or listed twice, throws
// InvalidArgument. Sums run in double in an order that depends on the shape alone.

/// The sum; of no elements: 0.
Tensor sum(const Tensor& x);
Tensor sum(const Tensor& x, const std::vector<Index>& axes, bool keep_dims = false);

/// The sum over the count; of no elements: InvalidArgument.
Tensor mean(const Tensor& x);
Tensor mean(const Tensor& x, const std::vector<Index>& axes, bool keep_dims = false);

/// The largest element; a NaN counts as the largest, so that it is seen. Elements that tie share
/// the gradient evenly, as PyTorch's amax. Of no elements: InvalidArgument.
Tensor max(const Tensor& x);
Tensor max(const Tensor& x, const std::vector<Index>& axes, bool keep_dims = false);

/// The smallest element; a NaN counts as the smallest. Ties and emptiness as in max.
Tensor min(const Tensor& x);
Tensor min(const Tensor& x, const std::vector<Index>& axes, bool keep_dims = false);

/// For each row of the last axis, the position of its first largest element; a NaN counts as the
/// largest. One label per row, rows in row-major order. Throws InvalidArgument for a scalar and for
/// rows of no elements.
Labels argmax(const Tensor& x);

}  // namespace octet
