#include <octet/layers/activation.h>
#include <octet/layers/add.h>
#include <octet/layers/architecture.h>
#include <octet/layers/batch_norm.h>
#include <octet/layers/channel_identity.h>
#include <octet/layers/conv1d.h>
#include <octet/layers/conv2d.h>
#include <octet/layers/folded_batch_norm.h>
#include <octet/layers/lower.h>
#include <octet/layers/quantize/quantize_wrapper.h>
#include <octet/layers/reshape.h>
#include <octet/runtime/interpreter.h>
#include <octet/tests/layers/quantize/quantize_testing.h>
#include <octet/tests/layers/quantize/same_as_shipped.h>

// Which BatchNorm layers become part of the layer in front, and which are layers of their own.

namespace octet::test::quantize_batch_norm_test {
namespace {

Dense dense(std::string name = "d") { return {3, Activation::none, std::move(name)}; }
BatchNorm norm() { return BatchNorm({.name = "bn"}); }

/// Draws gamma, beta and the statistics of every BatchNorm.
void draw_norms(Model& model) {
  std::uint64_t seed = 3;
  const auto draw = [&seed](const NamedTensor& named, float lo) {
    fill(named.tensor, values_of(random_tensor(named.tensor.shape(), seed++, lo, 2.0F)));
  };
  for (const NamedTensor& state : model.state()) draw(state, 0.5F);
  for (const NamedTensor& parameter : model.parameters()) {
    if (parameter.name.ends_with("gamma") || parameter.name.ends_with("beta")) {
      draw(parameter, -1.0F);
    }
  }
}

bool holds_a_scale(const Layer& layer) {
  const auto* wrapper = dynamic_cast<const QuantizeWrapper*>(&layer);
  const Layer& own = wrapper == nullptr ? layer : wrapper->wrapped();
  const auto* folded = dynamic_cast<const FoldedBatchNorm*>(&own);
  return folded != nullptr && folded->unfolded().type() == ChannelIdentity::kType;
}

/// The BatchNorm "bn" of `source` is a layer of its own when quantized: what is trained is what the
/// file computes, and near the float model.
void expect_alone(Model source, const std::string& name = "quant_bn") {
  draw_norms(source);
  const Tensor x = random_tensor(source.input_shape().with_batch(20), 1);
  const Tensor expected = source.forward(x);
  Model model = quantize_model(source);
  EXPECT_TRUE(holds_a_scale(model.layer(name))) << model.layer(name).type();
  calibrate(model, x);
  expect_close(model.forward(x), expected, 0.1F);
  train_a_little(model, 2, [&] { return random_tensor(x.shape(), 2); });
  expect_same_as_shipped(model, x);
}

TEST(QuantizeBatchNorm, OneThatStandsElsewhereIsALayerOfItsOwn) {
  expect_alone(build_model(Input({4}), norm(), dense()));
  expect_alone(build_model(Input({4}), dense(), ReLU(), norm()));
  expect_alone(build_model(Input({4}), Dense(3, Activation::relu, "d"), norm()));
  expect_alone(build_model(Input({3, 4, 2}), norm(), Flatten(), dense()));
  expect_alone(build_model(Input({5, 2}), norm(), Flatten(), dense()));
}

TEST(QuantizeBatchNorm, OneOfItsOwnIsADepthwiseConvolutionWithItsClamp) {
  Sequential source = build_model(Input({3, 4, 2}), norm(), ReLU6(), Flatten(), dense());
  draw_norms(source);
  const Sequential model = [&] {
    Sequential quantized = quantize_model(source);
    calibrate(quantized, random_tensor({20, 3, 4, 2}, 1));
    return quantized;
  }();
  EXPECT_EQ(model.layer("quant_bn").activation(), Activation::relu6);
  EXPECT_EQ(names_of(model.layer("quant_bn").parameters()),
            (std::vector<std::string>{"gamma", "beta"}));
  const IntegerModel lowered = lower(model);
  const Operator& op = lowered.operators.front();
  ASSERT_EQ(op.code, OpCode::depthwise_conv_2d);
  EXPECT_EQ(op.activation(), FusedActivation::relu6);
  const ModelTensor& weights = lowered.tensors[static_cast<std::size_t>(op.inputs[1])];
  EXPECT_EQ(weights.shape, (std::vector<std::int32_t>{1, 1, 1, 2}));
  // Each channel has its scale, so that m is 127 steps of it.
  const auto& bn = dynamic_cast<const BatchNorm&>(source.layer("bn"));
  for (std::size_t c = 0; c < 2; ++c) {
    const float m = bn.gamma().span()[c] / std::sqrt(bn.moving_variance().span()[c] + bn.epsilon());
    EXPECT_EQ(static_cast<std::int8_t>(weights.data[c]), m < 0.0F ? -127 : 127);
    EXPECT_NEAR(weights.quantization.scales[c] * 127.0F, std::fabs(m), 1e-5F * std::fabs(m));
  }
}

TEST(QuantizeBatchNorm, ASecondOneIsALayerOfItsOwn) {
  expect_alone(build_model(Input({4}), dense(), BatchNorm(), norm()));
  FoldedBatchNorm folded(std::make_unique<Dense>(dense()), std::make_unique<BatchNorm>());
  expect_alone(build_model(Input({4}), std::move(folded), norm()));
}

TEST(QuantizeBatchNorm, OneOfExamplesOfFourAxesIsRefusedByName) {
  const Sequential model = build_model(Input({2, 2, 2, 2}), norm());
  expect_throws<InvalidArgument>(
      [&] { static_cast<void>(quantize_model(model)); },
      {"layer \"bn\"", "expected examples [channels]", "found shape [2, 2, 2, 2]"});
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

TEST(QuantizeBatchNorm, OneWhoseLayerOthersReadIsALayerOfItsOwn) {
  Model two("two");
  Value x = two.add(dense(), two.input({4}));
  two.output(two.add(Add(), {two.add(norm(), x), x}));
  two.build();
  expect_alone(std::move(two));
  Model sum("sum");
  x = sum.add(dense(), sum.input({4}));
  const Value y = sum.add(dense("e"), x);
  sum.output(sum.add(ReLU(), sum.add(norm(), sum.add(Add(), {x, y}))));
  sum.build();
  expect_alone(std::move(sum));
  Model shown("shown");
  x = shown.add(dense(), shown.input({4}));
  shown.output(x);
  shown.output(shown.add(norm(), x));
  shown.build();
  EXPECT_TRUE(holds_a_scale(quantize_model(shown).layer("quant_bn")));
}

TEST(QuantizeBatchNorm, ItIsQuantizedAsTheLayerInFront) {
  Sequential model = build_model(Input({4}), quantized(dense(), {.weight_bits = 4}), norm());
  model = quantize_model(model);
  EXPECT_EQ(model.layer("quant_d").kernel_quantizer()->spec().num_bits, 4);
  EXPECT_NE(folded_batch_norm(model.layer("quant_d")), nullptr);
}

TEST(QuantizeBatchNorm, OneThatIsQuantizedInItsOwnWayIsALayerOfItsOwn) {
  expect_alone(build_model(Input({4}), in_float(dense()), norm()));
  expect_alone(build_model(Input({4}), dense(), quantized(norm(), {.weight_bits = 4})));
  const Sequential model =
      quantize_model(build_model(Input({4}), dense(), quantized(norm(), {.weight_bits = 4})));
  EXPECT_EQ(model.layer("quant_bn").kernel_quantizer()->spec().num_bits, 4);
  Sequential own("m", Input({4}), dense(),
                 quantize_annotate_layer(norm(), std::make_shared<CustomConfig>()));
  own.build();
  EXPECT_TRUE(holds_a_scale(quantize_model(own).layer("quant_bn")));
}

TEST(QuantizeBatchNorm, LeftInFloatItIsTrainedAndShipped) {
  const Sequential source = build_model(Input({4}), dense(), in_float(norm()), dense("e"));
  EXPECT_EQ(
      layer_lines(quantize_model(source)),
      (std::vector<std::string>{"input_1 InputLayer", "quantize_layer QuantizeLayer",
                                "quant_d QuantizeWrapper", "bn FoldedBatchNorm",
                                "quantize_layer_1 QuantizeLayer", "quant_e QuantizeWrapper"}));
  expect_alone(source, "bn");
}

TEST(QuantizeBatchNorm, OneOfItsOwnIsMadeAgainFromItsDescription) {
  const Model model = quantize_model(build_model(Input({4}), norm(), ReLU(), dense()),
                                     {.batch_norm = BatchNormMode::statistics});
  Model again = model_from_json(architecture_json(model));
  EXPECT_EQ(architecture_json(again), architecture_json(model));
  again.build(1);
  EXPECT_TRUE(holds_a_scale(again.layer("quant_bn")));
  EXPECT_EQ(names_of(again.saved_tensors()), names_of(model.saved_tensors()));
}

TEST(QuantizeBatchNorm, LeftInFloatOnSequencesItIsTrainedOnTheBatch) {
  const auto conv = [] { return in_float(Conv1D(4, 2, Activation::none, {.name = "conv"})); };
  for (const bool alone : {false, true}) {
    Sequential source("m", Input({6, 4}));
    if (!alone) source.add(conv());
    source.add(in_float(BatchNorm({.name = "bn"})));
    source.add(Flatten("flat"));
    source.add(Dense(2, Activation::none, DenseOptions{.name = "end"}));
    source.build(1);
    Sequential quantized = quantize_model(source, {.batch_norm = BatchNormMode::statistics});
    const Tensor x = random_tensor({7, 6, 4}, 2, -3.0F, 5.0F);
    const auto mean_after = [&](Sequential& model) {
      static_cast<void>(model.forward(x, training()));
      return values_of(dynamic_cast<BatchNorm&>(model.part("bn")).moving_mean());
    };
    // The input is quantized.
    const std::vector<float> expected = mean_after(source);
    const std::vector<float> found = mean_after(quantized);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_NEAR(found[i], expected[i], 1e-4F) << alone;
      EXPECT_NE(found[i], 0.0F) << alone;
    }
  }
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

void expect_float_lowering(Model model, const std::vector<OpCode>& codes) {
  draw_norms(model);
  const IntegerModel lowered = lower_float(model);
  std::vector<OpCode> found;
  for (const Operator& op : lowered.operators) found.push_back(op.code);
  EXPECT_EQ(found, codes);
  Interpreter interpreter(lowered);
  const Tensor x = random_tensor(model.input_shape().with_batch(1), 1);
  const Tensor expected = model.forward(x);
  expect_close(Tensor::from(expected.shape(), interpreter.run(x.span())), expected, 1e-5F);
}

TEST(QuantizeBatchNorm, AFloatModelIsLoweredFolded) {
  using enum OpCode;
  expect_float_lowering(build_model(Input({4}), dense(), norm(), ReLU(), dense("e")),
                        {fully_connected, relu, fully_connected});
  expect_float_lowering(build_model(Input({4}), norm(), dense("e")),
                        {reshape, depthwise_conv_2d, reshape, fully_connected});
  expect_float_lowering(build_model(Input({2, 3, 4}), norm(), Flatten(), dense("e")),
                        {depthwise_conv_2d, reshape, fully_connected});
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
                                      "quant_d QuantizeWrapper", "bn FoldedBatchNorm", "e Dense"}));
  Sequential alone = build_model(Input({4}), dense(), quantize_annotate_layer(norm()));
  EXPECT_EQ(layer_lines(quantize_apply(alone)),
            (std::vector<std::string>{"input_1 InputLayer", "quantize_layer QuantizeLayer",
                                      "quant_d QuantizeWrapper", "quant_bn QuantizeWrapper"}));
}

