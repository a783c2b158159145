#pragma once

#include <octet/core/error.h>
#include <octet/core/tensor.h>

#include <Eigen/Core>

// For programs that use Eigen: link octet::eigen. Nothing else in Octet includes this header.

namespace octet {

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using MatrixMap = Eigen::Map<Matrix>;
using ConstMatrixMap = Eigen::Map<const Matrix>;
using ArrayMap = Eigen::Map<Eigen::ArrayXf>;
using ConstArrayMap = Eigen::Map<const Eigen::ArrayXf>;

/// All elements as an Eigen array that shares the tensor's data.
inline ArrayMap as_array(Tensor& t) { return {t.data(), t.size()}; }
inline ConstArrayMap as_array(const Tensor& t) { return {t.data(), t.size()}; }

namespace detail {
inline void check_matrix(const Tensor& t) {
  if (t.rank() != 2) {
    throw InvalidArgument("as_matrix: expected rank 2, found shape " + t.shape().to_string());
  }
}
}  // namespace detail

/// A rank-2 tensor as an Eigen matrix that shares its data. Throws InvalidArgument for other ranks.
inline MatrixMap as_matrix(Tensor& t) {
  detail::check_matrix(t);
  return {t.data(), t.shape()[0], t.shape()[1]};
}
inline ConstMatrixMap as_matrix(const Tensor& t) {
  detail::check_matrix(t);
  return {t.data(), t.shape()[0], t.shape()[1]};
}

/// A rank-2 tensor with a copy of an Eigen expression's values.
template <class Derived>
Tensor from_eigen(const Eigen::MatrixBase<Derived>& values) {
  Tensor result(Shape{values.rows(), values.cols()});
  as_matrix(result) = values;
  return result;
}

}  // namespace octet
