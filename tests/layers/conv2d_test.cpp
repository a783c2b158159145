#include <octet/core/error.h>
#include <octet/core/ops/conv2d.h>
#include <octet/core/ops/ops.h>
#include <octet/layers/conv2d.h>
#include <octet/layers/reshape.h>
#include <octet/tests/layers/float_operators.h>

namespace octet::test::conv2d_test {
namespace {

TEST(Conv2D, IsTheActivationOfTheConvolutionAndTheBias) {
  const auto conv = with_values(Conv2D(4, {3, 2}, Activation::relu,
                                       {.strides = {2, 1}, .padding = Padding::same, .groups = 2}),
                                {5, 6, 2});
  EXPECT_EQ(conv->output_shape(), (Shape{3, 6, 4}));
  EXPECT_EQ(conv->kernel().shape(), (Shape{3, 2, 1, 4}));
  const Tensor x = random_tensor({3, 5, 6, 2}, 5);
  const Tensor expected =
      relu(conv2d(x, conv->kernel(), {.stride = {2, 1}, .padding = Padding::same, .groups = 2}) +
           conv->bias());
  expect_tensor(conv->forward(x, {}), expected.shape(), values_of(expected));
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