TEST(QuantizeBatchNorm, TheLayersOfTheFloatModelArePartsByTheirNames) {
  const auto source = [](bool is_float) {
    return build_model(Input({4}), is_float ? in_float(dense()) : dense(),
                       is_float ? in_float(norm()) : norm(), ReLU("r"),
                       Dense(2, Activation::none, "e"), ReLU("r2"), BatchNorm({.name = "alone"}));
  };
  for (const bool is_float : {false, true}) {
    const Model model = quantize_model(source(is_float));
    for (const auto& [name, type] :
         std::vector<std::pair<std::string, std::string>>{{"d", "Dense"},
                                                          {"bn", "BatchNorm"},
                                                          {"e", "Dense"},
                                                          {"alone", "BatchNorm"},
                                                          {"input_1", "InputLayer"},
                                                          {"quant_e", "QuantizeWrapper"}}) {
      EXPECT_EQ(model.part(name).type(), type) << name;
    }
    EXPECT_EQ(model.part("bn").parameters()[0].tensor.data(),
              model.layer(is_float ? "d" : "quant_d").parameters()[2].tensor.data());
    expect_error([&] { static_cast<void>(model.part("bm")); }, "no layer named \"bm\"");
  }
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
  Sequential untrained = model;
  untrained.part("bn").set_trainable(false);
  expect_line(quantize_model(untrained, {.batch_norm = BatchNormMode::statistics})
                  .summary(Detail::quantization),
              key + "statistics, frozen\n");
}

