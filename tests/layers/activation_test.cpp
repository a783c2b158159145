#include <octet/core/ops/ops.h>
#include <octet/layers/add.h>
#include <octet/tests/layers/layer_testing.h>

namespace octet::test::activation_test {
namespace {

TEST(Activation, NamesGoBothWays) {
  for (const Activation activation : {Activation::none, Activation::relu, Activation::relu6,
                                      Activation::softmax, Activation::sigmoid, Activation::tanh}) {
    EXPECT_EQ(parse_activation(to_string(activation)), activation);
  }
  EXPECT_EQ(to_string(Activation::none), "none");
  EXPECT_EQ(parse_activation("linear"), Activation::none);
  expect_error([] { parse_activation("gelu"); }, "\"gelu\"");
  expect_error([] { parse_activation(""); }, "softmax");
}

TEST(Activation, OnlySmoothOnesAreQuantizedBefore) {
  EXPECT_TRUE(quantizes_before(Activation::softmax));
  EXPECT_TRUE(quantizes_before(Activation::sigmoid));
  EXPECT_TRUE(quantizes_before(Activation::tanh));
  EXPECT_FALSE(quantizes_before(Activation::none));
  EXPECT_FALSE(quantizes_before(Activation::relu));
  EXPECT_FALSE(quantizes_before(Activation::relu6));
}

TEST(Activation, OnlyClampsAreFused) {
  EXPECT_EQ(fused_activation(Activation::none), FusedActivation::none);
  EXPECT_EQ(fused_activation(Activation::relu), FusedActivation::relu);
  EXPECT_EQ(fused_activation(Activation::relu6), FusedActivation::relu6);
  const Add sum;
  const Dense dense(2);
  for (const Activation f : {Activation::relu, Activation::relu6}) {
    EXPECT_TRUE(sum.can_end_in(f));
    EXPECT_TRUE(dense.can_end_in(f));
  }
  for (const Activation f : {Activation::softmax, Activation::sigmoid, Activation::tanh}) {
    expect_error([&] { fused_activation(f); },
                 "expected none, relu or relu6, found " + std::string(to_string(f)));
    EXPECT_FALSE(sum.can_end_in(f));
    EXPECT_FALSE(dense.can_end_in(f));
  }
}

TEST(ActivationLayer, ComputesItsFunction) {
  const Tensor x = Tensor::from({2, 3}, {-1.0F, 0.0F, 2.0F, 6.0F, 7.5F, -0.5F});
  const auto result = [&](Activation activation) {
    return built(ActivationLayer(activation), {3})->forward(x, {});
  };
  expect_tensor(result(Activation::none), {2, 3}, values_of(x));
  expect_tensor(result(Activation::relu), {2, 3}, {0, 0, 2, 6, 7.5F, 0});
  expect_tensor(result(Activation::relu6), {2, 3}, {0, 0, 2, 6, 6, 0});
  const Tensor sigmoids = result(Activation::sigmoid);
  const Tensor tanhs = result(Activation::tanh);
  const Tensor probabilities = result(Activation::softmax);
  for (Index i = 0; i < 2; ++i) {
    double total = 0.0;
    for (Index j = 0; j < 3; ++j) total += std::exp(double{x.at({i, j})});
    for (Index j = 0; j < 3; ++j) {
      const double v = double{x.at({i, j})};
      EXPECT_NEAR(double{sigmoids.at({i, j})}, 1.0 / (1.0 + std::exp(-v)), 1e-6);
      EXPECT_NEAR(double{tanhs.at({i, j})}, std::tanh(v), 1e-6);
      EXPECT_NEAR(double{probabilities.at({i, j})}, std::exp(v) / total, 1e-6);
    }
  }
}

TEST(ActivationLayer, HasTheGradientOfItsFunction) {
  for (const Activation activation : {Activation::sigmoid, Activation::tanh, Activation::softmax}) {
    const auto layer = built(ActivationLayer(activation), {4});
    expect_gradient([&](const std::vector<Tensor>& in) { return layer->forward(in[0], {}); },
                    {random_tensor({3, 4}, 2)});
  }
  const auto slope = [](Activation activation) {
    const auto layer = built(ActivationLayer(activation), {5});
    return gradient_of([&](const Tensor& x) { return layer->forward(x, {}); },
                       Tensor::from({1, 5}, {-1.0F, 0.0F, 2.0F, 6.0F, 7.0F}));
  };
  expect_tensor(slope(Activation::none), {1, 5}, {1, 1, 1, 1, 1});
  expect_tensor(slope(Activation::relu), {1, 5}, {0, 0, 1, 1, 1});
  expect_tensor(slope(Activation::relu6), {1, 5}, {0, 0, 1, 0, 0});
}

TEST(ActivationLayer, KeepsShapeAndHasNoTensors) {
  const auto layer = built(ReLU(), {2, 3});
  EXPECT_EQ(layer->output_shape(), (Shape{2, 3}));
  EXPECT_TRUE(layer->parameters().empty());
  EXPECT_TRUE(layer->state().empty());
}

TEST(ActivationLayer, TypesShowAsTheyWereMade) {
  EXPECT_EQ(ReLU().type(), "ReLU");
  EXPECT_EQ(ReLU6().type(), "ReLU6");
  EXPECT_EQ(Softmax().type(), "Softmax");
  EXPECT_EQ(ActivationLayer(Activation::relu).type(), "Activation");
  EXPECT_EQ(ReLU6().clone()->type(), "ReLU6");
  EXPECT_EQ(ReLU().activation(), Activation::relu);
  EXPECT_EQ(ReLU6().activation(), Activation::relu6);
  EXPECT_EQ(Softmax().activation(), Activation::softmax);
}

TEST(ActivationLayer, LogitsLackTheSoftmax) {
  const Tensor x = random_tensor({2, 3}, 1);
  expect_tensor(built(Softmax(), {3})->forward_logits(x, {}), {2, 3}, values_of(x));
  expect_tensor(built(ReLU(), {3})->forward_logits(x, {}), {2, 3}, values_of(relu(x)));
  EXPECT_TRUE(Softmax().ends_in_softmax());
  EXPECT_FALSE(ReLU().ends_in_softmax());
}

}  // namespace
}  // namespace octet::test::activation_test
