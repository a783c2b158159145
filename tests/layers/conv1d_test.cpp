#include <octet/core/error.h>
#include <octet/core/ops/ops.h>
#include <octet/layers/conv1d.h>
#include <octet/layers/reshape.h>
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
