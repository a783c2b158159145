#include <octet/core/archive.h>
#include <octet/core/ops/ops.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/layers/architecture.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/layers/quantize/quantize_wrapper.h>
#include <octet/layers/reshape.h>
#include <octet/tests/core/quant/contracts.h>
#include <octet/tests/layers/quantize/random_graphs.h>
#include <octet/tests/layers/quantize/same_as_shipped.h>

// The promise of Simulation::integer for networks that are no chains: what training computes is
// what the file computes, at every layer.

namespace octet::test::graph_equality_test {
namespace {

class GraphEquality : public ::testing::TestWithParam<Rounding> {};

TEST_P(GraphEquality, TrainingInterpreterAndFileOf200RandomGraphs) {
  expect_random_networks_ship<RandomGraph>(
      200, [](RandomGraph& graph) { return graph.options(GetParam()); });
}

INSTANTIATE_TEST_SUITE_P(Contracts, GraphEquality, ::testing::ValuesIn(kContracts), contract_name);

/// A concatenation of two Dense layers of very different ranges, and a sum with one of them.
Model joined(Activation first) {
  Model model("joined");
  const Value x = model.input({4}, "x");
  const Value a = model.add(Dense(3, first, "a"), x);
  const Value b = model.add(Dense(3, Activation::none, "b"), x);
  const Value both = model.add(Concatenate(-1, "both"), {a, b});
  model.output(model.add(Dense(2, Activation::none, "end"), both));
  model.build(1);
  for (float& v : Tensor(model.layer("b").weights()->kernel).mutable_span()) v *= 20.0F;
  return model;
}

TEST(QuantizedGraph, InputsOfAConcatenationShareOneGrid) {
  Model model = quantize_model(joined(Activation::none));
  calibrate(model, random_tensor({50, 4}, 1));
  const IntegerModel lowered = lower(model);
  const auto grid_of = [&](const std::string& name) {
    for (const ModelTensor& tensor : lowered.tensors) {
      if (tensor.name == name) return tensor.quantization;
    }
    ADD_FAILURE() << name;
    return QuantParams();
  };
  EXPECT_EQ(grid_of("a"), grid_of("b"));
  EXPECT_EQ(grid_of("a"), grid_of("both"));
  // A copy ties its own.
  Model copy = model;
  EXPECT_EQ(to_tflite(lower(copy)), to_tflite(lowered));
  calibrate(copy, random_tensor({50, 4}, 2, -9.0F, 9.0F));
  EXPECT_NE(to_tflite(lower(copy)), to_tflite(lowered));
  EXPECT_EQ(to_tflite(lower(model)), to_tflite(lowered));
}

/// x, Dropout(x) and Dropout(Dropout(x)) side by side.
Model dropped_and_joined() {
  Model model("m");
  const Value x = model.input({64}, "x");
  const Value once = model.add(Dropout(0.5F, "once"), x);
  const Value twice = model.add(Dropout(0.2F, "twice"), once);
  model.output(model.add(Concatenate(-1, "both"), {x, once, twice}));
  model.build();
  return model;
}

TEST(QuantizedGraph, WhatDropoutWidensIsNotClippedByAConcatenation) {
  for (const Simulation simulation : {Simulation::integer, Simulation::fake_quant}) {
    Model model = quantize_model(dropped_and_joined(), {.simulation = simulation});
    Tensor x = random_tensor({20, 64}, 1, -1.0F, 1.0F);
    calibrate(model, x);
    freeze_ranges(model, true);
    std::vector<std::vector<Tensor>> seen;
    x.set_requires_grad(true);
    Tensor y = model
                   .forward_all({&x, 1}, training(3),
                                [&](std::size_t /*layer*/, const std::vector<Tensor>& steps) {
                                  seen.push_back({steps.back().detach()});
                                })
                   .front();
    ASSERT_EQ(seen.size(), 5U);
    const Tensor parts[] = {seen[1][0], seen[2][0], seen[3][0]};
    const Tensor expected = concatenate({parts[0], parts[1], parts[2]}, 1);
    EXPECT_GT(*std::ranges::max_element(expected.span()), 2.4F);
    // Half a step of the widest grid, whose factor is 2 / 0.8.
    expect_close(y.detach(), expected, 2.5F * 2.0F / 255.0F * 0.51F);
    // A dropped value has no gradient; any other that of its factors: nothing was clipped.
    y.backward(Tensor::ones(y.shape()));
    for (Index i = 0; i < x.size(); ++i) {
      const float value = x.span()[static_cast<std::size_t>(i)];
      if (std::abs(value) < 0.1F || std::abs(value) > 0.98F) continue;
      const auto at = static_cast<std::size_t>(i);
      const float factor = 1.0F + (parts[1].span()[at] == 0.0F ? 0.0F : 2.0F) +
                           (parts[2].span()[at] == 0.0F ? 0.0F : 2.5F);
      ASSERT_NEAR(x.grad().span()[at], factor, 1e-5F) << i << ' ' << value;
    }
    // Inference is what is shipped: one grid.
    EXPECT_EQ(lower(model).operators.size(), 1U);
  }
}

TEST(QuantizedGraph, WhatDropoutWidensIsNotClippedBehindAClampThatDoesNotRescale) {
  for (const Simulation simulation : {Simulation::integer, Simulation::fake_quant}) {
    Model model("m");
    const Value x = model.input({64}, "x");
    const Value dropped = model.add(Dropout(0.5F, "half"), x);
    const Value clamped = model.add(ReLU6("clamp"), dropped);
    model.output(model.add(Concatenate(-1, "both"), {x, clamped}));
    model.build();
    Model quantized =
        quantize_model(model, {.simulation = simulation, .rounding = Rounding::double_rounding});
    const Tensor samples = random_tensor({20, 64}, 1, 0.0F, 1.0F);
    calibrate(quantized, samples);
    freeze_ranges(quantized, true);
    const Tensor y = quantized.forward(samples, training(3));
    EXPECT_GT(*std::ranges::max_element(y.span()), 1.9F) << to_string(simulation);
  }
}

TEST(QuantizedGraph, ALoadedConcatenationSharesItsScaleAtOnce) {
  Model model = quantize_model(joined(Activation::none));
  calibrate(model, random_tensor({50, 4}, 1));
  Archive archive;
  for (const auto& [name, tensor] : model.saved_tensors()) archive.add(name, tensor);
  archive.add_text("architecture", architecture_json(model));
  const Model loaded = model_from_archive(archive);
  EXPECT_TRUE(loaded.layer("quant_a").result_quantizer()->tied());
  EXPECT_EQ(loaded.layer("quant_a").result_quantizer()->params(),
            loaded.layer("quant_b").result_quantizer()->params());
}

TEST(QuantizedGraph, AConcatenationQuantizesAnewWhatHasAScaleOfItsOperator) {
  for (const Simulation simulation : {Simulation::integer, Simulation::fake_quant}) {
    for (const Activation function : {Activation::sigmoid, Activation::tanh, Activation::softmax}) {
      Model model("m");
      const Value x = model.input({4}, "x");
      const Value fixed = model.add(Dense(3, function, "fixed"), x);
      const Value flat = model.add(Flatten("flat"), fixed);
      const Value other = model.add(Dense(3, Activation::none, "other"), x);
      const Value both = model.add(Concatenate(-1, "both"), {flat, other, flat});
      model.output(model.add(Dense(2, Activation::none, "end"), both));
      // Another reader goes on with the scale of the function.
      model.output(model.add(ReLU("also"), flat));
      model.build(1);
      for (float& v : Tensor(model.layer("other").weights()->kernel).mutable_span()) v *= 20.0F;
      Model quantized = quantize_model(model, {.simulation = simulation});
      const Tensor samples = random_tensor({50, 4}, 1);
      quantized.forward_all({&samples, 1}, calibration());
      const IntegerModel lowered = lower(quantized);
      const auto scale_of = [&](const std::string& name) {
        for (const ModelTensor& tensor : lowered.tensors) {
          if (tensor.name == name) return tensor.quantization.scale();
        }
        ADD_FAILURE() << name;
        return 0.0F;
      };
      EXPECT_EQ(scale_of("fixed"), function == Activation::tanh ? 1.0F / 128 : 1.0F / 256);
      EXPECT_EQ(scale_of("both"), scale_of("other"));
      EXPECT_EQ(scale_of("both"), scale_of("quantize_layer_1"));
      // One QUANTIZE for both places, of integers.
      EXPECT_EQ(std::ranges::count(lowered.operators, OpCode::quantize, &Operator::code), 1);
      EXPECT_EQ(std::ranges::count(lowered.operators, OpCode::dequantize, &Operator::code), 0);
    }
  }
}

TEST(QuantizedGraph, AClampIsFusedWhereNobodyElseReadsWhatItClamps) {
  const auto layers_of = [](bool second_reader) {
    Model model("m");
    const Value x = model.input({4});
    const Value a = model.add(Dense(4, Activation::none, "a"), x);
    const Value relu = model.add(ReLU("clamp"), a);
    const Value sum = model.add(Add(Activation::none, "sum"), {relu, second_reader ? a : x});
    model.output(model.add(ReLU6("end"), sum));
    model.build();
    std::vector<std::string> names;
    Model quantized = quantize_model(model);
    for (const auto& layer : quantized.layers()) names.push_back(layer->name());
    return names;
  };
  EXPECT_EQ(layers_of(false),
            (std::vector<std::string>{"input_1", "quantize_layer", "quant_a", "quant_sum"}));
  EXPECT_EQ(layers_of(true), (std::vector<std::string>{"input_1", "quantize_layer", "quant_a",
                                                       "quant_clamp", "quant_sum"}));
}

TEST(QuantizedGraph, EachInputGetsAGridOfItsOwn) {
  Model model("m");
  const Value x = model.input({3}, "x");
  const Value y = model.input({3}, "y");
  model.output(model.add(Add(), {x, y}));
  model.build();
  Model quantized = quantize_model(model);
  const std::vector<Tensor> inputs = {random_tensor({9, 3}, 1, 0.0F, 1.0F),
                                      random_tensor({9, 3}, 2, -50.0F, 50.0F)};
  quantized.forward_all(inputs, calibration());
  const IntegerModel lowered = lower(quantized);
  ASSERT_EQ(lowered.inputs.size(), 2U);
  const auto scale = [&](std::size_t i) {
    return lowered.tensors[static_cast<std::size_t>(lowered.inputs[i])].quantization.scale();
  };
  EXPECT_NEAR(scale(0), 1.0F / 255, 1e-3F);
  EXPECT_NEAR(scale(1), 100.0F / 255, 0.05F);
}

TEST(QuantizedGraph, ASumOfZerosGetsAGridThatRuntimesTake) {
  Model model("m");
  const Value x = model.input({4}, "x");
  model.output(model.add(Add(Activation::relu, "sum"), {x, x}));
  model.build();
  Model quantized = quantize_model(model);
  calibrate(quantized, Tensor::from({1, 4}, {-1.0F, -2.0F, 0.0F, -0.5F}));
  const IntegerModel lowered = lower(quantized);
  const auto scale = [&](std::int32_t i) {
    return lowered.tensors[static_cast<std::size_t>(i)].quantization.scale();
  };
  EXPECT_EQ(scale(lowered.outputs[0]), scale(lowered.inputs[0]) / 128);
  expect_same_as_shipped(quantized, random_tensor({50, 4}, 1, -3, 3));
}

TEST(QuantizedGraph, ASumOfZerosAmongTheInputsOfAConcatenationOfZerosToo) {
  Model model("m");
  const Value x = model.input({4}, "x");
  const Value sum = model.add(Add(Activation::relu, "sum"), {x, x});
  model.output(model.add(Concatenate(-1, "both"), {sum, model.add(ReLU("zero"), x)}));
  model.build();
  for (const Rounding rounding : kContracts) {
    Model quantized = quantize_model(model, {.rounding = rounding});
    calibrate(quantized, Tensor::from({1, 4}, {-1.0F, -2.0F, 0.0F, -0.5F}));
    expect_same_as_shipped(quantized, random_tensor({50, 4}, 1, -3, 3));
  }
}

TEST(QuantizedGraph, ASumOfWhatIsQuantizedAndWhatIsNotIsComputedInFloats) {
  Model model("m");
  const Value x = model.input({4}, "x");
  const Value a = model.add(Dense(3, Activation::none, "a"), x);
  const Value b = model.add(Dense(3, Activation::none, "b"), x);
  model.output(model.add(Add(Activation::none, "sum"), {a, b}));
  model.build(1);
  const Tensor samples = random_tensor({9, 4}, 1);
  Model quantized = quantize_model(model);
  calibrate(quantized, samples);
  quantized.layer("quant_a").result_quantizer()->enable(false);
  const Tensor expected = model.forward(samples);
  const Tensor found = quantized.forward(samples);
  for (std::size_t i = 0; i < expected.span().size(); ++i) {
    EXPECT_NEAR(found.span()[i], expected.span()[i], 0.1F);
  }
}

TEST(QuantizedGraph, GradientsOfASumPassWhereNothingIsClamped) {
  Model model("m");
  const Value x = model.input({4}, "x");
  model.output(model.add(Add(Activation::relu, "sum"), {x, x}));
  model.build();
  Model quantized = quantize_model(model);
  calibrate(quantized, Tensor::from({1, 4}, {-1.0F, 0.0F, 0.5F, 1.0F}));
  freeze_ranges(quantized, true);
  Tensor leaf_x = Tensor::from({1, 4}, {-0.5F, 0.25F, 0.75F, 1.5F});
  leaf_x.set_requires_grad(true);
  quantized.forward(leaf_x).backward(Tensor::ones({1, 4}));
  expect_tensor(leaf_x.grad(), {1, 4}, {0, 2, 2, 0});
}

}  // namespace
}  // namespace octet::test::graph_equality_test
