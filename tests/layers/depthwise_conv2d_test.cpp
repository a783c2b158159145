#include <octet/core/error.h>
#include <octet/core/ops/ops.h>
#include <octet/layers/depthwise_conv2d.h>
#include <octet/layers/reshape.h>
#include <octet/layers/separable_conv2d.h>
#include <octet/tests/layers/float_operators.h>

namespace octet::test::depthwise_conv2d_test {
namespace {

TEST(DepthwiseConv2D, IsTheActivationOfTheConvolutionAndTheBias) {
  const auto conv = with_values(
      DepthwiseConv2D({3, 2}, Activation::relu,
                      {.strides = {2, 1}, .padding = Padding::same, .depth_multiplier = 3}),
      {5, 6, 2});
  EXPECT_EQ(conv->output_shape(), (Shape{3, 6, 6}));
  EXPECT_EQ(conv->kernel().shape(), (Shape{3, 2, 2, 3}));
  const Tensor x = random_tensor({3, 5, 6, 2}, 5);
  const Tensor expected =
      relu(depthwise_conv2d(x, conv->kernel(), {.stride = {2, 1}, .padding = Padding::same}) +
           conv->bias());
  expect_close(conv->forward(x, {}), expected);
}

TEST(DepthwiseConv2D, ShowsItsKernelWithTheUnitsLast) {
  const auto conv = built(DepthwiseConv2D(3, Activation::none, {.depth_multiplier = 2}), {4, 4, 5});
  const LayerWeights weights = conv->weights().value();
  EXPECT_EQ(weights.kernel.shape(), (Shape{3, 3, 1, 10}));
  EXPECT_EQ(weights.kernel.data(), conv->kernel().data());
  EXPECT_EQ(weights.convolution->groups, 5);
  EXPECT_TRUE(weights.depthwise);
}

TEST(DepthwiseConv2D, DrawsFromTheTapsThatAResultIsMadeOf) {
  const auto conv =
      built(DepthwiseConv2D(3, Activation::none, {.depth_multiplier = 2}), {4, 4, 200});
  const float limit = std::sqrt(6.0F / (9.0F + 18.0F));
  const auto [low, high] = std::ranges::minmax(conv->kernel().detach().span());
  EXPECT_GE(low, -limit);
  EXPECT_LE(high, limit);
  EXPECT_GT(high, 0.95F * limit);
}

TEST(DepthwiseConv2D, RefusesWhatNoConvolutionHas) {
  const auto refused = [](std::array<Index, 2> size, const DepthwiseConv2DLayerOptions& options,
                          const char* what) {
    expect_throws<InvalidArgument>([&] { DepthwiseConv2D(size, Activation::none, options); },
                                   {"DepthwiseConv2D", what});
  };
  refused({3, 0}, {}, "kernel size");
  refused({3, 3}, {.strides = {0, 1}}, "strides");
  refused({3, 3}, {.dilation = {1, -1}}, "dilation");
  refused({3, 3}, {.depth_multiplier = 0}, "depth multiplier");
  expect_throws<InvalidArgument>([] { built(DepthwiseConv2D(3), {27}); },
                                 {"DepthwiseConv2D", "[height, width, channels]", "Reshape"});
  expect_throws<InvalidArgument>(
      [] {
        built(DepthwiseConv2D(3), {5, 5, 0});
      },
      {"DepthwiseConv2D", "channel"});
  expect_throws<InvalidArgument>(
      [] {
        built(DepthwiseConv2D(5), {4, 9, 1});
      },
      {"DepthwiseConv2D", "fits"});
}

TEST(DepthwiseConv2D, InFloatsIsItsOperator) {
  Sequential model("m", Input({7, 6, 2}),
                   DepthwiseConv2D(3, Activation::relu, {.strides = {2, 1}, .depth_multiplier = 2}),
                   DepthwiseConv2D(2, Activation::tanh, {.use_bias = false}), Flatten(), Dense(4));
  expect_same_in_floats(model, {OpCode::depthwise_conv_2d, OpCode::depthwise_conv_2d, OpCode::tanh,
                                OpCode::reshape, OpCode::fully_connected});
}

TEST(SeparableConv2D, IsADepthwiseAndAPointwiseConvolution) {
  Sequential model(
      "m", Input({7, 6, 2}),
      SeparableConv2D(
          5, {3, 2}, Activation::relu,
          {.strides = {2, 1}, .padding = Padding::same, .depth_multiplier = 3, .name = "s"}),
      SeparableConv2D(4, 3), Flatten(), Dense(2));
  model.build(1);
  EXPECT_EQ(model.layer("s_depthwise").output_shape(), (Shape{4, 6, 6}));
  EXPECT_EQ(names_of(model.layer("s_depthwise").parameters()),
            (std::vector<std::string>{"kernel"}));
  EXPECT_EQ(model.layer("s_pointwise").output_shape(), (Shape{4, 6, 5}));
  EXPECT_EQ(names_of(model.layer("s_pointwise").parameters()),
            (std::vector<std::string>{"kernel", "bias"}));
  EXPECT_EQ(model.layer("depthwise_conv2d").output_shape(), (Shape{2, 4, 5}));
  EXPECT_EQ(model.layer("conv2d").output_shape(), (Shape{2, 4, 4}));
  expect_same_in_floats(model,
                        {OpCode::depthwise_conv_2d, OpCode::conv_2d, OpCode::depthwise_conv_2d,
                         OpCode::conv_2d, OpCode::reshape, OpCode::fully_connected});
}

TEST(SeparableConv2D, StandsInAGraphToo) {
  Model model("m");
  const Value x = model.input({5, 5, 3}, "in");
  model.output(model.add(SeparableConv2D(4, 3), x));
  model.build(1);
  EXPECT_EQ(model.output_shape(), (Shape{3, 3, 4}));
  EXPECT_THROW(SeparableConv2D(0, 3), InvalidArgument);
  EXPECT_THROW(SeparableConv2D(4, 0), InvalidArgument);
}

}  // namespace
}  // namespace octet::test::depthwise_conv2d_test
