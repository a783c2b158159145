#pragma once

#include <octet/core/error.h>
#include <octet/core/tensor.h>

#include <Eigen/Core>

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

// Tensors as Eigen matrices and Eigen matrices as tensors, for programs that use Eigen: link
// octet::eigen. Nothing else in Octet includes this header.
//
//     as_mutable_matrix(kernel) = features.colPivHouseholderQr().solve(targets);  // writes to the
//     tensor const Tensor y = from_eigen(as_matrix(x) * rotation);               // one allocation,
//     no copy

namespace octet {

/// Row-major, as tensors are.
using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using MatrixMap = Eigen::Map<Matrix>;
using ConstMatrixMap = Eigen::Map<const Matrix>;
using VectorMap = Eigen::Map<Eigen::VectorXf>;
using ConstVectorMap = Eigen::Map<const Eigen::VectorXf>;
using ArrayMap = Eigen::Map<Eigen::ArrayXf>;
using ConstArrayMap = Eigen::Map<const Eigen::ArrayXf>;

namespace detail {

inline void check_rank(const char* operation, const Tensor& t, Index rank) {
  if (t.rank() == rank) return;
  throw InvalidArgument(std::string(operation) + ": expected rank " + std::to_string(rank) +
                        ", found shape " + t.shape().to_string() +
                        "; reshape() it, or take as_array() for all elements in a row");
}

/// A tensor on memory that `owner` owns.
template <class Owner>
Tensor on_memory_of(const Shape& shape, std::shared_ptr<Owner> owner) {
  float* const data = owner->data();
  // A matrix without elements has no memory.
  if (data == nullptr) return Tensor(shape);
  return Tensor::from_memory(shape, std::shared_ptr<float[]>(std::move(owner), data));
}

}  // namespace detail

// The maps below share the tensor's data and must not outlive it. as_mutable_...() are for writing,
// as Tensor::mutable_data() is: the tensor becomes one of float32 without quantization.

/// All elements of a tensor of any rank, in row-major order.
inline ConstArrayMap as_array(const Tensor& t) { return {t.data(), t.size()}; }
inline ArrayMap as_mutable_array(Tensor& t) { return {t.mutable_data(), t.size()}; }

/// A tensor [rows, columns]. Throws InvalidArgument for another rank.
inline ConstMatrixMap as_matrix(const Tensor& t) {
  detail::check_rank("as_matrix", t, 2);
  return {t.data(), t.shape()[0], t.shape()[1]};
}
inline MatrixMap as_mutable_matrix(Tensor& t) {
  detail::check_rank("as_mutable_matrix", t, 2);
  return {t.mutable_data(), t.shape()[0], t.shape()[1]};
}

/// A tensor [size] as a column. Throws InvalidArgument for another rank.
inline ConstVectorMap as_vector(const Tensor& t) {
  detail::check_rank("as_vector", t, 1);
  return {t.data(), t.size()};
}
inline VectorMap as_mutable_vector(Tensor& t) {
  detail::check_rank("as_mutable_vector", t, 1);
  return {t.mutable_data(), t.size()};
}

/// A tensor of the values of an Eigen expression, evaluated into it: [size] for what is a vector at
/// compile time, else [rows, columns]. Column-major matrices are transposed on the way.
template <class Derived>
Tensor from_eigen(const Eigen::DenseBase<Derived>& values) {
  static_assert(std::is_same_v<typename Derived::Scalar, float>, "cast<float>() it first");
  constexpr bool kVector = Derived::IsVectorAtCompileTime;
  Tensor result(kVector ? Shape{values.size()} : Shape{values.rows(), values.cols()});
  using Elements = Eigen::Array<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  Eigen::Map<Elements>(result.mutable_data(), values.rows(), values.cols()) =
      values.derived().array();
  return result;
}

/// A tensor [rows, columns] that takes over the matrix's memory: nothing is copied.
inline Tensor from_eigen(Matrix&& values) {
  const Shape shape{values.rows(), values.cols()};
  return detail::on_memory_of(shape, std::make_shared<Matrix>(std::move(values)));
}

/// A tensor [size] that takes over the vector's memory.
inline Tensor from_eigen(Eigen::VectorXf&& values) {
  const Shape shape{values.size()};
  return detail::on_memory_of(shape, std::make_shared<Eigen::VectorXf>(std::move(values)));
}

/// A tensor on the memory of a row-major matrix, a vector, a map or a block, which must outlive it:
/// [size] for what is a vector at compile time, else [rows, columns]. A write to one is seen in the
/// other, but a write through Eigen does not drop what ops have stored about the tensor (see
/// Tensor::data()): write before ops read it, or through as_matrix(tensor). Throws InvalidArgument
/// where the elements do not follow one another in memory.
template <class Values>
Tensor borrow_eigen(Values&& values) {
  using Plain = std::remove_reference_t<Values>;
  constexpr bool kVector = Plain::IsVectorAtCompileTime;
  static_assert(std::is_same_v<decltype(values.data()), float*>,
                "floats that may be written to; from_eigen() copies others");
  static_assert(kVector || Plain::IsRowMajor, "row-major; from_eigen() copies column-major values");
  const bool apart = values.innerStride() != 1 ||
                     (!kVector && values.rows() > 1 && values.outerStride() != values.cols());
  if (apart) {
    throw InvalidArgument(
        "borrow_eigen: expected elements that follow one another in memory, found " +
        std::to_string(values.rows()) + " x " + std::to_string(values.cols()) + " with strides " +
        std::to_string(values.outerStride()) + " and " + std::to_string(values.innerStride()) +
        "; from_eigen() copies them");
  }
  const Shape shape = kVector ? Shape{values.size()} : Shape{values.rows(), values.cols()};
  if (values.data() == nullptr) return Tensor(shape);
  return Tensor::from_memory(shape, std::shared_ptr<float[]>(values.data(), [](float*) {}));
}

}  // namespace octet
