#include <fmt/core.h>
#include <octet/core/autograd.h>
#include <octet/core/error.h>
#include <octet/core/kernels/gemm.h>
#include <octet/core/ops/gradients_internal.h>
#include <octet/core/ops/matmul.h>
#include <octet/core/parallel.h>

#include <string>
#include <string_view>
#include <vector>

namespace octet {
namespace {

Transpose flip(Transpose t) { return t == Transpose::no ? Transpose::yes : Transpose::no; }

/// The matrices in the last two axes of a tensor as one side of products reads them.
struct Side {
  const Tensor& matrices;
  Transpose transpose;

  Index rows() const { return matrices.dim(transpose == Transpose::no ? -2 : -1); }
  Index columns() const { return matrices.dim(transpose == Transpose::no ? -1 : -2); }
  Side transposed() const { return {matrices, flip(transpose)}; }
  GemmOperand operand(Index i) const {
    return {matrices.data() + i * rows() * columns(), matrices.dim(-1), transpose};
  }
  /// The axes in front.
  Shape in_front() const {
    return matrices.shape().without_dim(matrices.rank() - 1).without_dim(matrices.rank() - 2);
  }
};

Tensor product(const Side& a, const Side& b) {
  const Index rank = a.matrices.rank();
  const Index rows = a.rows();
  const Index columns = b.columns();
  Tensor c(a.matrices.shape().with_dim(rank - 2, rows).with_dim(rank - 1, columns));
  float* const to = c.mutable_data();
  const auto multiply = [&](Index i) {
    gemm_f32(rows, columns, a.columns(), a.operand(i), b.operand(i), to + i * rows * columns,
             columns);
  };
  const auto products = static_cast<std::size_t>(rows * columns * a.columns());
  parallel_for(static_cast<std::size_t>(a.in_front().size()),
               parallel_grain(Work::float_multiply_adds, products),
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t i = begin; i < end; ++i) multiply(static_cast<Index>(i));
               });
  return c;
}

std::string describe(const Side& side) {
  return side.matrices.shape().to_string() + (side.transpose == Transpose::yes ? "^T" : "");
}

void check_inner(std::string_view name, const Side& a, const Side& b) {
  if (a.columns() == b.rows()) return;
  const char* hint = a.columns() == b.columns() ? "; did you mean to transpose the second operand?"
                     : a.rows() == b.rows()     ? "; did you mean to transpose the first operand?"
                                                : "";
  throw InvalidArgument(
      fmt::format("{}: inner dimensions differ: {} x {}{}", name, describe(a), describe(b), hint));
}

void check_operands(const Side& a, const Side& b) {
  if (a.matrices.rank() != 2 || b.matrices.rank() != 2) {
    throw InvalidArgument(fmt::format("matmul: expected two operands of rank 2, found {} and {}",
                                      a.matrices.shape().to_string(),
                                      b.matrices.shape().to_string()));
  }
  check_inner("matmul", a, b);
}

/// Puts the product c on the tape, whose gradient is made of products of the same kind.
Tensor recorded(std::string_view name, const Tensor& c, const Tensor& a, const Tensor& b,
                Transpose transpose_a, Transpose transpose_b) {
  return record(name, c, {a, b}, [=](const Tensor& g) {
    // For c = a' b': the gradient of a' is g b'^T, that of b' is a'^T g; and where a' = a^T, that
    // of a is the transpose of the former, b' g^T.
    const Side grad{g, Transpose::no};
    const Side lhs{a, transpose_a};
    const Side rhs{b, transpose_b};
    std::vector<Tensor> grads(2);
    if (a.requires_grad()) {
      grads[0] = transpose_a == Transpose::no ? product(grad, rhs.transposed())
                                              : product(rhs, grad.transposed());
    }
    if (b.requires_grad()) {
      grads[1] = transpose_b == Transpose::no ? product(lhs.transposed(), grad)
                                              : product(grad.transposed(), lhs);
    }
    return grads;
  });
}

}  // namespace

void check_matmul(const Tensor& a, const Tensor& b) {
  check_operands({a, Transpose::no}, {b, Transpose::no});
}

Tensor matmul(const Tensor& a, const Tensor& b, Transpose transpose_a, Transpose transpose_b) {
  check_operands({a, transpose_a}, {b, transpose_b});
  const Tensor c = product({a, transpose_a}, {b, transpose_b});
  return recorded("matmul", c, a, b, transpose_a, transpose_b);
}

Tensor batch_matmul(const Tensor& a, const Tensor& b, Transpose transpose_a,
                    Transpose transpose_b) {
  const Side left{a, transpose_a};
  const Side right{b, transpose_b};
  if (a.rank() < 2 || b.rank() < 2 || left.in_front() != right.in_front()) {
    throw InvalidArgument(fmt::format(
        "batch_matmul: expected operands of rank 2 or more, the same axes in front of their "
        "matrices, found {} and {}",
        describe(left), describe(right)));
  }
  check_inner("batch_matmul", left, right);
  return record_batch_matmul(product(left, right), a, b, transpose_a, transpose_b);
}

Tensor record_batch_matmul(const Tensor& c, const Tensor& a, const Tensor& b, Transpose transpose_a,
                           Transpose transpose_b) {
  return recorded("batch_matmul", c, a, b, transpose_a, transpose_b);
}

}  // namespace octet
