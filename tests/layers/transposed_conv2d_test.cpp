#include <octet/core/error.h>
#include <octet/core/ops/ops.h>
#include <octet/layers/reshape.h>
#include <octet/layers/transposed_conv2d.h>
#include <octet/tests/layers/float_operators.h>

namespace octet::test::transposed_conv2d_test {
namespace {

TEST(TransposedConv2DLayer, IsTheActivationOfTheConvolutionAndTheBias) {
  const auto conv = with_values(
      TransposedConv2D(5, {3, 2}, Activation::relu, {.strides = {2, 1}, .padding = Padding::same}),
      {4, 6, 2});
  EXPECT_EQ(conv->output_shape(), (Shape{8, 6, 5}));
  EXPECT_EQ(conv->kernel().shape(), (Shape{3, 2, 5, 2}));
  const Tensor x = random_tensor({3, 4, 6, 2}, 5);
  const Tensor expected =
      relu(transposed_conv2d(x, conv->kernel(), {.stride = {2, 1}, .padding = Padding::same}) +
           conv->bias());
  expect_tensor(conv->forward(x, {}), expected.shape(), values_of(expected));
}

TEST(TransposedConv2DLayer, HasTheExtentsOfKeras) {
  const auto shape_of = [](Index kernel, Index stride, Padding padding) {
    return built(TransposedConv2D(1, kernel, Activation::none,
                                  {.strides = {stride, stride}, .padding = padding}),
                 {5, 7, 2})
        ->output_shape();
  };
  EXPECT_EQ(shape_of(3, 2, Padding::same), (Shape{10, 14, 1}));
  EXPECT_EQ(shape_of(3, 2, Padding::valid), (Shape{11, 15, 1}));
  EXPECT_EQ(shape_of(2, 3, Padding::valid), (Shape{15, 21, 1}));
  EXPECT_EQ(shape_of(4, 1, Padding::valid), (Shape{8, 10, 1}));
}

TEST(TransposedConv2DLayer, ShowsItsKernelWithTheUnitsLast) {
  const auto conv = with_values(TransposedConv2D(4, {3, 2}), {4, 4, 5});
  const LayerWeights weights = conv->weights().value();
  EXPECT_EQ(weights.kernel.shape(), (Shape{3, 2, 5, 4}));
  EXPECT_TRUE(weights.transposed);
  EXPECT_EQ(values_of(weights.kernel), values_of(permute(conv->kernel(), {0, 1, 3, 2})));
  // The gradient of what it shows reaches the kernel itself.
  Tensor total = sum(weights.kernel * weights.kernel);
  total.backward();
  const Tensor twice = conv->kernel().detach() * 2.0F;
  EXPECT_EQ(values_of(conv->kernel().grad()), values_of(twice));
}

TEST(TransposedConv2DLayer, RefusesWhatNoConvolutionHas) {
  const auto refused = [](Index filters, std::array<Index, 2> size,
                          const TransposedConv2DLayerOptions& options, const char* what) {
    expect_throws<InvalidArgument>(
        [&] { TransposedConv2D(filters, size, Activation::none, options); },
        {"TransposedConv2D", what});
  };
  refused(0, {3, 3}, {}, "filter");
  refused(1, {3, 0}, {}, "kernel size");
  refused(1, {3, 3}, {.strides = {0, 1}}, "strides");
  expect_throws<InvalidArgument>([] { built(TransposedConv2D(2, 3), {27}); },
                                 {"TransposedConv2D", "[height, width, channels]", "Reshape"});
  expect_throws<InvalidArgument>(
      [] {
        built(TransposedConv2D(2, 3), {5, 5, 0});
      },
      {"TransposedConv2D", "channel"});
  expect_throws<InvalidArgument>(
      [] {
        built(TransposedConv2D(2, 3, Activation::none, {.strides = {Index{1} << 40, 1}}),
              {5, 5, 1});
      },
      {"TransposedConv2D", "stride"});
}

TEST(TransposedConv2DLayer, InFloatsIsItsOperator) {
  Sequential model(
      "m", Input({4, 3, 2}), TransposedConv2D(5, 3, Activation::relu, {.strides = {2, 1}}),
      TransposedConv2D(3, 2, Activation::tanh, {.padding = Padding::same, .use_bias = false}),
      Flatten(), Dense(4));
  expect_same_in_floats(model, {OpCode::transpose_conv, OpCode::transpose_conv, OpCode::tanh,
                                OpCode::reshape, OpCode::fully_connected});
}

}  // namespace
}  // namespace octet::test::transposed_conv2d_test
