#include <octet/core/error.h>
#include <octet/core/gradcheck.h>
#include <octet/core/ops/conv2d.h>
#include <octet/core/ops/ops.h>
#include <octet/layers/conv2d.h>
#include <octet/layers/layer_registry.h>
#include <octet/layers/reshape.h>
#include <octet/tests/layers/float_operators.h>

namespace octet::test::conv2d_test {
namespace {

std::unique_ptr<Conv2D> conv_of(Conv2D layer, const Shape& images) {
  auto conv = built(std::move(layer), images);
  for (auto& [name, tensor] : conv->parameters()) {
    Random(3).fill_uniform(tensor.mutable_span(), -1.0F, 1.0F);
  }
  return conv;
}

TEST(Conv2D, IsTheActivationOfTheConvolutionAndTheBias) {
  const auto conv = conv_of(Conv2D(4, {3, 2}, Activation::relu,
                                   {.strides = {2, 1}, .padding = Padding::same, .groups = 2}),
                            {5, 6, 2});
  EXPECT_EQ(conv->output_shape(), (Shape{3, 6, 4}));
  EXPECT_EQ(conv->kernel().shape(), (Shape{3, 2, 1, 4}));
  const Tensor x = random_tensor({3, 5, 6, 2}, 5);
  const Tensor expected =
      relu(conv2d(x, conv->kernel(), {.stride = {2, 1}, .padding = Padding::same, .groups = 2}) +
           conv->bias());
  const Tensor y = conv->forward(x, {});
  ASSERT_EQ(y.shape(), expected.shape());
  EXPECT_TRUE(std::ranges::equal(y.span(), expected.span()));
  const auto result = gradcheck(
      [&](const std::vector<Tensor>& in) { return mean(square(conv->forward(in[0], {}))); },
      {random_tensor({2, 5, 6, 2}, 6)});
  EXPECT_TRUE(result.ok) << result.message;
}

TEST(Conv2D, IsMadeAgainOfItsDescription) {
  const Conv2D conv(6, {3, 5}, Activation::relu6,
                    {.strides = {1, 2},
                     .dilation = {2, 1},
                     .padding = Padding::same,
                     .groups = 3,
                     .use_bias = false,
                     .name = "c"});
  const auto again = make_layer(describe_layer(conv));
  EXPECT_EQ(describe_layer(*again).to_json(), describe_layer(conv).to_json());
  again->build({9, 9, 3}, Random(1));
  EXPECT_EQ(again->parameters().size(), 1U);
  EXPECT_EQ(again->output_shape(), (Shape{9, 5, 6}));
}

TEST(Conv2D, RefusesWhatNoConvolutionHas) {
  EXPECT_THROW(Conv2D(0, 3), InvalidArgument);
  EXPECT_THROW(Conv2D(4, {3, 0}), InvalidArgument);
  EXPECT_THROW(Conv2D(4, 3, Activation::none, {.strides = {0, 1}}), InvalidArgument);
  expect_throws<InvalidArgument>([] { Conv2D(4, 3, Activation::none, {.strides = {2}}); },
                                 {"strides above 0, found 2 x 0", "write {2, 2}"});
  EXPECT_THROW(Conv2D(4, 3, Activation::none, {.dilation = {1, -1}}), InvalidArgument);
  EXPECT_THROW(Conv2D(4, 3, Activation::none, {.groups = 3}), InvalidArgument);
  expect_throws<InvalidArgument>([] { built(Conv2D(4, 3), {27}); },
                                 {"Conv2D", "[height, width, channels]", "Reshape"});
  expect_throws<InvalidArgument>(
      [] {
        built(Conv2D(4, 3, Activation::none, {.groups = 2}), {5, 5, 3});
      },
      {"groups", "3"});
  expect_throws<InvalidArgument>([] { built(Conv2D(4, 5), {4, 9, 1}); }, {"fits"});
}

TEST(Conv2D, InFloatsIsItsOperator) {
  Sequential model("m", Input({7, 6, 2}), Conv2D(5, 3, Activation::relu, {.strides = {2, 1}}),
                   Conv2D(3, 1, Activation::tanh), Flatten(), Dense(4, Activation::none));
  expect_same_in_floats(model, {OpCode::conv_2d, OpCode::conv_2d, OpCode::tanh, OpCode::reshape,
                                OpCode::fully_connected});
}

}  // namespace
}  // namespace octet::test::conv2d_test
