#pragma once

#include <octet/core/tensor.h>
#include <octet/core/transpose.h>

namespace octet {

/// The product a' b' of two matrices, where ' transposes the operand that says Transpose::yes:
/// a' is [m, k], b' is [k, n], the result [m, n]. Nothing is copied to transpose it. Every
/// element is summed over k in ascending order. Throws InvalidArgument for other ranks and where k
/// differs.
Tensor matmul(const Tensor& a, const Tensor& b, Transpose transpose_a = Transpose::no,
              Transpose transpose_b = Transpose::no);

/// The products a' b' of the matrices that lie in the last two axes of a and b: a' is [.., m, k],
/// b' is [.., k, n], the result [.., m, n], each matrix as matmul() computes it. Throws
/// InvalidArgument for ranks below 2, where k differs, and unless the axes in front are the same.
Tensor batch_matmul(const Tensor& a, const Tensor& b, Transpose transpose_a = Transpose::no,
                    Transpose transpose_b = Transpose::no);

/// Throws what matmul(a, b) throws.
void check_matmul(const Tensor& a, const Tensor& b);

}  // namespace octet
