#pragma once

#include <octet/core/tensor.h>

#include <vector>

namespace octet {

// Views share the data and its quantization parameters; a scale per channel is dropped where the
// channels move.

/// Returns a view of the elements of x in another shape. One extent may be -1: it is what the
/// others leave. Throws InvalidArgument where the counts differ.
Tensor reshape(const Tensor& x, const Shape& shape);

/// The transposed copy of a matrix. Throws InvalidArgument for other ranks.
Tensor transpose(const Tensor& x);

/// A copy whose axis i is x's axis axes[i]; `axes` names each axis of x once (InvalidArgument).
Tensor permute(const Tensor& x, const std::vector<Index>& axes);

/// The parts laid end to end along `axis`; all other extents must agree (InvalidArgument).
Tensor concatenate(const std::vector<Tensor>& parts, Index axis = 0);

/// Rows [begin, end) of the first axis, a view. Throws InvalidArgument unless
/// 0 <= begin <= end <= rows.
Tensor slice(const Tensor& x, Index begin, Index end);

}  // namespace octet
