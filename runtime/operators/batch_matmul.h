#pragma once

#include <octet/core/quant/requantize.h>
#include <octet/core/strides.h>
#include <octet/runtime/operators/definitions.h>

#include <vector>

// BATCH_MATMUL: the products a' b' of two activations' matrices [.., rows, depth] and
// [.., depth, columns], where ' exchanges the last two axes of an operand as adj_x and adj_y say;
// the axes in front are broadcast.

namespace octet::detail {

struct MatmulGeometry {
  Index rows;
  Index depth;
  Index columns;
  /// The axes in front of the matrices, and by operand how many elements the next matrix lies
  /// ahead: 0 where it is used again.
  std::vector<Axis<2>> matrices;
  /// Elements from one row, or column of the second operand, to the next, and from one of their
  /// elements to the next.
  Index row_stride;
  Index row_step;
  Index column_stride;
  Index column_step;
};

MatmulGeometry matmul_geometry(const Operands& operands);

/// How sums of products of quantized values are rescaled. In rounding mode fp32 XNNPACK takes a
/// second operand of zero point 0 alone; LiteRT's own kernel computes others as in mode
/// double.
Requantizer matmul_requantizer(const KernelSource& source);

}  // namespace octet::detail
