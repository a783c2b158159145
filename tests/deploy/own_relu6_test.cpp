#include <octet/deploy/layer_codes.h>
#include <octet/layers/quantize/quantize_layer.h>
#include <octet/layers/quantize/quantize_wrapper.h>
#include <octet/runtime/interpreter.h>
#include <octet/tests/deploy/lowered.h>
#include <octet/tests/layers/quantize/random_nets.h>

// A RELU6 of its own under contract double: TFLite Micro clamps codes to [zero_point, q(6)] of its
// input and does not rescale, so input and output have to share scale and zero point.

namespace octet::test::own_relu6_test {
namespace {

constexpr QuantizeOptions kDouble{.rounding = Rounding::double_rounding};

using Codes = std::vector<std::int8_t>;

/// The kernel of TFLite Micro: it reads nothing of its output.
Codes relu6_of_tflite_micro(const Codes& x, float scale, std::int32_t zero_point) {
  const auto six = zero_point + static_cast<std::int32_t>(std::round(6.0F / scale));
  const std::int32_t hi = std::min(six, 127);
  Codes y;
  for (const std::int32_t code : x) {
    y.push_back(static_cast<std::int8_t>(std::min(std::max(code, zero_point), hi)));
  }
  return y;
}

Codes codes_of(const LayerCodes& network, const std::string& name) {
  for (std::size_t i = 0; i < network.layers().size(); ++i) {
    if (network.layers()[i].name != name) continue;
    const auto codes = network.codes(i);
    Codes narrow;
    for (const std::int16_t code : codes) narrow.push_back(static_cast<std::int8_t>(code));
    return narrow;
  }
  ADD_FAILURE() << "no layer " << name;
  return {};
}

/// A Dense with an activation of its own, so that the ReLU6 behind it is not fused.
Sequential net_with_relu6() {
  return build_model(Input({3}, "in"), Dense(9, Activation::relu, "front"), ReLU6("six"),
                     Dense(2, Activation::none, "back"));
}

const QuantizeWrapper& wrapper_of(const Sequential& model, std::string_view name) {
  return dynamic_cast<const QuantizeWrapper&>(model.layer(name));
}

/// Inputs that bring the first Dense well beyond 6.
Tensor large_inputs() { return random_tensor({40, 3}, 4, -9.0F, 9.0F); }

TEST(OwnRelu6, KeepsTheGridOfItsInputUnderDoubleAlone) {
  for (const Rounding rounding : {Rounding::fp32, Rounding::single_rounding}) {
    Sequential model = quantize_model(net_with_relu6(), {.rounding = rounding});
    EXPECT_NE(wrapper_of(model, "quant_six").activation_quantizer(), nullptr);
  }
  Sequential model = quantize_model(net_with_relu6(), kDouble);
  EXPECT_EQ(wrapper_of(model, "quant_six").activation_quantizer(), nullptr);
  calibrate(model, large_inputs());
  const IntegerModel lowered = lower(model);
  const QuantParams& front = tensor_of(lowered, "front").quantization;
  const QuantParams& six = tensor_of(lowered, "six").quantization;
  EXPECT_EQ(six.scales, front.scales);
  EXPECT_EQ(six.zero_points, front.zero_points);

  SimulatedCodes trained(model);
  InterpretedCodes shipped(lowered);
  trained.run(large_inputs());
  shipped.run(large_inputs());
  const Codes want =
      relu6_of_tflite_micro(codes_of(shipped, "front"), front.scale(), front.zero_point());
  EXPECT_NE(want, codes_of(shipped, "front"));
  EXPECT_EQ(codes_of(shipped, "six"), want);
  EXPECT_EQ(codes_of(trained, "six"), want);
  EXPECT_EQ(codes_of(trained, "back"), codes_of(shipped, "back"));
}

TEST(OwnRelu6, IsTheKernelOfTfliteMicroInEveryRandomNet) {
  std::size_t compared = 0;
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    RandomNet net(seed);
    Sequential model = quantize_model(net.model(), net.options(Rounding::double_rounding));
    calibrate(model, net.batch(9));
    InterpretedCodes network(lower(model));
    network.run(net.batch(20));
    const IntegerModel lowered = lower(model);
    for (const Operator& op : lowered.operators) {
      if (op.code != OpCode::relu6) continue;
      const auto tensor = [&](std::int32_t i) -> const ModelTensor& {
        return lowered.tensors[static_cast<std::size_t>(i)];
      };
      const QuantParams& grid = tensor(op.inputs[0]).quantization;
      const Codes want = relu6_of_tflite_micro(codes_of(network, tensor(op.inputs[0]).name),
                                               grid.scale(), grid.zero_point());
      ASSERT_EQ(codes_of(network, tensor(op.outputs[0]).name), want) << "seed " << seed;
      compared += want.size();
    }
  }
  EXPECT_GT(compared, 1000U);
}

TEST(OwnRelu6, FakeQuantizationComesOutOnTheSameCodes) {
  Sequential model = quantize_model(net_with_relu6(), {.simulation = Simulation::fake_quant,
                                                       .rounding = Rounding::double_rounding});
  calibrate(model, large_inputs());
  SimulatedCodes simulated(model);
  simulated.run(large_inputs());
  const QuantParams grid = tensor_of(lower(model), "front").quantization;
  EXPECT_EQ(codes_of(simulated, "six"),
            relu6_of_tflite_micro(codes_of(simulated, "front"), grid.scale(), grid.zero_point()));
}

void expect_same_codes(const Sequential& model, const Tensor& x) {
  const IntegerModel lowered = lower(model);
  SimulatedCodes trained(model);
  InterpretedCodes shipped(lowered);
  trained.run(x);
  shipped.run(x);
  ASSERT_EQ(trained.layers().size(), shipped.layers().size());
  for (std::size_t i = 0; i < trained.layers().size(); ++i) {
    EXPECT_TRUE(std::ranges::equal(trained.codes(i), shipped.codes(i))) << trained.layers()[i].name;
  }
  EXPECT_EQ(std::ranges::count(lowered.operators, OpCode::relu6, &Operator::code), 1);
}

Sequential with_config_on_relu6(const QuantizeOptions& options) {
  const auto config = std::make_shared<CustomConfig>(options);
  config->output = fixed(0.0F, 3.0F);
  Sequential net("m", Input({3}));
  net.add(quantize_annotate_layer(Dense(4, Activation::relu, "front")));
  net.add(quantize_annotate_layer(ReLU6("six"), config));
  net.build();
  return quantize_apply(net, options);
}

TEST(OwnRelu6, RefusesAQuantizerOfItsOwnUnderDouble) {
  expect_error([] { with_config_on_relu6(kDouble); },
               "layer \"six\": expected no quantizer for the output of a ReLU6 of its own under "
               "rounding double");
  Sequential other_contract = with_config_on_relu6({});
  calibrate(other_contract, random_tensor({4, 3}, 1));

  const auto config = std::make_shared<CustomConfig>(kDouble);
  config->output = fixed(0.0F, 3.0F);
  Sequential by_hand("m", Input({3}));
  by_hand.add(std::make_unique<QuantizeLayer>(kDouble));
  by_hand.add(std::make_unique<QuantizeWrapper>(std::make_unique<ReLU6>("six"), config));
  by_hand.build();
  calibrate(by_hand, random_tensor({4, 3}, 1));
  // Trained in floats, and shipped so: TFLite Micro's RELU6 of floats is no other.
  expect_same_codes(by_hand, large_inputs());
}

TEST(OwnRelu6, InFrontOfAMarkedLayerKeepsAGridWhereThereIsOne) {
  Sequential reads_codes("m", Input({3}), ReLU6("six"));
  reads_codes.add(quantize_annotate_layer(Dense(2, Activation::none, "back")));
  reads_codes.build();
  Sequential on_grid = quantize_apply(reads_codes, kDouble);
  EXPECT_EQ(wrapper_of(on_grid, "quant_six").activation_quantizer(), nullptr);
  calibrate(on_grid, large_inputs());
  EXPECT_EQ(lower(on_grid).operators[0].code, OpCode::relu6);

  Sequential reads_reals("m", Input({3}), Dense(3, Activation::relu, "float"), ReLU6("six"));
  reads_reals.add(quantize_annotate_layer(Dense(2, Activation::none, "back")));
  reads_reals.build();
  Sequential off_grid = quantize_apply(reads_reals, kDouble);
  EXPECT_NE(wrapper_of(off_grid, "quant_six").activation_quantizer(), nullptr);
  calibrate(off_grid, large_inputs());
  expect_same_codes(off_grid, large_inputs());
}

}  // namespace
}  // namespace octet::test::own_relu6_test
