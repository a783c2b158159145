#pragma once

#include <octet/core/tensor.h>

#include <string_view>

#include <vector>

namespace octet {

// Views share the data and its quantization parameters; a scale per channel is dropped where the
// channels move.

/// Returns a view of the elements of x in another shape. One extent may be -1: it is what the
/// others leave. Throws InvalidArgument where the counts differ.
Tensor reshape(const Tensor& x, const Shape& shape);

/// Returns rows of a table: y[.., :] = table[indices[..], :], for a table [rows, features] and
/// whole numbers, of which a fraction is dropped. The gradient of a row is the sum of those of all
/// that name it. Throws InvalidArgument for a table of another rank and, naming `who`, for an index
/// outside of it.
Tensor take_rows(const Tensor& table, const Tensor& indices, std::string_view who);
/// The transposed copy of a matrix. Throws InvalidArgument for other ranks.
Tensor transpose(const Tensor& x);

/// A copy whose axis i is x's axis axes[i]; `axes` names each axis of x once (InvalidArgument).
Tensor permute(const Tensor& x, const std::vector<Index>& axes);

/// The parts laid end to end along `axis`; all other extents must agree (InvalidArgument).
Tensor concatenate(const std::vector<Tensor>& parts, Index axis = 0);

/// Elements begin, begin + step, ... of an axis, those in front of `end`.
struct AxisSlice {
  Index begin = 0;
  Index end = 0;
  Index step = 1;

  Index extent() const { return end > begin ? (end - begin - 1) / step + 1 : 0; }
};

/// A copy of what lies in the slices of all axes: element (i0, i1, ...) is x at
/// (begin0 + i0 step0, begin1 + i1 step1, ...). Throws InvalidArgument unless there is a slice for
/// each axis with 0 <= begin <= end <= extent and a step of at least 1.
Tensor slice(const Tensor& x, const std::vector<AxisSlice>& axes);

/// Rows [begin, end) of the first axis, a view. Throws InvalidArgument unless
/// 0 <= begin <= end <= rows.
Tensor slice(const Tensor& x, Index begin, Index end);

}  // namespace octet
