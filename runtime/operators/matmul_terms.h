#pragma once

#include <octet/runtime/operators/batch_matmul.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

// The factors of the products of BATCH_MATMUL on integers, side by side.

namespace octet::detail {

/// Rows of quantized values, or columns as rows, less their zero point.
template <class T, class Term>
void gather(const T* matrix, Index rows, Index depth, Index stride, Index step,
            std::int32_t zero_point, Term* to) {
  for (Index row = 0; row < rows; ++row, matrix += stride, to += depth) {
    if (step == 1) {  // Neighbours are read several at a time.
      for (Index k = 0; k < depth; ++k) to[k] = static_cast<Term>(matrix[k] - zero_point);
    } else {
      for (Index k = 0; k < depth; ++k) to[k] = static_cast<Term>(matrix[k * step] - zero_point);
    }
  }
}

/// Writes the rows of the left matrix and the columns of the right one to `to`, less their zero
/// points: where both begin.
template <class T, class Term>
std::pair<Term*, Term*> gathered(const MatmulGeometry& g,
                                 const std::array<std::int32_t, 2>& zero_points, const T* left,
                                 const T* right, Term* to) {
  Term* const columns = to + g.rows * g.depth;
  gather(left, g.rows, g.depth, g.row_stride, g.row_step, zero_points[0], to);
  gather(right, g.columns, g.depth, g.column_stride, g.column_step, zero_points[1], columns);
  return {to, columns};
}

/// The number of factors of a product, where each of the right matrix is split in so many parts.
inline std::size_t terms_of(const MatmulGeometry& g, Index parts) {
  return static_cast<std::size_t>((g.rows + parts * g.columns) * g.depth);
}

}  // namespace octet::detail
