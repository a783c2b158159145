#include <octet/layers/architecture.h>
#include <octet/layers/quantize/quantize_layer.h>
#include <octet/layers/reshape.h>
#include <octet/tests/layers/quantize/quantize_testing.h>

// quantized(), in_float() and quantize_post_training().

namespace octet::test::per_layer_test {
namespace {

Sequential mixed() {
  return build_model(Input({4}, "in"),
                     quantized(Dense(6, Activation::relu, "four"), {.weight_bits = 4}),
                     quantized(Dense(5, Activation::relu, "channels"), {.per_channel = true}),
                     Dense(3, Activation::none, "plain"), in_float(Softmax("soft")));
}

QuantParams kernel_of(const Sequential& model, std::string_view name) {
  return dense_wrapper(model, name).kernel_quantizer()->params();
}

TEST(PerLayer, BitsChannelsAndFloatsInTheListOfLayers) {
  const Sequential source = mixed();
  const Sequential model = quantize_post_training(source, random_tensor({16, 4}, 1));
  EXPECT_EQ(layer_lines(model),
            (std::vector<std::string>{
                "in InputLayer", "quantize_layer QuantizeLayer", "quant_four QuantizeWrapper",
                "quant_channels QuantizeWrapper", "quant_plain QuantizeWrapper", "soft Softmax"}));
  EXPECT_EQ(kernel_of(model, "quant_four").qmax, 7);
  EXPECT_FALSE(kernel_of(model, "quant_four").per_channel());
  EXPECT_EQ(kernel_of(model, "quant_channels").qmax, 127);
  EXPECT_EQ(kernel_of(model, "quant_channels").scales.size(), 5U);
  EXPECT_EQ(kernel_of(model, "quant_plain").qmax, 127);
  EXPECT_FALSE(kernel_of(model, "quant_plain").per_channel());
  // What one layer asks for wins over what all are given.
  const Sequential others = quantize_post_training(source, random_tensor({16, 4}, 1),
                                                   {.weight_bits = 6, .per_channel = true});
  EXPECT_EQ(kernel_of(others, "quant_four").qmax, 7);
  EXPECT_TRUE(kernel_of(others, "quant_four").per_channel());
  EXPECT_EQ(kernel_of(others, "quant_plain").qmax, 31);
}

TEST(PerLayer, ByTheNameOfALayer) {
  Sequential source =
      build_model(Input({4}), Dense(6, Activation::relu, "a"), Dense(3, Activation::none, "b"));
  source.layer("a").set_quantization({.in_float = true});
  source.layer("b").set_quantization({.weight_bits = 3});
  Sequential model = quantize_model(source);
  // What a quantized layer reads lies on a grid.
  EXPECT_EQ(layer_lines(model), (std::vector<std::string>{
                                    "input_1 InputLayer", "quantize_layer QuantizeLayer", "a Dense",
                                    "quantize_layer_1 QuantizeLayer", "quant_b QuantizeWrapper"}));
  calibrate(model, random_tensor({16, 4}, 1));
  EXPECT_EQ(kernel_of(model, "quant_b").qmax, 3);
}

TEST(PerLayer, AQuantizedLayerIsMarkedForQuantizeApply) {
  const Sequential source =
      build_model(Input({4}), Dense(6, Activation::relu, "far"), Flatten("flat"),
                  quantized(Dense(3, Activation::none, "marked"), {.weight_bits = 4}), Dense(2));
  Sequential model = quantize_apply(source);
  // Flatten has no quantizer, so that the value behind it gets one.
  EXPECT_EQ(layer_lines(model),
            (std::vector<std::string>{"input_1 InputLayer", "quantize_layer QuantizeLayer",
                                      "far Dense", "flat Flatten", "quantize_layer_1 QuantizeLayer",
                                      "quant_marked QuantizeWrapper", "dense Dense"}));
  calibrate(model, random_tensor({16, 4}, 1));
  EXPECT_EQ(kernel_of(model, "quant_marked").qmax, 7);
  expect_close(model.forward(random_tensor({6, 4}, 2)), source.forward(random_tensor({6, 4}, 2)),
               0.5F);
}

TEST(PerLayer, IsSavedWithAFloatModel) {
  const Sequential source = mixed();
  Model loaded = model_from_json(architecture_json(source));
  EXPECT_EQ(loaded.layer("four").quantization(), (LayerQuantization{.weight_bits = 4}));
  EXPECT_EQ(loaded.layer("channels").quantization(), (LayerQuantization{.per_channel = true}));
  EXPECT_EQ(loaded.layer("plain").quantization(), LayerQuantization{});
  EXPECT_EQ(loaded.layer("soft").quantization(), (LayerQuantization{.in_float = true}));
  EXPECT_EQ(architecture_json(loaded), architecture_json(source));
}

TEST(PerLayer, RefusesWhatContradictsItself) {
  expect_error(
      [] {
        quantize_model(build_model(Input({4}),
                                   quantized(Dense(3, Activation::none, "d"), {.weight_bits = 9})));
      },
      "layer \"d\": default_8bit: expected 2 to 8 weight bits, found 9");
  const auto config = std::make_shared<CustomConfig>();
  expect_error(
      [&] {
        quantized(quantize_annotate_layer(Dense(3, Activation::none, "d"), config),
                  {.weight_bits = 4});
      },
      "Dense \"d\": expected a layer without a QuantizeConfig");
  expect_error([] { quantize_annotate_layer(in_float(Dense(3, Activation::none, "d"))); },
               "\"d\" of type Dense, which is left in float");
}

TEST(PerLayer, AFollowsTheAdviceForALayerWithoutAScheme) {
  Sequential source = build_model(Input({4}), Dense(3, Activation::none, "d"), Doubling("mine"),
                                  Dense(2, Activation::none, "e"));
  expect_error([&] { quantize_model(source); },
               "layer \"mine\" of type Doubling has no default scheme; leave it in float with "
               "in_float()");
  source.layer("mine").set_quantization({.in_float = true});
  Sequential model = quantize_model(source);
  calibrate(model, random_tensor({8, 4}, 1));
  expect_close(model.forward(random_tensor({6, 4}, 2)), source.forward(random_tensor({6, 4}, 2)),
               0.2F);
}

TEST(PostTraining, IsQuantizeModelAndCalibrate) {
  const Sequential source = build_model(Input({4}), Dense(6, Activation::relu), Dense(3));
  const Tensor samples = random_tensor({32, 4}, 1);
  const Sequential model = quantize_post_training(source, samples, {.weight_bits = 7});
  Sequential by_hand = quantize_model(source, {.weight_bits = 7});
  calibrate(by_hand, samples);
  ASSERT_TRUE(has_ranges(model));
  EXPECT_EQ(architecture_json(model), architecture_json(by_hand));
  for (std::size_t i = 0; i < model.saved_tensors().size(); ++i) {
    EXPECT_EQ(values_of(model.saved_tensors()[i].tensor),
              values_of(by_hand.saved_tensors()[i].tensor));
  }
  EXPECT_FALSE(is_quantized(source));
  expect_error([&] { quantize_post_training(source, Tensor()); }, "found an undefined tensor");
  expect_error(
      [&] {
        quantize_post_training(source, Tensor::zeros({0, 4}));
      },
      "expected samples [n, ...], found shape [0, 4]");
}

TEST(Calibrate, RefusesAFloatModelAndNoExamples) {
  Sequential source = build_model(Input({4}), Dense(3, Activation::none, "d"));
  expect_error(
      [&] {
        calibrate(source, random_tensor({32, 4}, 1));
      },
      "calibrate: expected a quantized model");
  Sequential model = quantize_model(source);
  expect_error([&] { calibrate(model, Tensor()); }, "found an undefined tensor");
  expect_error([&] { calibrate(model, Tensor::zeros({0, 4})); }, "found shape [0, 4]");
}

}  // namespace
}  // namespace octet::test::per_layer_test
