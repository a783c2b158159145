#include <octet/core/ops/fake_quant.h>
#include <octet/core/tensor_internal.h>
#include <octet/layers/dropout.h>
#include <octet/layers/quantize/quantize_layer.h>
#include <octet/layers/quantize/quantize_wrapper.h>
#include <octet/layers/reshape.h>
#include <octet/tests/layers/quantize/quantize_testing.h>

namespace octet::test::annotate_test {
namespace {

using detail::TensorAccess;

/// Input({4}) and these layers, built.
template <class... Layers>
Sequential marked_model(Layers... layers) {
  Sequential model("m", Input({4}), std::move(layers)...);
  model.build(5);
  return model;
}

template <class L>
L plain(L layer) {
  return layer;
}

TEST(AnnotateLayer, ComputesWhatTheLayerDoes) {
  Sequential model = marked_model(quantize_annotate_layer(Dense(3, Activation::softmax, "head")));
  EXPECT_EQ(model.layers()[1]->name(), "head");
  EXPECT_EQ(model.layers()[1]->type(), "Dense");
  EXPECT_FALSE(is_quantized(model));
  EXPECT_TRUE(model.ends_in_softmax());
  EXPECT_EQ(names_of(model.parameters()), (std::vector<std::string>{"head/kernel", "head/bias"}));
  const Sequential same = build_model(Input({4}), Dense(3, Activation::softmax, "head"));
  const Tensor x = random_tensor({2, 4}, 1);
  expect_tensor(model.forward(x), {2, 3}, values_of(same.forward(x)));
  expect_tensor(model.forward_logits(x), {2, 3}, values_of(same.forward_logits(x)));
}

TEST(AnnotateLayer, TakesItsAutomaticNameFromTheLayer) {
  const Sequential model = marked_model(quantize_annotate_layer(Dense(3)));
  EXPECT_TRUE(model.layer("dense").is_annotated());
}

TEST(AnnotateLayer, RefusesNullTwiceInputsAndQuantizedLayers) {
  expect_error([] { quantize_annotate_layer(std::unique_ptr<Layer>()); }, "found null");
  expect_error(
      [] { quantize_annotate_layer(quantize_annotate_layer(Dense(3, Activation::none, "d"))); },
      "found \"d\" of type Dense, which is marked already");
  expect_error([] { quantize_annotate_layer(quantize_annotate_layer(Dense(3))); },
               "found one of type Dense, which is marked already");
  expect_error([] { quantize_annotate_layer(Input({3}, "in")); },
               "\"in\" of type InputLayer, which is an input");
  expect_error([] { quantize_annotate_layer(QuantizeLayer()); }, "QuantizeLayer");
}

TEST(QuantizeApply, QuantizesAllWhereAllAreMarked) {
  Sequential model =
      marked_model(quantize_annotate_layer(Dense(3)), quantize_annotate_layer(ReLU()),
                   quantize_annotate_layer(Dense(2, Activation::softmax)));
  Sequential quantized = quantize_apply(model);
  EXPECT_EQ(
      layer_lines(quantized),
      (std::vector<std::string>{"input_1 InputLayer", "quantize_layer QuantizeLayer",
                                "quant_dense QuantizeWrapper", "quant_dense_1 QuantizeWrapper"}));
  EXPECT_EQ(dense_wrapper(quantized, "quant_dense").wrapped().activation(), Activation::relu);
  // quantize_model() takes a marked model as well.
  EXPECT_EQ(layer_lines(quantize_model(model)), layer_lines(quantized));
}

TEST(QuantizeApply, TheLayerInFrontOfAMarkedOneGetsItsResultQuantizedOnly) {
  const Sequential model = marked_model(
      plain(Dense(5, Activation::tanh, "far")), plain(Dense(4, Activation::relu, "near")),
      quantize_annotate_layer(Dense(3, Activation::none, "marked")),
      plain(Dense(2, Activation::none, "behind")));
  Sequential quantized = quantize_apply(model);
  EXPECT_EQ(layer_lines(quantized),
            (std::vector<std::string>{"input_1 InputLayer", "quantize_layer QuantizeLayer",
                                      "far Dense", "quant_near QuantizeWrapper",
                                      "quant_marked QuantizeWrapper", "behind Dense"}));
  EXPECT_EQ(names_of(quantized.layer("quant_near").state()),
            (std::vector<std::string>{"post_activation_min", "post_activation_max",
                                      "post_activation_zero_point"}));
  EXPECT_EQ(quantized.layer("quant_marked").state().size(), 5U);
  // The marked layer runs on integers, on what the one in front of it left on a grid.
  const Tensor x = random_tensor({6, 4}, 2);
  calibrate(quantized, x);
  expect_close(quantized.forward(x), model.forward(x), 0.05F);
}

TEST(QuantizeApply, KeepsTheWeightsOfEveryLayer) {
  Sequential model =
      marked_model(plain(Dense(5, Activation::tanh)), plain(Dense(5, Activation::tanh)),
                   quantize_annotate_layer(Dense(3)), plain(Dense(2)));
  Sequential quantized = quantize_apply(model);
  const auto originals = model.parameters();
  const auto copies = quantized.parameters();
  ASSERT_EQ(copies.size(), originals.size());
  for (std::size_t i = 0; i < copies.size(); ++i) {
    EXPECT_EQ(values_of(copies[i].tensor), values_of(originals[i].tensor)) << copies[i].name;
    EXPECT_NE(copies[i].tensor.data(), originals[i].tensor.data());
  }
}

TEST(QuantizeApply, DoesNotFuseAClampThatIsNotMarked) {
  Sequential quantized =
      quantize_apply(marked_model(quantize_annotate_layer(Dense(3)), plain(ReLU())));
  EXPECT_EQ(dense_wrapper(quantized, "quant_dense").wrapped().activation(), Activation::none);
  EXPECT_EQ(quantized.layers().back()->type(), "ReLU");
}

TEST(QuantizeApply, LeavesAClampWithAConfigOfItsOwnToIt) {
  const auto six = std::make_shared<CustomConfig>();
  six->output = fixed(0.0F, 6.0F);
  Sequential apart = quantize_apply(
      marked_model(quantize_annotate_layer(Dense(3)), quantize_annotate_layer(ReLU(), six)));
  EXPECT_EQ(layer_lines(apart), (std::vector<std::string>{
                                    "input_1 InputLayer", "quantize_layer QuantizeLayer",
                                    "quant_dense QuantizeWrapper", "quant_re_lu QuantizeWrapper"}));
  EXPECT_EQ(tensor_named(apart.state(), "quant_re_lu/output_max").item(), 6.0F);
  // A config that both share is no reason to keep them apart.
  Sequential together = quantize_apply(
      marked_model(quantize_annotate_layer(Dense(3), six), quantize_annotate_layer(ReLU(), six)));
  EXPECT_EQ(together.layers().size(), 3U);
}

TEST(QuantizeApply, TakesAUsersConfig) {
  const auto config =
      std::make_shared<CustomConfig>(QuantizeOptions{.simulation = Simulation::fake_quant});
  config->kernel = [] {
    return std::make_unique<LastValueQuantizer>(
        QuantSpec{.num_bits = 4, .narrow_range = true, .symmetric = true});
  };
  config->activation = fixed(-2.0F, 2.0F);
  Sequential quantized = quantize_apply(marked_model(quantize_annotate_layer(Dense(3), config)),
                                        {.simulation = Simulation::fake_quant});
  const Tensor x = random_tensor({2, 4}, 1);
  const Tensor y = quantized.forward(x, training());
  const QuantizeWrapper& wrapper = dense_wrapper(quantized, "quant_dense");
  EXPECT_EQ(wrapper.kernel_quantizer()->params().qmax, 7);
  EXPECT_EQ(tensor_named(quantized.state(), "quant_dense/post_activation_max").item(), 2.0F);
  // By hand: x on its grid, a kernel of 15 codes, the result on [-2, 2].
  const Layer& dense = wrapper.wrapped();
  const Tensor limit = wrapper.kernel_quantizer()->max();
  const Tensor kernel =
      fake_quant_with_min_max_vars(dense.weights()->kernel, -limit, limit, 4, true);
  const Tensor input = quantized.layer("quantize_layer").forward(x, {});
  const Tensor linear = dense.linear(input, kernel, dense.weights()->bias);
  expect_tensor(y, {2, 3}, values_of(fake_quant_with_min_max_args(linear, -2.0F, 2.0F)));
}

TEST(QuantizeApply, TakesALayerOfAnyKindWithAConfig) {
  const auto config = std::make_shared<CustomConfig>();
  config->output = fixed(-4.0F, 4.0F);
  Sequential quantized =
      quantize_apply(marked_model(quantize_annotate_layer(Doubling("mine"), config)));
  // The layer's own state stays beside that of its output.
  EXPECT_EQ(names_of(quantized.layer("quant_mine").state()),
            (std::vector<std::string>{"seen", "output_min", "output_max", "output_zero_point"}));
  EXPECT_EQ(names_of(quantized.layer("quant_mine").counters()),
            (std::vector<std::string>{"steps", "output_updates", "output_frozen"}));
  const Tensor y = quantized.forward(Tensor::ones({1, 4}), training());
  ASSERT_NE(y.quantization(), nullptr);
  EXPECT_EQ(y.quantization()->scale(), 8.0F / 255.0F);
  EXPECT_NEAR(y.data()[0], 2.0F, 0.02F);
}

TEST(QuantizeApply, RefusesWhatItCannotQuantize) {
  const Sequential unbuilt("bare", Input({4}), Dense(3));
  expect_error([&] { quantize_apply(unbuilt); }, "quantize_apply: model");
  const Sequential unmarked = build_model(Input({4}), Dense(3));
  expect_error([&] { quantize_apply(unmarked); }, "found none in \"m\"; use quantize_model()");
  expect_error([&] { quantize_apply(quantize_model(unmarked)); }, "quantized already");
  const Sequential own = marked_model(quantize_annotate_layer(Doubling("mine")));
  expect_error([&] { quantize_apply(own); }, "\"mine\" of type Doubling");
}

TEST(QuantizeApply, RefusesAQuantizerForProbabilities) {
  const auto config = std::make_shared<CustomConfig>();
  config->output = fixed(0.0F, 1.0F);
  const Sequential model = marked_model(quantize_annotate_layer(Softmax("p"), config));
  expect_error([&] { quantize_apply(model); }, "\"p\"");
}

}  // namespace
}  // namespace octet::test::annotate_test
