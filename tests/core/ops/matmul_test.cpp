#include <octet/core/ops/matmul.h>
#include <octet/tests/core/ops/op_testing.h>
#include <octet/tests/core/thrown.h>

#include <cmath>

namespace octet::test::matmul_test {
namespace {

using namespace testing;

constexpr Transpose kNo = Transpose::no;
constexpr Transpose kYes = Transpose::yes;

struct Case {
  Index m, k, n;
};
const std::vector<Case> kCases = {{1, 1, 1}, {1, 5, 3}, {3, 1, 2}, {4, 6, 1}, {3, 5, 7}, {9, 4, 8}};

Tensor operand(Index rows, Index columns, Transpose t, std::uint64_t seed) {
  return random_tensor(t == kNo ? Shape{rows, columns} : Shape{columns, rows}, seed);
}

float element(const Tensor& t, Index row, Index column, Transpose transpose) {
  return transpose == kNo ? t.at({row, column}) : t.at({column, row});
}

TEST(Matmul, ForwardMatchesALoop) {
  for (const Case& c : kCases) {
    for (const Transpose ta : {kNo, kYes}) {
      for (const Transpose tb : {kNo, kYes}) {
        const Tensor a = operand(c.m, c.k, ta, 1);
        const Tensor b = operand(c.k, c.n, tb, 2);
        const Tensor y = matmul(a, b, ta, tb);
        ASSERT_EQ(y.shape(), (Shape{c.m, c.n}));
        for (Index i = 0; i < c.m; ++i) {
          for (Index j = 0; j < c.n; ++j) {
            float expected = 0.0F;
            for (Index p = 0; p < c.k; ++p) {
              expected = std::fma(element(a, i, p, ta), element(b, p, j, tb), expected);
            }
            EXPECT_EQ(y.at({i, j}), expected);
          }
        }
      }
    }
  }
}

TEST(Matmul, GradientsOfEveryTranspose) {
  for (const Case& c : kCases) {
    for (const Transpose ta : {kNo, kYes}) {
      for (const Transpose tb : {kNo, kYes}) {
        expect_gradient([=](const auto& in) { return matmul(in[0], in[1], ta, tb); },
                        {operand(c.m, c.k, ta, 3), operand(c.k, c.n, tb, 4)});
      }
    }
  }
}

TEST(Matmul, OneTensorOnBothSides) {
  const Tensor a = random_tensor({3, 4}, 5);
  expect_gradient([](const auto& in) { return matmul(in[0], in[0], kNo, kYes); }, {a});
  expect_gradient([](const auto& in) { return matmul(in[0], in[0], kYes, kNo); }, {a});
}

TEST(BatchMatmul, IsMatmulOfEveryPairOfMatrices) {
  const Tensor a = random_tensor({2, 3, 4, 5}, 1);
  const Tensor b = random_tensor({2, 3, 6, 5}, 2);
  const Tensor c = batch_matmul(a, b, kNo, kYes);
  ASSERT_EQ(c.shape(), (Shape{2, 3, 4, 6}));
  const auto matrix = [](const Tensor& x, Index i) {
    return x.reshape({6, x.dim(2), x.dim(3)}).slice(i, i + 1).reshape({x.dim(2), x.dim(3)});
  };
  for (Index i = 0; i < 6; ++i) {
    expect_tensor(matrix(c, i), {4, 6}, values_of(matmul(matrix(a, i), matrix(b, i), kNo, kYes)));
  }
  EXPECT_EQ(batch_matmul(Tensor::zeros({0, 2, 3}), Tensor::zeros({0, 3, 4})).shape(),
            (Shape{0, 2, 4}));
}

TEST(BatchMatmul, GradientsOfEveryTranspose) {
  for (const Transpose ta : {kNo, kYes}) {
    for (const Transpose tb : {kNo, kYes}) {
      const Tensor a = random_tensor(ta == kNo ? Shape{2, 3, 4} : Shape{2, 4, 3}, 1);
      const Tensor b = random_tensor(tb == kNo ? Shape{2, 4, 5} : Shape{2, 5, 4}, 2);
      expect_gradient([=](const auto& in) { return batch_matmul(in[0], in[1], ta, tb); }, {a, b});
    }
  }
}

TEST(BatchMatmul, Errors) {
  const Tensor a = Tensor::ones({2, 3, 4});
  expect_error(
      [&] {
        batch_matmul(a, Tensor::ones({3, 4, 5}));
      },
      "batch_matmul: expected operands of rank 2 or more, the same axes in front of their "
      "matrices, found [2, 3, 4] and [3, 4, 5]");
  expect_error([&] { batch_matmul(a, Tensor::ones({4, 5})); }, "found [2, 3, 4] and [4, 5]");
  expect_error([&] { batch_matmul(Tensor::ones({4}), Tensor::ones({4})); }, "found [4] and [4]");
  expect_error(
      [&] {
        batch_matmul(a, Tensor::ones({2, 5, 4}));
      },
      "batch_matmul: inner dimensions differ: [2, 3, 4] x [2, 5, 4]; did you mean to "
      "transpose the second operand?");
}

TEST(Matmul, EmptyInnerDimensionGivesZeros) {
  expect_tensor(matmul(Tensor::ones({2, 0}), Tensor::ones({0, 3})), {2, 3}, {0, 0, 0, 0, 0, 0});
  expect_tensor(matmul(Tensor::ones({0, 2}), Tensor::ones({2, 3})), {0, 3}, {});
}

TEST(Matmul, NanReachesTheResult) {
  const Tensor a = Tensor::from({1, 2}, {kNan, 1});
  expect_tensor(matmul(a, Tensor::zeros({2, 1})), {1, 1}, {kNan});
}

TEST(Matmul, ErrorsNameShapesAndTheLikelyMistake) {
  expect_error(
      [] {
        matmul(Tensor::ones({128, 784}), Tensor::ones({256, 784}));
      },
      "matmul: inner dimensions differ: [128, 784] x [256, 784]; did you mean to "
      "transpose the second operand?");
  expect_error(
      [] {
        matmul(Tensor::ones({5, 2}), Tensor::ones({5, 3}));
      },
      "did you mean to transpose the first operand?");
  expect_error(
      [] {
        matmul(Tensor::ones({5, 2}), Tensor::ones({3, 5}), kNo, kYes);
      },
      "[5, 2] x [3, 5]^T");
  EXPECT_EQ(message_of<InvalidArgument>([] {
              matmul(Tensor::ones({2, 3}), Tensor::ones({4, 5}));
            }),
            "matmul: inner dimensions differ: [2, 3] x [4, 5]");
  expect_error(
      [] {
        matmul(Tensor::ones({3}), Tensor::ones({3, 4}));
      },
      "matmul: expected two operands of rank 2, found [3] and [3, 4]");
}

}  // namespace
}  // namespace octet::test::matmul_test
