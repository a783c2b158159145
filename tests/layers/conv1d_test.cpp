#include <octet/core/error.h>
#include <octet/core/ops/ops.h>
#include <octet/layers/conv1d.h>
#include <octet/layers/reshape.h>
#include <octet/layers/separable_conv2d.h>
#include <octet/tests/layers/float_operators.h>

#include <algorithm>
#include <cmath>

namespace octet::test::conv1d_test {
namespace {

TEST(Conv1D, HandComputedValues) {
  const auto conv = built(Conv1D(2, 2, Activation::relu), {3, 1});
  EXPECT_EQ(conv->output_shape(), (Shape{2, 2}));
  EXPECT_EQ(conv->kernel().shape(), (Shape{2, 1, 2}));
  // y[t, f] = relu(x[t] k[0, f] + x[t + 1] k[1, f] + b[f])
  fill(conv->kernel(), {1, -1, 10, -10});
  fill(conv->bias(), {0.5F, 30});
  expect_tensor(conv->forward(Tensor::from({1, 3, 1}, {1, 2, 4}), {}), {1, 2, 2},
                {21.5F, 9, 42.5F, 0});
}

TEST(Conv1D, IsConv2DOfImagesOfHeight1) {
  const auto conv =
      built(Conv1D(4, 3, Activation::none,
                   {.stride = 2, .dilation = 2, .padding = Padding::same, .groups = 2}),
            {9, 6});
  EXPECT_EQ(conv->output_shape(), (Shape{5, 4}));
  EXPECT_EQ(conv->kernel().shape(), (Shape{3, 3, 4}));
  const Tensor x = random_tensor({2, 9, 6}, 1);
  const Tensor expected =
      conv2d(x.reshape({2, 1, 9, 6}), conv->kernel().reshape({1, 3, 3, 4}),
             {.stride = {1, 2}, .dilation = {1, 2}, .padding = Padding::same, .groups = 2});
  expect_tensor(conv->forward(x, {}), {2, 5, 4}, values_of(expected));
}

TEST(Conv1D, CausalHasItsZerosInFront) {
  const auto conv = built(
      Conv1D(4, 3, Activation::none, {.stride = 2, .dilation = 2, .padding = Padding::causal}),
      {9, 6});
  const Tensor x = random_tensor({2, 9, 6}, 1);
  const Tensor padded = pad2d(x.reshape({2, 1, 9, 6}), {.left = 4});
  const Tensor expected =
      conv2d(padded, conv->kernel().reshape({1, 3, 6, 4}), {.stride = {1, 2}, .dilation = {1, 2}});
  expect_tensor(conv->forward(x, {}), {2, 5, 4}, values_of(expected));
}

TEST(DepthwiseConv1D, IsDepthwiseConv2DOfImagesOfHeight1) {
  const auto conv =
      built(DepthwiseConv1D(3, Activation::none,
                            {.dilation = 2, .padding = Padding::same, .depth_multiplier = 2}),
            {9, 3});
  EXPECT_EQ(conv->kernel().shape(), (Shape{3, 3, 2}));
  const Tensor x = random_tensor({2, 9, 3}, 1);
  const Tensor expected =
      depthwise_conv2d(x.reshape({2, 1, 9, 3}), conv->kernel().reshape({1, 3, 3, 2}),
                       {.dilation = {1, 2}, .padding = Padding::same});
  expect_tensor(conv->forward(x, {}), {2, 9, 6}, values_of(expected));
  // Glorot, of the taps that a result is made of: 3 inputs, 6 outputs.
  const auto wide = built(DepthwiseConv1D(3, Activation::none, {.depth_multiplier = 2}), {4, 200});
  const float limit = std::sqrt(6.0F / 9.0F);
  const auto [low, high] = std::ranges::minmax(wide->kernel().span());
  EXPECT_NEAR(low, -limit, 0.02F * limit);
  EXPECT_NEAR(high, limit, 0.02F * limit);
  expect_throws<InvalidArgument>([] { DepthwiseConv1D(0); }, {"DepthwiseConv1D", "kernel size"});
  expect_throws<InvalidArgument>(
      [] { DepthwiseConv1D(3, Activation::none, {.depth_multiplier = 0}); },
      {"DepthwiseConv1D", "depth multiplier"});
  expect_throws<InvalidArgument>(
      [] {
        built(DepthwiseConv1D(3), {5, 0});
      },
      {"DepthwiseConv1D", "channel"});
}

TEST(SeparableConv1D, IsADepthwiseAndAPointwiseConvolution) {
  Sequential model(
      "m", Input({9, 2}),
      SeparableConv1D(
          5, 3, Activation::relu,
          {.stride = 2, .padding = Padding::causal, .depth_multiplier = 3, .name = "s"}),
      Flatten(), Dense(2));
  model.build(1);
  EXPECT_EQ(model.layer("s_depthwise").output_shape(), (Shape{5, 6}));
  EXPECT_EQ(model.layer("s_depthwise").parameters().size(), 1U);
  EXPECT_EQ(model.layer("s_pointwise").output_shape(), (Shape{5, 5}));
  expect_same_in_floats(model, {OpCode::reshape, OpCode::pad, OpCode::depthwise_conv_2d,
                                OpCode::conv_2d, OpCode::reshape, OpCode::fully_connected});
}

TEST(Conv1D, StartsAsItsGroupsAskFor) {
  const auto conv = built(Conv1D(64, 3, Activation::none, {.groups = 4}), {5, 64});
  // Glorot: 16 channels and 16 filters of each group meet in a kernel of 3.
  const float limit = std::sqrt(6.0F / (3.0F * 16.0F + 3.0F * 16.0F));
  const auto [low, high] = std::ranges::minmax(conv->kernel().span());
  EXPECT_LT(low, -0.98F * limit);
  EXPECT_GT(high, 0.98F * limit);
  EXPECT_LE(std::max(-low, high), limit * 1.000001F);
}

TEST(Conv1D, RefusesWhatNoConvolutionHas) {
  const auto refused = [](Index filters, Index size, const Conv1DLayerOptions& options,
                          const char* what) {
    expect_throws<InvalidArgument>([&] { Conv1D(filters, size, Activation::none, options); },
                                   {"Conv1D", what});
  };
  refused(0, 3, {}, "filters");
  refused(4, 0, {}, "kernel size");
  refused(4, 3, {.stride = 0}, "stride");
  refused(4, 3, {.dilation = -1}, "dilation");
  refused(4, 3, {.groups = 3}, "groups");
  expect_throws<InvalidArgument>([] { built(Conv1D(4, 3), {27}); },
                                 {"Conv1D", "[steps, channels]", "Reshape"});
  expect_throws<InvalidArgument>(
      [] {
        built(Conv1D(4, 3, Activation::none, {.groups = 2}), {5, 3});
      },
      {"groups", "3"});
  expect_throws<InvalidArgument>([] { built(Conv1D(4, 5), {4, 1}); }, {"Conv1D", "fits"});
}

TEST(Conv1D, InFloatsIsAConvolutionOfImages) {
  Sequential model("m", Input({9, 2}), Conv1D(5, 3, Activation::relu, {.stride = 2}),
                   Conv1D(3, 1, Activation::tanh, {.use_bias = false}), Flatten(), Dense(4));
  expect_same_in_floats(model, {OpCode::reshape, OpCode::conv_2d, OpCode::conv_2d, OpCode::reshape,
                                OpCode::tanh, OpCode::reshape, OpCode::fully_connected});
}

}  // namespace
}  // namespace octet::test::conv1d_test
