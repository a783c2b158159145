#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/core/gradcheck.h>
#include <octet/core/ops/ops.h>
#include <octet/layers/layer_registry.h>
#include <octet/layers/layers.h>
#include <octet/tests/core/quant/quant_testing.h>
#include <octet/tests/layers/layer_testing.h>

#include <array>
#include <cmath>

// Add and other layers whose two inputs may repeat along axes; HardSwish.

namespace octet::test::merge_test {
namespace {

template <class L>
Tensor merged(L layer, const Tensor& a, const Tensor& b) {
  const std::array shapes = {a.shape().without_batch(), b.shape().without_batch()};
  layer.build_all(shapes, Random(1));
  const std::array inputs = {a, b};
  Tensor y = layer.forward_all(inputs, {});
  EXPECT_EQ(y.shape().without_batch(), layer.output_shape());
  return y;
}

TEST(Multiply, MultipliesAndClamps) {
  const Tensor a = Tensor::from({1, 2, 2}, {1, -2, 3, 4});
  const Tensor b = Tensor::from({1, 2, 2}, {5, 1, -1, 2});
  expect_tensor(merged(Multiply(), a, b), {1, 2, 2}, {5, -2, -3, 8});
  expect_tensor(merged(Multiply(Activation::relu6), a, b), {1, 2, 2}, {5, 0, 0, 6});
}

TEST(Merge, LayersComputeTheirFormula) {
  const Tensor a = Tensor::from({1, 2, 2}, {1, -2, 3, 4});
  const Tensor b = Tensor::from({1, 2, 2}, {5, 1, -1, 4});
  expect_tensor(merged(Subtract(), a, b), {1, 2, 2}, {-4, -3, 4, 0});
  expect_tensor(merged(Subtract(Activation::relu), a, b), {1, 2, 2}, {0, 0, 4, 0});
  expect_tensor(merged(Average(), a, b), {1, 2, 2}, {3, -0.5F, 1, 4});
  expect_tensor(merged(Average(Activation::relu), a, b), {1, 2, 2}, {3, 0, 1, 4});
  expect_tensor(merged(Maximum(), a, b), {1, 2, 2}, {5, 1, 3, 4});
  expect_tensor(merged(Minimum(), a, b), {1, 2, 2}, {1, -2, -1, 4});
}

template <class L>
void expect_merge_gradients(L layer) {
  const std::array<Shape, 2> shapes = {Shape{2, 3}, Shape{1, 3}};
  layer.build_all(shapes, Random(1));
  const auto result = gradcheck([&](const auto& in) { return square(layer.forward_all(in, {})); },
                                {random_tensor({2, 2, 3}, 1), random_tensor({2, 1, 3}, 2)});
  EXPECT_TRUE(result.ok) << layer.type() << result.message;
}

TEST(Merge, LayersHaveTheGradientsOfTheirFormula) {
  expect_merge_gradients(Subtract());
  expect_merge_gradients(Average());
  expect_merge_gradients(Maximum());
  expect_merge_gradients(Minimum());
}

TEST(Merge, RepeatsAlongAxesOfOne) {
  const Tensor image = Tensor::from({1, 2, 1, 2}, {1, 2, 3, 4});
  const Tensor gate = Tensor::from({1, 1, 1, 2}, {10, -1});
  expect_tensor(merged(Multiply(), image, gate), {1, 2, 1, 2}, {10, -2, 30, -4});
  expect_tensor(merged(Add(Activation::relu), gate, image), {1, 2, 1, 2}, {11, 1, 13, 3});
  const Tensor column = Tensor::from({1, 2, 1}, {2, 3});
  const Tensor row = Tensor::from({1, 1, 2}, {5, 7});
  expect_tensor(merged(Multiply(), column, row), {1, 2, 2}, {10, 14, 15, 21});
}

TEST(Multiply, GradientsOfBothInputs) {
  Multiply layer;
  const std::array<Shape, 2> shapes = {Shape{2, 1, 3}, Shape{1, 1, 3}};
  layer.build_all(shapes, Random(1));
  const auto result = gradcheck([&](const auto& in) { return square(layer.forward_all(in, {})); },
                                {random_tensor({2, 2, 1, 3}, 1), random_tensor({2, 1, 1, 3}, 2)});
  EXPECT_TRUE(result.ok) << result.message;
  Tensor a = Tensor::from({1, 2}, {3, -4}).set_requires_grad(true);
  Tensor b = Tensor::from({1, 2}, {0.5F, 2}).set_requires_grad(true);
  merged(Multiply(), a, b).backward(Tensor::from({1, 2}, {1, 10}));
  expect_tensor(a.grad(), {1, 2}, {0.5F, 20});
  expect_tensor(b.grad(), {1, 2}, {3, -40});
}

TEST(Merge, RefusesWhatDoesNotFit) {
  const auto refuse = [](std::vector<Shape> shapes, const std::string& part) {
    expect_error([&] { Multiply(Activation::none, "gate").build_all(shapes, Random(1)); },
                 "Multiply \"gate\": expected two inputs of one shape, or with extents of 1 that "
                 "are repeated, found " +
                     part);
  };
  refuse({{2, 3}, {2, 4}}, "[2, 3] and [2, 4]");
  refuse({{2, 3}, {3}}, "[2, 3] and [3]");
  refuse({{2, 3}}, "[2, 3]");
  refuse({{2}, {2}, {2}}, "[2] and [2] and [2]");
  expect_error([] { static_cast<void>(Multiply(Activation::tanh)); },
               "Multiply: expected activation none, relu or relu6, found tanh");
}

TEST(Merge, LayersAreMadeAgainOfTheirDescription) {
  const auto again = make_layer(describe_layer(Multiply(Activation::relu, "gate")));
  EXPECT_EQ(again->type(), "Multiply");
  EXPECT_EQ(again->name(), "gate");
  EXPECT_EQ(again->activation(), Activation::relu);
  Multiply clamped;
  clamped.end_in(Activation::relu6);
  EXPECT_EQ(make_layer(describe_layer(clamped))->activation(), Activation::relu6);
  EXPECT_FALSE(Multiply(Activation::relu).can_end_in(Activation::relu6));
  EXPECT_EQ(make_layer(describe_layer(Subtract(Activation::relu)))->activation(), Activation::relu);
  EXPECT_EQ(make_layer(describe_layer(Average(Activation::relu)))->activation(), Activation::relu);
  EXPECT_EQ(make_layer(describe_layer(Maximum("m")))->type(), "Maximum");
  EXPECT_EQ(make_layer(describe_layer(Minimum("m")))->type(), "Minimum");
  EXPECT_EQ(make_layer(describe_layer(HardSwish("h")))->type(), "HardSwish");
}

TEST(HardSwish, ValuesAndGradient) {
  HardSwish layer;
  layer.build(Shape{6}, Random(1));
  Tensor x = Tensor::from({1, 6}, {-4, -3, -1.5F, 0, 3, 5}).set_requires_grad(true);
  const Tensor y = layer.forward(x, {});
  expect_tensor(y, {1, 6}, {-0.0F, -0.0F, -0.375F, 0, 3, 5});
  sum(y).backward();
  expect_tensor(x.grad(), {1, 6}, {0, -0.5F, 0, 0.5F, 1.5F, 1});
  const auto result = gradcheck([&](const auto& in) { return square(layer.forward(in[0], {})); },
                                {Tensor::from({1, 6}, {-3.5F, -2, -0.3F, 0.7F, 1.5F, 4})});
  EXPECT_TRUE(result.ok) << result.message;
  const Tensor nan = layer.forward(Tensor::full({1, 6}, std::nanf("")), {});
  EXPECT_TRUE(std::isnan(nan.span()[0]));
}

}  // namespace
}  // namespace octet::test::merge_test
