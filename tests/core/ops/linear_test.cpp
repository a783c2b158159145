#include <octet/core/ops/ops.h>
#include <octet/tests/core/ops/op_testing.h>

#include <array>

namespace octet::test::linear_test {
namespace {

Tensor drawn(const Shape& shape, std::uint64_t seed) {
  return Tensor::uniform(shape, Random(seed), -2.0F, 2.0F).set_requires_grad(true);
}

/// y and the gradients of x, W and b under an upstream gradient that differs from place to place.
struct Outcome {
  std::vector<std::vector<float>> tensors;
  bool operator==(const Outcome&) const = default;
};

template <class Compute>
Outcome outcome(Index m, Index k, Index n, bool use_bias, Compute compute) {
  const Tensor x = drawn({m, k}, 1);
  const Tensor kernel = drawn({k, n}, 2);
  const Tensor bias = use_bias ? drawn({n}, 3) : Tensor();
  Tensor y = compute(x, kernel, bias);
  Outcome result;
  const auto keep = [&](const Tensor& t) {
    result.tensors.emplace_back(t.span().begin(), t.span().end());
  };
  keep(y);
  y.backward(Tensor::uniform(y.shape(), Random(4), -1.0F, 1.0F));
  keep(x.grad());
  keep(kernel.grad());
  if (use_bias) keep(bias.grad());
  return result;
}

TEST(Linear, IsToTheBitWhatItsPartsAre) {
  const auto shapes = {std::array<Index, 3>{1, 1, 1}, {5, 7, 33}, {37, 19, 64}, {128, 50, 257}};
  for (const auto& [m, k, n] : shapes) {
    for (const bool use_bias : {false, true}) {
      const auto parts = [&](const Tensor& x, const Tensor& w, const Tensor& b) {
        const Tensor product = matmul(x, w);
        return b.defined() ? product + b : product;
      };
      EXPECT_EQ(
          outcome(m, k, n, use_bias,
                  [](const auto& x, const auto& w, const auto& b) { return linear(x, w, b); }),
          outcome(m, k, n, use_bias, parts));
      EXPECT_EQ(outcome(m, k, n, use_bias,
                        [](const auto& x, const auto& w, const auto& b) {
                          return linear(x, w, b, FusedActivation::relu);
                        }),
                outcome(m, k, n, use_bias, [&](const auto& x, const auto& w, const auto& b) {
                  return relu(parts(x, w, b));
                }));
      EXPECT_EQ(outcome(m, k, n, use_bias,
                        [](const auto& x, const auto& w, const auto& b) {
                          return linear(x, w, b, FusedActivation::relu6);
                        }),
                outcome(m, k, n, use_bias, [&](const auto& x, const auto& w, const auto& b) {
                  return relu6(parts(x, w, b));
                }));
    }
  }
}

TEST(Linear, ClampsToMinusOneAndOne) {
  const Tensor x = Tensor::from({1, 3}, {-3.0F, 0.5F, 4.0F}).set_requires_grad(true);
  const Tensor identity = Tensor::from({3, 3}, {1, 0, 0, 0, 1, 0, 0, 0, 1});
  Tensor y = linear(x, identity, {}, FusedActivation::relu_n1_to_1);
  expect_tensor(y, {1, 3}, {-1.0F, 0.5F, 1.0F});
  y.backward(Tensor::from({1, 3}, {5, 6, 7}));
  expect_tensor(x.grad(), {1, 3}, {0, 6, 0});
}

TEST(Linear, KeepsNaN) {
  const Tensor x = Tensor::from({1, 1}, {kNan});
  EXPECT_TRUE(
      std::isnan(linear(x, Tensor::ones({1, 1}), Tensor::ones({1}), FusedActivation::relu).item()));
}

TEST(Linear, Gradients) {
  for (const bool use_bias : {false, true}) {
    std::vector<Tensor> inputs = {drawn({3, 4}, 5), drawn({4, 2}, 6)};
    if (use_bias) inputs.push_back(drawn({2}, 7));
    expect_gradient(
        [&](const std::vector<Tensor>& in) {
          return linear(in[0], in[1], use_bias ? in[2] : Tensor());
        },
        inputs);
  }
}

TEST(Linear, RefusesShapesThatDoNotFit) {
  const Tensor x = Tensor::ones({2, 3});
  EXPECT_THROW(linear(x, Tensor::ones({4, 2}), {}), InvalidArgument);
  EXPECT_THROW(linear(x, Tensor::ones({3, 2}), Tensor::ones({3})), InvalidArgument);
}

}  // namespace
}  // namespace octet::test::linear_test
