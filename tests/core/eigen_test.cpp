#include <octet/core/eigen.h>
#include <octet/core/ops/elementwise.h>
#include <octet/core/ops/matmul.h>
#include <octet/core/ops/reduce.h>
#include <octet/core/quant/quant_params.h>
#include <octet/core/tensor_internal.h>
#include <octet/tests/core/ops/op_testing.h>

#include <utility>

namespace octet::test::eigen_test {
namespace {

using detail::TensorAccess;
using namespace testing;

TEST(Eigen, MapsShareTheTensorsData) {
  Tensor t = Tensor::from({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(as_matrix(t)(1, 0), 4.0F);
  as_mutable_matrix(t)(0, 2) = 10.0F;
  EXPECT_EQ(t.at({0, 2}), 10.0F);
  as_mutable_array(t) *= 2.0F;
  expect_tensor(t, {2, 3}, {2, 4, 20, 8, 10, 12});
  EXPECT_EQ(as_array(t).sum(), 56.0F);
  EXPECT_EQ(as_array(t).data(), t.data());
  EXPECT_EQ(as_matrix(t).data(), t.data());
  Tensor v = Tensor::from({3}, {1, 2, 3});
  as_mutable_vector(v)[2] = 7.0F;
  EXPECT_EQ(as_vector(v).dot(as_vector(v)), 1.0F + 4.0F + 49.0F);
}

TEST(Eigen, MapsCheckTheRank) {
  Tensor row = Tensor::ones({3});
  Tensor matrix = Tensor::ones({1, 3});
  expect_error([&] { as_matrix(row); }, "as_matrix: expected rank 2, found shape [3]; reshape()");
  expect_error([&] { as_mutable_matrix(row); }, "as_mutable_matrix: expected rank 2");
  expect_error([&] { as_vector(matrix); }, "as_vector: expected rank 1, found shape [1, 3]");
  expect_error([&] { as_mutable_vector(matrix); }, "as_mutable_vector: expected rank 1");
  expect_error([] { as_matrix(Tensor()); }, "default-made handle");
}

TEST(Eigen, AMutableMapDropsWhatTheTensorRemembers) {
  Tensor t = Tensor::from({2, 2}, {1, 2, 3, 4});
  const auto grid = std::make_shared<const QuantParams>(choose_quant_params(0.0F, 4.0F, {}, "t"));
  const auto remembers = [&] { return t.quantization() != nullptr; };
  TensorAccess::set_quantization(t, grid);
  EXPECT_EQ(as_matrix(t)(0, 0), 1.0F);
  EXPECT_EQ(as_array(t)(0), 1.0F);
  EXPECT_TRUE(remembers());
  as_mutable_matrix(t)(0, 0) = 9.0F;
  EXPECT_FALSE(remembers());
  TensorAccess::set_quantization(t, grid);
  as_mutable_array(t)(0) = 9.0F;
  EXPECT_FALSE(remembers());
  Tensor v = Tensor::ones({2});
  EXPECT_EQ(TensorAccess::limits(v).max, 1.0F);
  as_mutable_vector(v)[0] = 9.0F;
  EXPECT_EQ(TensorAccess::limits(v).max, 9.0F);
}

TEST(Eigen, ExpressionsBecomeTensors) {
  const Tensor a = Tensor::from({2, 3}, {1, 2, 3, 4, 5, 6});
  expect_tensor(from_eigen(as_matrix(a) * as_matrix(a).transpose()), {2, 2}, {14, 32, 32, 77});
  expect_tensor(from_eigen(as_matrix(a).rowwise().sum()), {2}, {6, 15});
  expect_tensor(from_eigen(as_matrix(a).colwise().sum()), {3}, {5, 7, 9});
  expect_tensor(from_eigen(as_array(a) + 1.0F), {6}, {2, 3, 4, 5, 6, 7});
  const Eigen::MatrixXf columns = as_matrix(a);
  ASSERT_FALSE(Eigen::MatrixXf::IsRowMajor);
  expect_tensor(from_eigen(columns), {2, 3}, {1, 2, 3, 4, 5, 6});
  const Eigen::MatrixXd wide = columns.cast<double>();
  expect_tensor(from_eigen(wide.cast<float>()), {2, 3}, {1, 2, 3, 4, 5, 6});
  expect_tensor(from_eigen(Eigen::MatrixXf(0, 3)), {0, 3}, {});
}

TEST(Eigen, ARowMajorMatrixIsTakenOverWithoutACopy) {
  Matrix matrix(2, 2);
  matrix << 1, 2, 3, 4;
  const float* const memory = matrix.data();
  const Tensor t = from_eigen(std::move(matrix));
  EXPECT_EQ(t.data(), memory);
  expect_tensor(t, {2, 2}, {1, 2, 3, 4});
  Eigen::VectorXf vector(3);
  vector << 5, 6, 7;
  const float* const elements = vector.data();
  const Tensor v = from_eigen(std::move(vector));
  EXPECT_EQ(v.data(), elements);
  expect_tensor(v, {3}, {5, 6, 7});
  expect_tensor(from_eigen(Matrix(0, 2)), {0, 2}, {});
  // A matrix that is still needed is copied.
  Matrix kept = Matrix::Ones(1, 2);
  const Tensor copy = from_eigen(kept);
  EXPECT_NE(copy.data(), kept.data());
}

TEST(Eigen, BorrowedMemoryIsShared) {
  Matrix matrix(3, 2);
  matrix << 1, 2, 3, 4, 5, 6;
  Tensor t = borrow_eigen(matrix);
  EXPECT_EQ(t.data(), matrix.data());
  matrix(0, 1) = 8.0F;
  t.mutable_at({2, 0}) = 9.0F;
  expect_tensor(t, {3, 2}, {1, 8, 3, 4, 9, 6});
  EXPECT_EQ(matrix(2, 0), 9.0F);
  expect_tensor(borrow_eigen(matrix.middleRows(1, 2)), {2, 2}, {3, 4, 9, 6});
  expect_tensor(borrow_eigen(matrix.block(1, 1, 1, 1)), {1, 1}, {4});
  expect_error(
      [&] { borrow_eigen(matrix.leftCols(1)); },
      "borrow_eigen: expected elements that follow one another in memory, found 3 x 1 with "
      "strides 2 and 1; from_eigen() copies them");
  expect_error([&] { borrow_eigen(matrix.col(1)); }, "found 3 x 1 with strides");
  Eigen::VectorXf vector(4);
  vector << 1, 2, 3, 4;
  expect_tensor(borrow_eigen(vector.segment(1, 2)), {2}, {2, 3});
}

TEST(Eigen, TensorsOnBorrowedMemoryTakePartInOpsWhateverTheirAlignment) {
  constexpr Index kRows = 37;
  constexpr Index kColumns = 41;
  const Tensor reference = random_tensor({kRows, kColumns}, 1);
  const Tensor other = random_tensor({kColumns, 19}, 2);
  Eigen::VectorXf memory(kRows * kColumns + 16);
  for (Index offset = 0; offset < 16; ++offset) {
    auto part = memory.segment(offset, kRows * kColumns);
    part = as_array(reference).matrix();
    Tensor x = borrow_eigen(part).reshape({kRows, kColumns}).set_requires_grad(true);
    Tensor y = sum(matmul(x, other) * 2.0F);
    Tensor z = leaf(reference.clone());
    Tensor expected = sum(matmul(z, other) * 2.0F);
    expect_tensor(y, {}, values_of(expected));
    y.backward();
    expected.backward();
    expect_tensor(x.grad(), {kRows, kColumns}, values_of(z.grad()));
  }
}

}  // namespace
}  // namespace octet::test::eigen_test
