#pragma once

#include <octet/core/function_ref.h>
#include <octet/core/tensor.h>

#include <span>
#include <vector>

namespace octet {

/// The parts that sum_of_parts() cuts `rows` rows into for sums of `size` numbers.
Index count_parts(Index rows, Index size);
/// Calls compute(part, begin, end) for each of the parts, on several threads. `rows` is a multiple
/// of `unit`, and so is each part where there are as many units as parts.
void for_each_part(Index rows, Index parts,
                   FunctionRef<void(Index part, Index begin, Index end)> compute, Index unit = 1);

/// The sum over rows [0, rows) of tensors of `shape`, in an order that depends on `rows`, `unit`
/// and `shape` alone: rows are cut into at most 16 parts, each of at least 256 rows, or into one
/// where 16 partial sums would take more than 4 MiB; compute(begin, end, sums) writes the sum of a
/// part, begin < end; and the partial sums are added up in ascending order. The parts run on
/// several threads; in a single part, compute() may use them all. `unit` as in for_each_part().
Tensor sum_of_parts(const Shape& shape, Index rows,
                    FunctionRef<void(Index begin, Index end, float* sums)> compute, Index unit = 1);
/// Several of them at once, the parts being those of the first: compute() writes one to each of
/// `sums`.
std::vector<Tensor> sums_of_parts(
    const std::vector<Shape>& shapes, Index rows,
    FunctionRef<void(Index begin, Index end, std::span<float* const> sums)> compute,
    Index unit = 1);

}  // namespace octet
