#pragma once

#include <octet/core/shape.h>

namespace octet {

enum class Transpose { no, yes };

/// One row-major operand of a product: its first element, and how far apart its rows lie.
struct GemmOperand {
  const float* data;
  Index stride;
  Transpose transpose = Transpose::no;
};

/// c = a' b', or c += a' b' with `accumulate`; a' is [m, k], b' is [k, n], c is [m, n] row-major
/// with rows `c_stride` apart; ' transposes where the operand says so.
///
/// Every element is one chain over k in ascending order, acc = fma(a, b, acc) from 0, then added
/// to c where accumulating. The bits therefore depend on nothing else: not on the vector width,
/// the tiling or the number of threads.
void gemm_f32(Index m, Index n, Index k, const GemmOperand& a, const GemmOperand& b, float* c,
              Index c_stride, bool accumulate = false);

}  // namespace octet
