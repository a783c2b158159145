#include <octet/layers/add.h>
#include <octet/layers/quantize/quantize_layer.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/layers/quantize/quantize_wrapper.h>
#include <octet/tests/deploy/lowered.h>

// What lower() refuses, and whom it names.

namespace octet::test::lower_refusal_test {
namespace {

TEST(LowerRefusal, OfSumsBeyondInt32AndNamesLayerAndChannel) {
  constexpr Index kInputs = 70000;
  Sequential net("m", Input({kInputs}),
                 Dense(2, Activation::none, DenseOptions{.use_bias = false, .name = "wide"}));
  net.build();
  Sequential model = quantize_model(net, {.simulation = Simulation::fake_quant});
  Tensor kernel = model.parameters()[0].tensor;
  std::ranges::fill(kernel.mutable_span(), 0.0F);
  for (Index i = 0; i < kInputs; ++i) kernel.mutable_at({i, 1}) = 1.0F;
  Tensor x = Tensor::zeros({1, kInputs});
  x.mutable_data()[0] = 1.0F;
  calibrate(model, x);
  // 70000 * 127 * 255.
  expect_error([&] { lower(model); },
               "\"quant_wide\", channel 1: sums could reach 2266950000, beyond int32");
  // 66,311 of them just fit: 66311 * 127 * 255 = 2147481735.
  for (Index i = 66311; i < kInputs; ++i) kernel.mutable_at({i, 1}) = 0.0F;
  EXPECT_EQ(lower(model).metadata.at("octet.accumulator_bound"), "2147481735");
  kernel.mutable_at({kInputs - 1, 1}) = 1.0F;
  expect_error([&] { lower(model); }, "channel 1");
}

TEST(LowerRefusal, OfWhatIsNotQuantized) {
  const Sequential net = build_model(Input({3}), Dense(4, Activation::relu, "a"));
  expect_error([&] { lower(Sequential("bare", Input({3}))); }, "\"bare\" has no tensors yet");
  expect_error([&] { lower(net); }, "\"a\" of type Dense is not quantized");
  expect_error([&] { lower(build_model(Input({3}, "only"))); }, "is not quantized");
  expect_error([&] { lower(build_model(Input({3})), {.output = IoType::float32}); },
               "is not quantized");
  expect_error([&] { lower(quantize_model(net)); }, "quantize_layer: no range");
  Sequential partly("m", Input({3}), Dense(3, Activation::relu, "front"));
  partly.add(quantize_annotate_layer(Dense(2, Activation::none, "marked")));
  partly.build();
  Sequential applied = quantize_apply(partly);
  calibrate(applied, random_tensor({4, 3}, 1));
  EXPECT_EQ(operator_lines(lower(applied)),
            (std::vector<std::string>{"DEQUANTIZE input_1/real", "FULLY_CONNECTED front",
                                      "QUANTIZE front/codes", "FULLY_CONNECTED marked"}));
}

/// One Dense, or a ReLU behind it, quantized as `config` says.
IntegerModel lower_with(const std::shared_ptr<CustomConfig>& config, bool on_clamp) {
  Sequential net("m", Input({3}));
  net.add(quantize_annotate_layer(Dense(4, Activation::relu, "a"), on_clamp ? nullptr : config));
  net.add(quantize_annotate_layer(ReLU("r"), on_clamp ? config : nullptr));
  net.build();
  Sequential model = quantize_apply(net, {.simulation = Simulation::fake_quant});
  calibrate(model, random_tensor({4, 3}, 1));
  return lower(model);
}

std::shared_ptr<CustomConfig> fake_quant_config() {
  return std::make_shared<CustomConfig>(QuantizeOptions{.simulation = Simulation::fake_quant});
}

TEST(LowerRefusal, NotOfAConfigThatOperatorsCanFollow) {
  const auto config = fake_quant_config();
  config->activation = fixed(0.0F, 2.55F);
  const IntegerModel lowered = lower_with(config, false);
  EXPECT_EQ(tensor_of(lowered, "a").quantization.scale(), 0.01F);
  EXPECT_EQ(tensor_of(lowered, "a").quantization.zero_point(), -128);
}

TEST(LowerRefusal, OfGridsThatNoOperatorHas) {
  const auto refused = [](auto&& change, bool on_clamp, const std::string& part) {
    const auto config = fake_quant_config();
    change(*config);
    expect_error([&] { lower_with(config, on_clamp); }, part);
  };
  const auto four_bits = fixed(-1.0F, 1.0F, {.num_bits = 4});
  refused([&](CustomConfig& c) { c.activation = four_bits; }, false,
          "\"quant_a\": expected a result of the int8 values -128 to 127, found -8 to 7, which no "
          "operator clamps to");
  refused([&](CustomConfig& c) { c.output = four_bits; }, true, "\"quant_r\": expected a result");
  refused([&](CustomConfig& c) { c.kernel = fixed(-1.0F, 3.0F); }, false,
          "\"quant_a\": expected a kernel of int8 values with zero point 0");
}

TEST(LowerRefusal, NotOfWhatAConfigLeavesInFloat) {
  const auto lines = [](auto&& change, bool on_clamp) {
    const auto config = fake_quant_config();
    change(*config);
    return operator_lines(lower_with(config, on_clamp));
  };
  using Lines = std::vector<std::string>;
  EXPECT_EQ(lines([](CustomConfig& c) { c.output = nothing(); }, true),
            (Lines{"FULLY_CONNECTED a", "DEQUANTIZE a/real", "RELU r"}));
  EXPECT_EQ(lines([](CustomConfig& c) { c.kernel = nothing(); }, false),
            (Lines{"DEQUANTIZE input_1/real", "FULLY_CONNECTED a", "QUANTIZE a/codes", "RELU r"}));
  EXPECT_EQ(lines([](CustomConfig& c) { c.activation = nothing(); }, false),
            (Lines{"DEQUANTIZE input_1/real", "FULLY_CONNECTED a", "QUANTIZE quantize_layer_1",
                   "RELU r"}));
}

TEST(LowerRefusal, NotOfOutputsThatTheOperatorWouldNotQuantize) {
  const auto config = fake_quant_config();
  config->output = fixed(-1.0F, 1.0F);
  Sequential net("m", Input({2, 2}));
  net.add(quantize_annotate_layer(Flatten("flat"), config));
  net.build();
  Sequential model = quantize_apply(net, {.simulation = Simulation::fake_quant});
  calibrate(model, random_tensor({4, 2, 2}, 1));
  EXPECT_EQ(
      operator_lines(lower(model)),
      (std::vector<std::string>{"DEQUANTIZE input_1/real", "RESHAPE flat", "QUANTIZE flat/codes"}));
}

TEST(LowerRefusal, OfTwoRoundingContracts) {
  Sequential net("m", Input({3}), Dense(3, Activation::none, "a"));
  net.build();
  const auto other = default_8bit({.rounding = Rounding::double_rounding});
  Sequential marked("m", Input({3}));
  marked.add(quantize_annotate_layer(Dense(3, Activation::none, "a")));
  marked.add(quantize_annotate_layer(Dense(3, Activation::none, "b"), other));
  marked.build();
  Sequential model = quantize_apply(marked);
  calibrate(model, random_tensor({4, 3}, 1));
  expect_error([&] { lower(model); }, "\"quant_b\" asks for rounding double");
  // The input's own contract says how it is rounded.
  Sequential mixed("m", Input({4}));
  mixed.add(QuantizeLayer({.rounding = Rounding::fp32}));
  mixed.add(
      std::make_unique<QuantizeWrapper>(std::make_unique<Dense>(3, Activation::none, "d"),
                                        default_8bit({.rounding = Rounding::double_rounding})));
  mixed.build();
  calibrate(mixed, Tensor::ones({2, 4}));
  expect_error([&] { lower(mixed); }, "\"quant_d\" asks for rounding double, the layers before it");
}

TEST(LowerRefusal, OfALayerWithoutAQuantizedInput) {
  Sequential model("m", Input({3}));
  model.add(
      std::make_unique<QuantizeWrapper>(std::make_unique<Dense>(2, Activation::none, "a"),
                                        default_8bit({.simulation = Simulation::fake_quant})));
  model.build();
  calibrate(model, random_tensor({4, 3}, 1));
  expect_error([&] { lower(model); }, "\"quant_a\": expected a QuantizeLayer after the input");
}

TEST(LowerRefusal, OfAnInputThatIsReadBesideItsQuantizeLayer) {
  Model model("m");
  const Value x = model.input({3}, "x");
  const Value codes = model.add(QuantizeLayer(), x);
  model.output(model.add(Add(Activation::none, "sum"), {codes, x}));
  model.build();
  calibrate(model, random_tensor({4, 3}, 1));
  expect_error([&] { lower(model); }, "input \"x\": expected its QuantizeLayer alone to read it");
}

TEST(LowerRefusal, NotOfAQuantizeLayerBehindAnother) {
  Sequential model("m", Input({3}), QuantizeLayer(), in_float(Dropout(0.5F)), QuantizeLayer());
  model.build();
  calibrate(model, random_tensor({4, 3}, 1));
  EXPECT_EQ(operator_lines(lower(model)), std::vector<std::string>{"QUANTIZE quantize_layer_1"});
}

}  // namespace
}  // namespace octet::test::lower_refusal_test
