#pragma once

#include <octet/core/function_ref.h>
#include <octet/core/tensor.h>

namespace octet {

/// The parts that sum_of_parts() cuts `rows` rows into for sums of `size` numbers.
Index count_parts(Index rows, Index size);
/// Calls compute(part, begin, end) for each of the parts, on several threads.
void for_each_part(Index rows, Index parts,
                   FunctionRef<void(Index part, Index begin, Index end)> compute);

/// The sum over rows [0, rows) of tensors of `shape`, in an order that depends on `rows` and
/// `shape` alone: rows are cut into at most 16 parts, each of at least 256 rows, or into one where
/// 16 partial sums would take more than 4 MiB; compute(begin, end, sums) writes the sum of a
/// part, begin < end; and the partial sums are added up in ascending order. The parts run on
/// several threads; in a single part, compute() may use them all.
Tensor sum_of_parts(const Shape& shape, Index rows,
                    FunctionRef<void(Index begin, Index end, float* sums)> compute);

}  // namespace octet
