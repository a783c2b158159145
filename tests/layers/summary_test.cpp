#include <octet/layers/batch_norm.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/layers/reshape.h>
#include <octet/tests/layers/layer_testing.h>

namespace octet::test::summary_test {
namespace {

Sequential mnist_model() {
  Sequential model("model", Input({784}, "input_2"), Dense(256, Activation::relu, "dense_3"),
                   Dense(128, Activation::relu, "dense_4"),
                   Dense(10, Activation::softmax, "dense_5"));
  model.build();
  return model;
}

TEST(Summary, OfAFloatModelIsKerasTableToTheLetter) {
  EXPECT_EQ(mnist_model().summary(),
            "Model: \"model\"\n"
            "_________________________________________________________________\n"
            "Layer (type)                 Output Shape              Param #   \n"
            "=================================================================\n"
            "input_2 (InputLayer)         [(None, 784)]             0         \n"
            "_________________________________________________________________\n"
            "dense_3 (Dense)              (None, 256)               200960    \n"
            "_________________________________________________________________\n"
            "dense_4 (Dense)              (None, 128)               32896     \n"
            "_________________________________________________________________\n"
            "dense_5 (Dense)              (None, 10)                1290      \n"
            "=================================================================\n"
            "Total params: 235,146\n"
            "Trainable params: 235,146\n"
            "Non-trainable params: 0\n"
            "_________________________________________________________________\n");
}

TEST(Summary, OfAQuantizedModelIsKerasTableToTheLetter) {
  EXPECT_EQ(quantize_model(mnist_model()).summary(),
            "Model: \"model\"\n"
            "_________________________________________________________________\n"
            "Layer (type)                 Output Shape              Param #   \n"
            "=================================================================\n"
            "input_2 (InputLayer)         [(None, 784)]             0         \n"
            "_________________________________________________________________\n"
            "quantize_layer (QuantizeLaye (None, 784)               3         \n"
            "_________________________________________________________________\n"
            "quant_dense_3 (QuantizeWrapp (None, 256)               200965    \n"
            "_________________________________________________________________\n"
            "quant_dense_4 (QuantizeWrapp (None, 128)               32901     \n"
            "_________________________________________________________________\n"
            "quant_dense_5 (QuantizeWrapp (None, 10)                1295      \n"
            "=================================================================\n"
            "Total params: 235,164\n"
            "Trainable params: 235,146\n"
            "Non-trainable params: 18\n"
            "_________________________________________________________________\n");
}

TEST(Summary, CountsWhatIsFrozenAsKerasDoes) {
  Sequential model("m", Input({4}), Dense(8, Activation::none, "base"), BatchNorm({.name = "bn"}),
                   Dense(2, Activation::softmax, "head"));
  model.build();
  const auto expect_counts = [](const Model& of, const std::string& trained,
                                const std::string& fixed) {
    const std::string text = of.summary();
    EXPECT_NE(
        text.find("\nTrainable params: " + trained + "\nNon-trainable params: " + fixed + "\n"),
        std::string::npos)
        << text;
  };
  expect_counts(model, "74", "16");
  model.part("base").set_trainable(false);
  expect_counts(model, "34", "56");
  // The BatchNorm of the fused layer is trained; 13 numbers are ranges.
  Model quantized = quantize_model(model);
  expect_counts(quantized, "34", "69");
  quantized.part("bn").set_trainable(false);
  expect_counts(quantized, "18", "85");
}

TEST(Summary, ShowsShapesOfAnyRankAndGroupsThousands) {
  Sequential model("m", Input({2, 3}), Flatten(), Dense(1), Reshape(Shape{}));
  model.build();
  const std::string table = model.summary();
  EXPECT_NE(table.find("[(None, 2, 3)]"), std::string::npos) << table;
  EXPECT_NE(table.find("reshape (Reshape)            (None,)  "), std::string::npos) << table;
  EXPECT_NE(table.find("Total params: 7\n"), std::string::npos) << table;
  Sequential large("m", Input({1000}), Dense(1234));
  large.build();
  EXPECT_NE(large.summary().find("Total params: 1,235,234\n"), std::string::npos);
}

TEST(Summary, CutsLongCellsSoThatTheyDoNotTouch) {
  Sequential model("m", Input({2}), Dense(3, Activation::none, "a_name_longer_than_its_column"));
  model.build();
  EXPECT_NE(model.summary().find("\na_name_longer_than_its_colum (None, 3) "), std::string::npos);
}

TEST(Summary, NeedsABuiltModel) {
  const Sequential model("m", Input({2}), Dense(3));
  expect_error([&] { model.summary(); }, "build()");
  expect_error([&] { model.summary(Detail::quantization); }, "build()");
}

/// The line of `text` that holds `name`, without the spaces at its ends.
std::string line_of(const std::string& text, const std::string& name) {
  const std::size_t at = text.find("  " + name + " ");
  if (at == std::string::npos) return "none";
  return text.substr(at, text.find('\n', at) - at);
}

TEST(Summary, OfQuantizationShowsEachStateWithItsGrid) {
  Sequential model("m", Input({2}), Dense(2, Activation::relu, "body"),
                   Dense(2, Activation::softmax, "head"));
  model.build(1);
  Sequential quantized = quantize_model(model);
  const std::string before = quantized.summary(Detail::quantization);
  EXPECT_NE(before.find("no range observed yet"), std::string::npos) << before;
  fill(tensor_named(quantized.parameters(), "quant_body/kernel"), {0.5F, -1.27F, 0.25F, 1.0F});
  calibrate(quantized, Tensor::from({2, 2}, {0.0F, 0.25F, 0.5F, 2.55F}));
  const std::string text = quantized.summary(Detail::quantization);
  EXPECT_EQ(text.find("no range observed yet"), std::string::npos) << text;
  for (const auto& [name, value] : {std::pair{"min", "0"},
                                    {"max", "2.5"},
                                    {"zero_point", "-128"},
                                    {"quant_params", "scale 0.00999999978, zero point -128"},
                                    {"kernel_min", "-1.26"},
                                    {"kernel_max", "1.26"},
                                    {"kernel_quant_params", "scale 0.00999999978, zero point 0"}}) {
    EXPECT_NE(line_of(text, name).find(value), std::string::npos) << name << "\n" << text;
  }
  for (const char* name :
       {"post_activation_min", "post_activation_max", "post_activation_zero_point",
        "post_activation_quant_params", "pre_activation_min", "pre_activation_max",
        "pre_activation_zero_point", "pre_activation_quant_params"}) {
    EXPECT_NE(line_of(text, name), "none") << name << "\n" << text;
  }
  EXPECT_NE(text.find("quant_body (QuantizeWrapper) (None, 2)                 11        \n"),
            std::string::npos)
      << text;
}

TEST(Summary, OfQuantizationShowsTheSpreadOfChannels) {
  Sequential model("m", Input({1}), Dense(3, Activation::none, "body"));
  model.build(1);
  Sequential quantized = quantize_model(model, {.per_channel = true});
  fill(tensor_named(quantized.parameters(), "quant_body/kernel"), {1.27F, -2.54F, 12.7F});
  calibrate(quantized, Tensor::from({2, 1}, {-1.0F, 1.0F}));
  const std::string text = quantized.summary(Detail::quantization);
  EXPECT_NE(line_of(text, "kernel_min").find("-12.7 to -1.27 (3 values)"), std::string::npos);
  EXPECT_NE(line_of(text, "kernel_quant_params").find("scales 0.01 to 0.1 (3), zero point 0"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace octet::test::summary_test
