#include <octet/layers/activation.h>
#include <octet/layers/add.h>
#include <octet/layers/batch_norm.h>
#include <octet/layers/conv2d.h>
#include <octet/layers/folded_batch_norm.h>
#include <octet/layers/lower.h>
#include <octet/layers/quantize/quantize_wrapper.h>
#include <octet/layers/reshape.h>
#include <octet/runtime/interpreter.h>
#include <octet/tests/layers/quantize/quantize_testing.h>
#include <octet/tests/layers/quantize/same_as_shipped.h>

// Which BatchNorm layers become part of the layer in front, and which are refused.

namespace octet::testing {
namespace {

Dense dense(std::string name = "d") { return {3, Activation::none, std::move(name)}; }
BatchNorm norm() { return BatchNorm({.name = "bn"}); }

void expect_refused(const Model& model, const std::vector<std::string>& parts) {
  std::vector<std::string> all = {"layer \"bn\" of type BatchNorm", "in_float()"};
  all.insert(all.end(), parts.begin(), parts.end());
  expect_throws_naming<InvalidArgument>([&] { static_cast<void>(quantize_model(model)); }, all);
}

TEST(QuantizeBatchNorm, OneThatStandsElsewhereIsRefusedByName) {
  expect_refused(build_model(Input({4}), norm(), dense()), {"InputLayer", "which has no kernel"});
  expect_refused(build_model(Input({4}), dense(), ReLU(), norm()),
                 {"of type ReLU", "which has no kernel"});
  expect_refused(build_model(Input({4}), Dense(3, Activation::relu, "d"), norm()),
                 {"\"d\" of type Dense", "ends in relu", "behind the BatchNorm"});
}

TEST(QuantizeBatchNorm, ASecondOneIsRefusedByName) {
  expect_refused(build_model(Input({4}), dense(), BatchNorm(), norm()),
                 {"of type BatchNorm in front", "which has no kernel"});
  FoldedBatchNorm folded(std::make_unique<Dense>(dense()), std::make_unique<BatchNorm>());
  expect_refused(build_model(Input({4}), std::move(folded), norm()),
                 {"\"d\" of type FoldedBatchNorm", "which has one already"});
}

TEST(QuantizeBatchNorm, AFoldedLayerOfAFloatModelIsQuantizedWithItsClamp) {
  FoldedBatchNorm folded(std::make_unique<Dense>(dense()), std::make_unique<BatchNorm>());
  Sequential model = build_model(Input({4}), std::move(folded), ReLU());
  model = quantize_model(model);
  EXPECT_EQ(model.layers().size(), 3U);
  EXPECT_EQ(model.layers().back()->activation(), Activation::relu);
  calibrate(model, random_tensor({8, 4}, 1));
  expect_same_as_shipped(model, lower(model), random_tensor({8, 4}, 2));
}

TEST(QuantizeBatchNorm, OneWhoseLayerOthersReadIsRefusedByName) {
  Model two("two");
  Value x = two.add(dense(), two.input({4}));
  two.output(two.add(Add(), {two.add(norm(), x), x}));
  two.build();
  expect_refused(two, {"\"d\" of type Dense", "which 2 layers read"});
  Model shown("shown");
  x = shown.add(dense(), shown.input({4}));
  shown.output(x);
  shown.output(shown.add(norm(), x));
  shown.build();
  expect_refused(shown, {"\"d\" of type Dense", "an output of the model as well"});
}

TEST(QuantizeBatchNorm, ItIsQuantizedAsTheLayerInFront) {
  expect_refused(build_model(Input({4}), in_float(dense()), norm()),
                 {"\"d\" in front, which stays in float"});
  expect_refused(build_model(Input({4}), dense(), quantized(norm(), {.weight_bits = 4})),
                 {"in its own way", "\"d\""});
  Sequential own("m", Input({4}), dense(),
                 quantize_annotate_layer(norm(), std::make_shared<CustomConfig>()));
  own.build();
  expect_refused(own, {"in its own way", "\"d\""});
  Sequential model = build_model(Input({4}), quantized(dense(), {.weight_bits = 4}), norm());
  model = quantize_model(model);
  EXPECT_EQ(model.layer("quant_d").kernel_quantizer()->spec().num_bits, 4);
  EXPECT_NE(model.layer("quant_d").folded_batch_norm(), nullptr);
}

TEST(QuantizeBatchNorm, LeftInFloatItIsTrainedAndNotLowered) {
  Sequential model = build_model(Input({4}), dense(), in_float(norm()), dense("e"));
  model = quantize_model(model);
  EXPECT_EQ(layer_lines(model),
            (std::vector<std::string>{
                "input_1 InputLayer", "quantize_layer QuantizeLayer", "quant_d QuantizeWrapper",
                "bn BatchNorm", "quantize_layer_1 QuantizeLayer", "quant_e QuantizeWrapper"}));
  calibrate(model, random_tensor({8, 4}, 1));
  train_a_little(model, 2, [] { return random_tensor({8, 4}, 2); });
  expect_error([&] { static_cast<void>(lower(model)); },
               "layer \"bn\": expected a BatchNorm that is folded");
}

TEST(QuantizeBatchNorm, LeftInFloatWithItsLayerItIsFoldedAndShipped) {
  Sequential model = build_model(Input({4}), in_float(dense()), in_float(norm()), dense("e"));
  for (auto& [name, tensor] : model.state()) {
    fill(tensor, values_of(random_tensor(tensor.shape(), 3, 0.5F, 2.0F)));
  }
  const Tensor x = random_tensor({8, 4}, 1);
  const Tensor expected = model.forward(x);
  model = quantize_model(model);
  EXPECT_EQ(layer_lines(model),
            (std::vector<std::string>{"input_1 InputLayer", "quantize_layer QuantizeLayer",
                                      "d FoldedBatchNorm", "quantize_layer_1 QuantizeLayer",
                                      "quant_e QuantizeWrapper"}));
  calibrate(model, x);
  expect_close(model.forward(x), expected, 0.05F);
  expect_same_as_shipped(model, lower(model), x);
}

TEST(QuantizeBatchNorm, AFloatModelIsLoweredFolded) {
  Sequential model = build_model(Input({4}), dense(), norm(), ReLU(), dense("e"));
  for (auto& [name, tensor] : model.state()) {
    fill(tensor, values_of(random_tensor(tensor.shape(), 3, 0.5F, 2.0F)));
  }
  const IntegerModel lowered = lower_float(model);
  EXPECT_EQ(lowered.operators.size(), 3U);
  Interpreter interpreter(lowered);
  const Tensor x = random_tensor({1, 4}, 1);
  expect_close(Tensor::from({1, 3}, interpreter.run(std::as_const(x).span())), model.forward(x),
               1e-5F);
}

TEST(QuantizeBatchNorm, QuantizeApplyFoldsWhereBothAreMarked) {
  Sequential both = build_model(Input({4}), quantize_annotate_layer(dense()),
                                quantize_annotate_layer(norm()), dense("e"));
  EXPECT_EQ(layer_lines(quantize_apply(both)),
            (std::vector<std::string>{"input_1 InputLayer", "quantize_layer QuantizeLayer",
                                      "quant_d QuantizeWrapper", "e Dense"}));
  Sequential one = build_model(Input({4}), quantize_annotate_layer(dense()), norm(), dense("e"));
  EXPECT_EQ(layer_lines(quantize_apply(one)),
            (std::vector<std::string>{"input_1 InputLayer", "quantize_layer QuantizeLayer",
                                      "quant_d QuantizeWrapper", "bn BatchNorm", "e Dense"}));
  Sequential alone = build_model(Input({4}), dense(), quantize_annotate_layer(norm()));
  expect_throws_naming<InvalidArgument>([&] { static_cast<void>(quantize_apply(alone)); },
                                        {"quantize_apply", "\"bn\"", "stays in float"});
}

TEST(QuantizeBatchNorm, SummaryTellsTheModeAndTheStatistics) {
  const Sequential model = build_model(Input({4}), dense(), norm());
  const auto text = [&](BatchNormMode mode, bool freeze) {
    Sequential quantized = quantize_model(model, {.batch_norm = mode});
    if (freeze) freeze_batch_norm(quantized);
    return quantized.summary(Detail::quantization);
  };
  const auto expect_line = [](const std::string& found, const std::string& line) {
    EXPECT_NE(found.find(line), std::string::npos) << found;
  };
  const std::string key = "  batch_norm                       ";
  expect_line(text(BatchNormMode::folded, false), key + "folded\n");
  expect_line(text(BatchNormMode::statistics, false), key + "statistics, of each batch\n");
  expect_line(text(BatchNormMode::statistics, true), key + "statistics, frozen\n");
  expect_line(text(BatchNormMode::folded, false), "  moving_variance                  1 to 1 (3");
}

/// A layer of a program's own whose kernel is [units, inputs].
class Turned : public Layer {
 public:
  Turned() : Layer("turned") {}
  std::string_view type() const override { return "Turned"; }
  std::optional<LayerWeights> weights() const override { return LayerWeights{kernel_, {}, 0}; }
  Tensor forward(const Tensor& x, const ForwardContext& /*context*/) override { return x; }
  ResultGrid result_grid(Rounding /*rounding*/) const override { return ResultGrid::measured; }
  std::unique_ptr<Layer> clone() const override { return std::make_unique<Turned>(*this); }

 protected:
  Shape do_build(const Shape& input_shape, const Random& /*random*/) override {
    kernel_ = Tensor::ones({input_shape[0], input_shape[0]});
    return input_shape;
  }

 private:
  Tensor kernel_;
};

TEST(QuantizeBatchNorm, AKernelWhoseUnitsComeFirstIsRefusedByName) {
  const Sequential model = build_model(Input({4}), Turned(), norm());
  expect_throws_naming<InvalidArgument>(
      [&] { static_cast<void>(quantize_model(model, {.simulation = Simulation::fake_quant})); },
      {"\"turned\"", "the 4 channels of the BatchNorm", "[4, 4] with unit_axis 0"});
}

}  // namespace
}  // namespace octet::testing
