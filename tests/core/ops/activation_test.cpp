#include <octet/core/ops/activation.h>
#include <octet/core/ops/quantized_tensor.h>
#include <octet/core/quant/quant_params.h>
#include <octet/tests/core/ops/op_testing.h>

#include <algorithm>
#include <cmath>
#include <memory>

namespace octet::test::activation_test {
namespace {

using namespace testing;

const std::vector<Shape> kShapes = {{1}, {9}, {1, 5}, {5, 1}, {3, 7}, {2, 3, 5}};

TEST(Relu, ValuesAndGradientAtTheEdges) {
  const Tensor x = Tensor::from({7}, {-1, -0.0F, 0, 1e-30F, 3, kInf, kNan});
  expect_tensor(relu(x), {7}, {0, 0, 0, 1e-30F, 3, kInf, kNan});
  expect_tensor(gradient_of([](const Tensor& v) { return relu(v); }, x), {7},
                {0, 0, 0, 1, 1, 1, 1});
  expect_tensor(relu(Tensor::from({1}, {-kInf})), {1}, {0});
}

TEST(Relu6, ValuesAndGradientAtTheEdges) {
  const Tensor x = Tensor::from({8}, {-1, 0, 0.5F, 5.5F, 6, 7, kInf, kNan});
  expect_tensor(relu6(x), {8}, {0, 0, 0.5F, 5.5F, 6, 6, 6, kNan});
  expect_tensor(gradient_of([](const Tensor& v) { return relu6(v); }, x), {8},
                {0, 0, 1, 1, 0, 0, 0, 1});
}

TEST(Relu, GradientAwayFromTheEdges) {
  const Tensor x = Tensor::from({2, 3}, {-2, -0.1F, 0.1F, 3, 5.9F, 6.2F});
  expect_gradient([](const auto& in) { return relu(in[0]); }, {x});
  expect_gradient([](const auto& in) { return relu6(in[0]); }, {x});
}

TEST(Sigmoid, StableAtBothEnds) {
  const Tensor y = sigmoid(Tensor::from({7}, {-1000, -88, 0, 88, 1000, kInf, kNan}));
  expect_tensor(y, {7}, {0, std::exp(-88.0F), 0.5F, 1, 1, 1, kNan});
  EXPECT_EQ(sigmoid(Tensor::scalar(-kInf)).item(), 0.0F);
}

TEST(Sigmoid, ForwardAndGradient) {
  for (const Shape& shape : kShapes) {
    const Tensor x = random_tensor(shape, 1, -4, 4);
    const Tensor y = sigmoid(x);
    for (Index i = 0; i < x.size(); ++i) {
      EXPECT_NEAR(y.data()[i], 1.0 / (1.0 + std::exp(-static_cast<double>(x.data()[i]))), 1e-7);
    }
    expect_gradient([](const auto& in) { return sigmoid(in[0]); }, {x});
  }
}

TEST(Tanh, ForwardAndGradient) {
  for (const Shape& shape : kShapes) {
    const Tensor x = random_tensor(shape, 2);
    for (Index i = 0; i < x.size(); ++i) EXPECT_EQ(tanh(x).data()[i], std::tanh(x.data()[i]));
    expect_gradient([](const auto& in) { return tanh(in[0]); }, {x});
  }
  expect_tensor(tanh(Tensor::from({4}, {-100, 100, kInf, kNan})), {4}, {-1, 1, 1, kNan});
}

TEST(Softmax, ForwardMatchesALoopInDouble) {
  for (const Shape& shape : kShapes) {
    const Tensor x = random_tensor(shape, 3, -5, 5);
    const Tensor y = softmax(x);
    const Tensor by_beta = softmax(x * 0.5F, 2.0F);
    const Tensor log_y = log_softmax(x);
    const Index columns = x.dim(-1);
    for (Index start = 0; start < x.size(); start += columns) {
      double total = 0.0;
      for (Index j = 0; j < columns; ++j) {
        total += std::exp(static_cast<double>(x.data()[start + j]));
      }
      for (Index j = 0; j < columns; ++j) {
        const double v = static_cast<double>(x.data()[start + j]);
        EXPECT_NEAR(y.data()[start + j], std::exp(v) / total, 3e-7);
        EXPECT_NEAR(by_beta.data()[start + j], std::exp(v) / total, 3e-7);
        EXPECT_NEAR(log_y.data()[start + j], v - std::log(total), 1e-6);
      }
    }
  }
}

TEST(Softmax, Gradients) {
  for (const Shape& shape : kShapes) {
    const Tensor x = random_tensor(shape, 4);
    expect_gradient([](const auto& in) { return softmax(in[0], 2.0F); }, {x});
    expect_gradient([](const auto& in) { return log_softmax(in[0]); }, {x});
  }
}

TEST(Softmax, OfManyCodesIsThatOfTheirRealValuesToTheLastBit) {
  for (const Shape& shape : {Shape{331, 199}, Shape{2, 7, 5003}}) {
    const auto size = static_cast<std::size_t>(shape.size());
    const auto memory = std::make_shared<std::int8_t[]>(size);
    std::int8_t* const codes = memory.get();
    for (std::size_t i = 0; i < size; ++i) {
      codes[i] = static_cast<std::int8_t>(Random(7).bits(i) >> 24U);
      // Rows with one large value, and rows without.
      if (i % 199 != 0) codes[i] = static_cast<std::int8_t>(codes[i] / 3);
    }
    const auto grid = std::make_shared<const QuantParams>(QuantParams::per_tensor(0.0371F, -9));
    const Tensor x = quantized_tensor(shape, grid, memory);
    Tensor real(shape);
    std::ranges::copy(x.span(), real.mutable_data());
    const Tensor found = softmax(x, 1.7F);
    const Tensor expected = softmax(real, 1.7F);
    EXPECT_TRUE(std::ranges::equal(found.span(), expected.span()));
  }
}

TEST(Softmax, HugeLogitsDoNotOverflow) {
  const Tensor x = Tensor::from({2, 3}, {1e4F, 0, -1e4F, -3e38F, -3e38F, -3e38F});
  const float third = 1.0F / 3.0F;
  expect_tensor(softmax(x), {2, 3}, {1, 0, 0, third, third, third});
  expect_tensor(log_softmax(x.slice(0, 1)), {1, 3}, {0, -1e4F, -2e4F});
}

TEST(Softmax, MinusInfinityIsZeroBesideFiniteLogits) {
  const Tensor x = Tensor::from({3}, {0, -kInf, 0});
  expect_tensor(softmax(x), {3}, {0.5F, 0, 0.5F});
  EXPECT_EQ(log_softmax(x).at({1}), -kInf);
}

TEST(Softmax, NanAndInfinityMakeTheirRowNan) {
  for (const float bad : {kNan, kInf}) {
    for (Index position = 0; position < 3; ++position) {
      Tensor x = Tensor::zeros({2, 3});
      x.mutable_at({1, position}) = bad;
      const float third = 1.0F / 3.0F;
      expect_tensor(softmax(x), {2, 3}, {third, third, third, kNan, kNan, kNan});
      EXPECT_TRUE(std::isnan(log_softmax(x).at({1, 0})) || std::isinf(log_softmax(x).at({1, 0})));
    }
  }
  expect_tensor(softmax(Tensor::full({2}, -kInf)), {2}, {kNan, kNan});
}

TEST(Softmax, EdgesOfShape) {
  expect_tensor(softmax(Tensor::zeros({2, 0})), {2, 0}, {});
  expect_tensor(softmax(Tensor::zeros({0, 2})), {0, 2}, {});
  expect_tensor(softmax(Tensor::full({2, 1}, 7)), {2, 1}, {1, 1});
  expect_error([] { softmax(Tensor::scalar(1)); }, "softmax: expected rank 1 or more");
  expect_error([] { log_softmax(Tensor::scalar(1)); }, "log_softmax: expected rank 1 or more");
}

TEST(Activation, SameBytesOnAnyNumberOfThreads) {
  const Tensor x = random_tensor({513, 67}, 5);
  expect_same_on_any_threads([&] {
    Tensor v = leaf(x.clone());
    Tensor y = softmax(log_softmax(tanh(sigmoid(relu(v)))));
    y.backward(x);
    return std::vector<Tensor>{y, v.grad()};
  });
}

}  // namespace
}  // namespace octet::test::activation_test
