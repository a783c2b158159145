#include <octet/core/error.h>
#include <octet/core/ops/ops.h>
#include <octet/layers/conv1d.h>
#include <octet/layers/conv2d.h>
#include <octet/layers/depthwise_conv2d.h>
#include <octet/layers/layer_registry.h>
#include <octet/layers/transposed_conv2d.h>
#include <octet/tests/layers/layer_testing.h>

#include <memory>
#include <string>

// What holds for every layer that is a convolution: each is a row of rows().

namespace octet::test::conv_layers_test {
namespace {

struct Row {
  std::string name;
  std::shared_ptr<const KernelLayer> layer;
  Shape examples;
  Shape result;
  /// The parameter, and what weights() shows of it: with the units last.
  Shape kernel;
  Shape shown;
};

// NOLINTNEXTLINE(readability-identifier-naming): the name that GoogleTest looks for
void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

template <class L>
Row row(const char* name, L layer, const Shape& examples, const Shape& result, const Shape& kernel,
        const Shape& shown) {
  return {name, std::make_shared<const L>(std::move(layer)), examples, result, kernel, shown};
}

std::vector<Row> rows() {
  constexpr Padding kSame = Padding::same;
  constexpr Activation kTanh = Activation::tanh;
  constexpr Activation kRelu6 = Activation::relu6;
  return {
      row("Conv1D", Conv1D(3, 3, kTanh, {.stride = 2}), {7, 2}, {3, 3}, {3, 2, 3}, {1, 3, 2, 3}),
      row("Conv1DOfGroups",
          Conv1D(6, 5, kRelu6,
                 {.stride = 2, .padding = kSame, .groups = 3, .use_bias = false, .name = "c"}),
          {9, 3}, {5, 6}, {5, 1, 6}, {1, 5, 1, 6}),
      row("Conv1DCausal",
          Conv1D(3, 3, kTanh, {.stride = 2, .dilation = 2, .padding = Padding::causal}), {6, 2},
          {3, 3}, {3, 2, 3}, {1, 3, 2, 3}),
      row("DepthwiseConv1D",
          DepthwiseConv1D(3, kRelu6,
                          {.stride = 2,
                           .padding = Padding::causal,
                           .depth_multiplier = 2,
                           .use_bias = false,
                           .name = "c"}),
          {9, 3}, {5, 6}, {3, 3, 2}, {1, 3, 1, 6}),
      row("Conv2D", Conv2D(4, {3, 2}, kTanh, {.strides = {2, 1}, .padding = kSame, .groups = 2}),
          {5, 6, 2}, {3, 6, 4}, {3, 2, 1, 4}, {3, 2, 1, 4}),
      row("Conv2DWithDilation",
          Conv2D(6, {3, 5}, kRelu6,
                 {.strides = {1, 2},
                  .dilation = {2, 1},
                  .padding = kSame,
                  .groups = 3,
                  .use_bias = false,
                  .name = "c"}),
          {9, 9, 3}, {9, 5, 6}, {3, 5, 1, 6}, {3, 5, 1, 6}),
      row("DepthwiseConv2D",
          DepthwiseConv2D({2, 3}, kTanh, {.dilation = {1, 2}, .depth_multiplier = 2}), {4, 6, 3},
          {3, 2, 6}, {2, 3, 3, 2}, {2, 3, 1, 6}),
      row("DepthwiseConv2DWithStrides",
          DepthwiseConv2D({3, 5}, kRelu6,
                          {.strides = {1, 2},
                           .dilation = {2, 1},
                           .padding = kSame,
                           .depth_multiplier = 4,
                           .use_bias = false,
                           .name = "c"}),
          {9, 9, 3}, {9, 5, 12}, {3, 5, 3, 4}, {3, 5, 1, 12}),
      row("TransposedConv2D", TransposedConv2D(3, {2, 3}, kTanh, {.strides = {2, 2}}), {3, 4, 2},
          {6, 9, 3}, {2, 3, 3, 2}, {2, 3, 2, 3}),
      row("TransposedConv2DOfPaddingSame",
          TransposedConv2D(6, {3, 5}, kRelu6,
                           {.strides = {1, 2}, .padding = kSame, .use_bias = false, .name = "c"}),
          {9, 9, 3}, {9, 18, 6}, {3, 5, 6, 3}, {3, 5, 3, 6})};
}

class ConvLayers : public ::testing::TestWithParam<Row> {
 protected:
  /// The layer, built, with parameters that are not zero, as the bias begins.
  static std::unique_ptr<Layer> with_values() {
    std::unique_ptr<Layer> layer = GetParam().layer->clone();
    layer->build(GetParam().examples, Random(1));
    for (auto& [name, tensor] : layer->parameters()) {
      Random(3).fill_uniform(tensor.mutable_span(), -1.0F, 1.0F);
    }
    return layer;
  }
};

TEST_P(ConvLayers, AreTheActivationOfTheirLinearPart) {
  const auto layer = with_values();
  const Row& expected = GetParam();
  EXPECT_EQ(layer->output_shape(), expected.result);
  EXPECT_EQ(layer->parameters()[0].tensor.shape(), expected.kernel);
  const LayerWeights weights = layer->weights().value();
  EXPECT_EQ(weights.kernel.shape(), expected.shown);
  const Tensor x = random_tensor(expected.examples.with_batch(3), 5);
  const Tensor y =
      apply_activation(layer->activation(), layer->linear(x, weights.kernel, weights.bias));
  expect_tensor(layer->forward(x, {}), expected.result.with_batch(3), values_of(y));
}

TEST_P(ConvLayers, HaveTheGradientsOfFiniteDifferences) {
  const auto layer = with_values();
  const LayerWeights weights = layer->weights().value();
  expect_gradient(
      [&](const auto& in) { return mean(square(tanh(layer->linear(in[0], in[1], weights.bias)))); },
      {random_tensor(GetParam().examples.with_batch(2), 6), weights.kernel.detach().clone()});
}

TEST_P(ConvLayers, AreMadeAgainOfTheirDescription) {
  const auto again = make_layer(describe_layer(*GetParam().layer));
  EXPECT_EQ(again->type(), GetParam().layer->type());
  EXPECT_EQ(describe_layer(*again).to_json(), describe_layer(*GetParam().layer).to_json());
  again->build(GetParam().examples, Random(1));
  EXPECT_EQ(again->parameters().size(), GetParam().layer->name() == "c" ? 1U : 2U);
  EXPECT_EQ(again->output_shape(), GetParam().result);
}

INSTANTIATE_TEST_SUITE_P(, ConvLayers, ::testing::ValuesIn(rows()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace octet::test::conv_layers_test
