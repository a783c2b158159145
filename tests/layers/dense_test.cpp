#include <octet/core/ops/ops.h>
#include <octet/layers/reshape.h>
#include <octet/tests/layers/layer_testing.h>

namespace octet::test::dense_test {
namespace {

constexpr Activation kAll[] = {Activation::none,    Activation::relu,    Activation::relu6,
                               Activation::softmax, Activation::sigmoid, Activation::tanh};

/// x W + b, in double.
std::vector<double> naive_linear(const Tensor& x, const Dense& dense) {
  std::vector<double> result;
  for (Index i = 0; i < x.dim(0); ++i) {
    for (Index j = 0; j < dense.units(); ++j) {
      double sum = dense.bias().defined() ? double{dense.bias().at({j})} : 0.0;
      for (Index k = 0; k < x.dim(1); ++k) sum += double{x.at({i, k})} * dense.kernel().at({k, j});
      result.push_back(sum);
    }
  }
  return result;
}

/// f applied to one row.
void naive_activation(Activation activation, std::span<double> row) {
  double total = 0.0;
  for (const double v : row) total += std::exp(v);
  for (double& v : row) {
    switch (activation) {
      case Activation::none:
        break;
      case Activation::relu:
        v = std::max(v, 0.0);
        break;
      case Activation::relu6:
        v = std::min(std::max(v, 0.0), 6.0);
        break;
      case Activation::softmax:
        v = std::exp(v) / total;
        break;
      case Activation::sigmoid:
        v = 1.0 / (1.0 + std::exp(-v));
        break;
      case Activation::tanh:
        v = std::tanh(v);
        break;
    }
  }
}

std::unique_ptr<Dense> dense_of(Activation activation, Index inputs, Index units,
                                bool use_bias = true) {
  auto dense = built(Dense(units, activation, DenseOptions{.use_bias = use_bias}), {inputs});
  for (auto& [name, tensor] : dense->parameters()) {
    Random(7).fill_uniform(tensor.mutable_span(), -2.0F, 2.0F);
  }
  return dense;
}

TEST(Dense, ComputesTheActivationOfTheLinearMap) {
  for (const Activation activation : kAll) {
    for (const bool use_bias : {true, false}) {
      for (const Index batch : {1, 5}) {
        const auto dense = dense_of(activation, 7, 5, use_bias);
        const Tensor x = random_tensor({batch, 7}, 3);
        std::vector<double> expected = naive_linear(x, *dense);
        for (std::size_t i = 0; i < expected.size(); i += 5) {
          naive_activation(activation, std::span(expected).subspan(i, 5));
        }
        const Tensor y = dense->forward(x, {});
        ASSERT_EQ(y.shape(), (Shape{batch, 5}));
        for (std::size_t i = 0; i < expected.size(); ++i) {
          EXPECT_NEAR(double{y.span()[i]}, expected[i], 1e-5) << to_string(activation);
        }
      }
    }
  }
}

TEST(Dense, LogitsLackTheSoftmaxAndNothingElse) {
  const Tensor x = random_tensor({3, 4}, 1);
  for (const Activation activation : kAll) {
    const auto dense = dense_of(activation, 4, 3);
    const bool is_softmax = activation == Activation::softmax;
    EXPECT_EQ(dense->ends_in_softmax(), is_softmax);
    const Tensor expected =
        is_softmax ? dense->linear(x, dense->kernel(), dense->bias()) : dense->forward(x, {});
    expect_tensor(dense->forward_logits(x, {}), {3, 3}, values_of(expected));
  }
}

TEST(Dense, HasTheGradientOfItsFormula) {
  for (const Activation activation :
       {Activation::none, Activation::sigmoid, Activation::tanh, Activation::softmax}) {
    const auto dense = dense_of(activation, 3, 4);
    const auto formula = [activation](const std::vector<Tensor>& in) {
      return apply_activation(activation, matmul(in[0], in[1]) + in[2]);
    };
    expect_gradient(formula,
                    {random_tensor({2, 3}, 5), dense->kernel().clone(), dense->bias().clone()});
    expect_gradient([&](const std::vector<Tensor>& in) { return dense->forward(in[0], {}); },
                    {random_tensor({2, 3}, 5)});
    // What reaches the layer's own tensors is what the formula gives.
    Tensor x = leaf(random_tensor({2, 3}, 5));
    for (auto& [name, tensor] : dense->parameters()) tensor.zero_grad();
    const Tensor upstream = random_tensor({2, 4}, 6);
    dense->forward(x, {}).backward(upstream);
    const std::vector<Tensor> in = {leaf(x.clone()), leaf(dense->kernel().clone()),
                                    leaf(dense->bias().clone())};
    formula(in).backward(upstream);
    expect_close(x.grad(), in[0].grad());
    expect_close(dense->kernel().grad(), in[1].grad());
    expect_close(dense->bias().grad(), in[2].grad());
  }
}

TEST(Dense, ReluPassesTheGradientWhereItIsPositive) {
  auto dense = built(Dense(2, Activation::relu), {1});
  fill(dense->kernel(), {1.0F, -1.0F});
  Tensor x = leaf(Tensor::from({2, 1}, {3.0F, -2.0F}));
  dense->forward(x, {}).backward(Tensor::ones({2, 2}));
  expect_tensor(x.grad(), {2, 1}, {1.0F, -1.0F});
  expect_tensor(dense->kernel().grad(), {1, 2}, {3.0F, -2.0F});
  expect_tensor(dense->bias().grad(), {2}, {1.0F, 1.0F});
}

TEST(Dense, ParametersAreKernelAndBiasInThisOrder) {
  const auto dense = dense_of(Activation::none, 4, 3);
  EXPECT_EQ(names_of(dense->parameters()), (std::vector<std::string>{"kernel", "bias"}));
  EXPECT_EQ(dense->kernel().shape(), (Shape{4, 3}));
  EXPECT_EQ(dense->bias().shape(), (Shape{3}));
  EXPECT_TRUE(dense->kernel().requires_grad());
  EXPECT_TRUE(dense->bias().requires_grad());
  EXPECT_EQ(dense->output_shape(), (Shape{3}));
  const auto bare = dense_of(Activation::none, 4, 3, false);
  EXPECT_EQ(names_of(bare->parameters()), (std::vector<std::string>{"kernel"}));
  EXPECT_FALSE(bare->bias().defined());
}

TEST(Dense, StartsWithABiasOfZeroAndAKernelOfItsInitialiser) {
  const auto dense = built(Dense(3), {4}, 9);
  expect_tensor(dense->bias(), {3}, {0, 0, 0});
  const Tensor expected = initialize(Initializer::glorot_uniform, {4, 3}, 4, 3, Random(9));
  expect_tensor(dense->kernel(), {4, 3}, values_of(expected));
  const auto zeros = built(
      Dense(3, Activation::none, DenseOptions{.kernel_initializer = Initializer::zeros}), {4});
  expect_tensor(zeros->kernel(), {4, 3}, std::vector<float>(12, 0.0F));
}

TEST(Dense, RefusesNoUnitsAndExamplesWithoutAnAxis) {
  expect_error([] { Dense(0); }, "at least 1 unit, found 0");
  expect_error([] { Dense(-3); }, "-3");
  expect_error([] { built(Dense(3, Activation::relu, "head"), Shape(std::vector<Index>{})); },
               "Dense \"head\": expected examples [.., inputs], found scalars");
}

// Each row of inputs is an example of a Dense on vectors.
TEST(Dense, ContractsTheLastAxisOfExamplesOfAnyRank) {
  for (const Shape& shape : {Shape{5, 7}, Shape{2, 3, 7}, Shape{1, 2, 2, 7}}) {
    for (const Activation activation : kAll) {
      const auto rows = dense_of(activation, 7, 4);
      const auto dense = built(Dense(4, activation), shape);
      ASSERT_EQ(dense->output_shape(), shape.with_dim(-1, 4));
      ASSERT_EQ(dense->kernel().shape(), (Shape{7, 4}));
      fill(dense->kernel(), values_of(rows->kernel()));
      fill(dense->bias(), values_of(rows->bias()));
      Tensor x = leaf(random_tensor(shape.with_batch(2), 3));
      Tensor flat = leaf(x.detach().clone().reshape({2 * shape.size() / 7, 7}));
      Tensor y = dense->forward(x, {});
      expect_tensor(y, shape.with_dim(-1, 4).with_batch(2), values_of(rows->forward(flat, {})));
      const Tensor upstream = random_tensor(y.shape(), 6);
      y.backward(upstream);
      rows->forward(flat, {}).backward(upstream.reshape({flat.dim(0), 4}));
      expect_tensor(x.grad(), x.shape(), values_of(flat.grad()));
      expect_tensor(dense->kernel().grad(), {7, 4}, values_of(rows->kernel().grad()));
      expect_tensor(dense->bias().grad(), {4}, values_of(rows->bias().grad()));
    }
  }
}

TEST(Dense, HasTheGradientOfItsFormulaOverRows) {
  for (const FusedActivation clamp : {FusedActivation::none, FusedActivation::relu6}) {
    const auto formula = [clamp](const std::vector<Tensor>& in) {
      return linear(in[0], in[1], in[2], clamp);
    };
    expect_gradient(formula,
                    {random_tensor({2, 3, 4}, 5), random_tensor({4, 2}, 6), random_tensor({2}, 7)});
  }
}

TEST(Dense, EndsInTheClampThatItIsGivenOnce) {
  const auto dense = dense_of(Activation::none, 4, 3);
  const Tensor x = random_tensor({2, 4}, 1);
  const Tensor expected = relu(dense->forward(x, {}));
  dense->end_in(Activation::relu);
  EXPECT_EQ(values_of(dense->forward(x, {})), values_of(expected));
  expect_error([&] { dense->end_in(Activation::relu6); }, "found relu6 for one that ends in relu");
  expect_error([] { Reshape({4}).end_in(Activation::relu); }, "Reshape");
}

TEST(Dense, SaysThatItWasNotBuilt) {
  Dense bare(3, Activation::relu, "head");
  const Tensor x = Tensor::zeros({2, 4});
  expect_error([&] { bare.forward(x, {}); },
               "Dense \"head\": expected a layer with its tensors, found one that was not built");
  expect_error([&] { bare.linear(x, x, {}); }, "call build(), or that of its model");
}

TEST(Dense, TakesAnEmptyBatch) {
  const auto dense = dense_of(Activation::relu, 4, 3);
  EXPECT_EQ(dense->forward(Tensor::zeros({0, 4}), {}).shape(), (Shape{0, 3}));
}

}  // namespace
}  // namespace octet::test::dense_test