/// A layer of a program's own whose kernel is [units, inputs].
class Turned : public Layer {
 public:
  Turned() : Layer("turned") {}
  std::string_view type() const override { return "Turned"; }
  std::optional<LayerWeights> weights() const override {
    LayerWeights weights{kernel_, {}, 0};
    weights.own_layout = [](const Tensor& x, const Tensor&, const Tensor&) { return x; };
    return weights;
  }
  std::unique_ptr<Layer> clone() const override { return std::make_unique<Turned>(*this); }

 protected:
  void make_tensors(std::span<const Shape> input_shapes, const Random& /*random*/) override {
    kernel_ = Tensor::ones({input_shapes[0][0], input_shapes[0][0]});
  }
  Shape result_shape(std::span<const Shape> input_shapes) const override { return input_shapes[0]; }

 private:
  Tensor kernel_;
};

TEST(QuantizeBatchNorm, AKernelWhoseUnitsComeFirstIsRefusedByName) {
  const Sequential model = build_model(Input({4}), Turned(), norm());
  expect_throws<InvalidArgument>(
      [&] { static_cast<void>(quantize_model(model, {.simulation = Simulation::fake_quant})); },
      {"\"turned\"", "the 4 channels of the BatchNorm", "[4, 4] with unit_axis 0"});
}

}  // namespace
}  // namespace octet::test::quantize_batch_norm_test
