#include <fmt/core.h>
#include <octet/core/autograd.h>
#include <octet/core/error.h>
#include <octet/core/kernels/gemm.h>
#include <octet/core/ops/matmul.h>

namespace octet {
namespace {

Transpose flip(Transpose t) { return t == Transpose::no ? Transpose::yes : Transpose::no; }

/// A matrix as one side of a product reads it.
struct Side {
  const Tensor& matrix;
  Transpose transpose;

  Index rows() const { return matrix.shape()[transpose == Transpose::no ? 0 : 1]; }
  Index columns() const { return matrix.shape()[transpose == Transpose::no ? 1 : 0]; }
  Side transposed() const { return {matrix, flip(transpose)}; }
  GemmOperand operand() const { return {matrix.data(), matrix.shape()[1], transpose}; }
};

Tensor product(const Side& a, const Side& b) {
  Tensor c(Shape{a.rows(), b.columns()});
  gemm_f32(a.rows(), b.columns(), a.columns(), a.operand(), b.operand(), c.data(), b.columns());
  return c;
}

std::string describe(const Side& side) {
  return side.matrix.shape().to_string() + (side.transpose == Transpose::yes ? "^T" : "");
}

void check_operands(const Side& a, const Side& b) {
  if (a.matrix.rank() != 2 || b.matrix.rank() != 2) {
    throw InvalidArgument(fmt::format("matmul: expected two operands of rank 2, found {} and {}",
                                      a.matrix.shape().to_string(), b.matrix.shape().to_string()));
  }
  if (a.columns() == b.rows()) return;
  const char* hint = a.columns() == b.columns() ? "; did you mean to transpose the second operand?"
                     : a.rows() == b.rows()     ? "; did you mean to transpose the first operand?"
                                                : "";
  throw InvalidArgument(
      fmt::format("matmul: inner dimensions differ: {} x {}{}", describe(a), describe(b), hint));
}

}  // namespace

void check_matmul(const Tensor& a, const Tensor& b) {
  check_operands({a, Transpose::no}, {b, Transpose::no});
}

Tensor matmul(const Tensor& a, const Tensor& b, Transpose transpose_a, Transpose transpose_b) {
  const Side left{a, transpose_a};
  const Side right{b, transpose_b};
  check_operands(left, right);
  return record("matmul", product(left, right), {a, b}, [=](const Tensor& g) {
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

}  // namespace octet
