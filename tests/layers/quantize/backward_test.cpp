// Which layers Backward::int8 leaves in floats.

#include <gtest/gtest.h>
#include <octet/layers/layers.h>
#include <octet/layers/quantize/backward.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/tests/layers/quantize/quantize_testing.h>

#include <string>
#include <utility>
#include <vector>

namespace octet::test::backward_test {
namespace {

using Names = std::vector<std::string>;

Names left_in_float(Model model, const QuantizeOptions& options = {}) {
  model.build(1);
  return layers_with_float_gradients(quantize_model(model, options));
}

/// Every kind of layer with a form on int8.
Model convolutions() {
  Sequential model("convolutions", Input({8, 8, 4}));
  model.add(Conv2D(4, 3, Activation::relu, {.name = "conv"}));
  model.add(BatchNorm());
  model.add(DepthwiseConv2D(3, Activation::relu, {.name = "depthwise"}));
  model.add(TransposedConv2D(3, 3, Activation::relu, {.name = "transposed"}));
  model.add(Flatten());
  model.add(Dense(3, Activation::softmax, "dense"));
  return model;
}

TEST(LayersWithFloatGradients, AreNoneWhereAllHaveAForm) {
  EXPECT_EQ(left_in_float(convolutions()), Names{});
  Sequential sequences("sequences", Input({5, 3}));
  sequences.add(Conv1D(4, 3, Activation::relu));
  sequences.add(GRU(4));
  EXPECT_EQ(left_in_float(std::move(sequences)), Names{});
}

TEST(LayersWithFloatGradients, AreAllThatDoNotTrainOnInt8) {
  EXPECT_EQ(left_in_float(convolutions(), {.simulation = Simulation::fake_quant}),
            (Names{"quant_conv", "quant_batch_norm", "quant_depthwise", "quant_transposed",
                   "quant_dense"}));
  const Sequential dense("dense", Input({5}), Dense(4, Activation::relu, "a"),
                         Dense(3, Activation::none, "b"));
  EXPECT_EQ(left_in_float(dense, {.rounding = Rounding::q15, .activation_bits = 16}),
            (Names{"quant_a", "quant_b"}));
}

TEST(LayersWithFloatGradients, AreThoseWithoutAForm) {
  Sequential model("some", Input({6, 8}));
  model.add(in_float(Dense(8, Activation::relu, "first")));
  model.add(MultiHeadAttention(2, 4, {.name = "attention"}));
  model.add(Reshape({6, 1, 8}));
  model.add(Conv2D(8, 1, Activation::relu, {.groups = 2, .name = "grouped"}));
  model.add(Flatten());
  model.add(Dense(3, Activation::none, "last"));
  EXPECT_EQ(left_in_float(std::move(model)), (Names{"first", "quant_attention", "quant_grouped"}));
}

}  // namespace
}  // namespace octet::test::backward_test
