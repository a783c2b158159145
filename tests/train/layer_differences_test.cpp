#include <octet/core/error.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/layers/lower.h>
#include <octet/tests/core/thrown.h>
#include <octet/tests/train/training.h>
#include <octet/train/data/digits.h>
#include <octet/train/data/idx.h>
#include <octet/train/layer_differences.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace octet::test::layer_differences_test {
namespace {

/// More rows than are run at once, and no multiple of a pass.
constexpr std::size_t kRows = 1103;

Sequential quantized(const Model& model, const Dataset& data, QuantizeOptions options = {}) {
  Sequential result = quantize_model(model, options);
  calibrate(result, data.features(0, 50));
  refresh_kernel_ranges(result);
  return result;
}

std::vector<std::string> names_of(const NetworkDifference& difference) {
  std::vector<std::string> names;
  for (const LayerDifference& layer : difference.layers) names.push_back(layer.name);
  return names;
}

TEST(LayerDifferences, NoneBetweenAModelAndItsIntegers) {
  const Dataset data = clouds(kRows, 1, 6, 3, 0.8F);
  const Sequential model = quantized(small_mlp(), data);
  const NetworkDifference result = compare_networks(model, lower(model), data);
  EXPECT_EQ(names_of(result),
            (std::vector<std::string>{"input_1", "dense", "dense_1/linear", "dense_1"}));
  EXPECT_EQ(result.samples, kRows);
  EXPECT_EQ(result.differing_predictions, 0U);
  const std::size_t sizes[] = {6, 8, 3, 3};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(result.layers[i].compared, kRows * sizes[i]);
    EXPECT_EQ(result.layers[i].differing, 0U);
  }
  EXPECT_EQ(result.total().compared, kRows * 20);
  EXPECT_EQ(result.total().share(), 0.0);
}

TEST(LayerDifferences, WhateverTheEndsOfTheFileAre) {
  const Dataset data = clouds(60, 1, 6, 3, 0.8F);
  const Sequential model = quantized(small_mlp(), data);
  for (const IoType type : {IoType::float32, IoType::uint8}) {
    const NetworkDifference result =
        compare_networks(model, lower(model, {.input = type, .output = type}), data);
    EXPECT_EQ(result.layers.size(), 4U);
    EXPECT_EQ(result.total().compared, 60U * 20);
    EXPECT_EQ(result.total().differing, 0U);
  }
}

/// Adds `change` to a weight of the Dense in float that ends the model, before its softmax.
void change_weight_in_float(IntegerModel& model, float change) {
  const Operator& dense = model.operators[model.operators.size() - 2];
  ASSERT_EQ(dense.code, OpCode::fully_connected);
  std::uint8_t* kernel = model.tensors[static_cast<std::size_t>(dense.inputs[1])].data.data();
  float weight = 0.0F;
  std::memcpy(&weight, kernel, sizeof(weight));
  weight += change;
  std::memcpy(kernel, &weight, sizeof(weight));
}

TEST(LayerDifferences, AnOutputInFloatIsComparedBitByBit) {
  const Dataset data = clouds(kRows, 1, 6, 3, 0.8F);
  Sequential net("m", Input({6}), Dense(8, Activation::relu, "codes"),
                 in_float(Dense(3, Activation::softmax, "end")));
  net.build();
  const Sequential model = quantized(net, data);
  IntegerModel shipped = lower(model);
  const NetworkDifference same = compare_networks(model, shipped, data);
  EXPECT_EQ(names_of(same), (std::vector<std::string>{"input_1", "codes", "end"}));
  EXPECT_EQ(same.layers.back().compared, kRows * 3);
  EXPECT_EQ(same.total().differing, 0U);
  EXPECT_EQ(same.differing_predictions, 0U);

  // One weight in float, and no code, is another one.
  change_weight_in_float(shipped, 5.0F);
  const NetworkDifference other = compare_networks(model, shipped, data);
  EXPECT_EQ(other.total().differing, other.layers.back().differing);
  EXPECT_GT(other.layers.back().differing, kRows / 2);
  EXPECT_GT(other.layers.back().largest_in_float, 0.1F);
  EXPECT_LE(other.layers.back().largest_in_float, 1.0F);
  EXPECT_EQ(other.total().largest, 0);
  EXPECT_GT(other.differing_predictions, 0U);
  const Evaluation trained = evaluate(model, data);
  EXPECT_EQ(other.differing_predictions, count_differing(trained, evaluate(shipped, data)));

  SimulatedCodes a(model);
  InterpretedCodes b(shipped);
  const NetworkDifference outputs = compare_networks(a, b, data, Compare::outputs);
  EXPECT_EQ(names_of(outputs), std::vector<std::string>{"end"});
  EXPECT_EQ(outputs.total().differing, other.total().differing);
  InterpretedCodes c(lower(quantized(small_mlp(), data)));
  for (const Compare what : {Compare::layers, Compare::outputs}) {
    expect_throws<InvalidArgument>([&] { compare_networks(c, b, data, what); },
                                   {"layers in float, \"end\"", "the other is integers"});
  }
}

// One weight code one step off in a layer of one: every count can be said beforehand.
TEST(LayerDifferences, CountsWhatDiffers) {
  Sequential net("m", Input({1}), Dense(2, Activation::none, "d"));
  net.build();
  std::ranges::fill(Tensor(net.parameters()[0].tensor).mutable_span(), 1.0F);
  const Dataset data =
      Dataset::from_floats("line", {1}, {-128.0F, -2.0F, 0.0F, 1.0F, 127.0F}, {0, 0, 0, 0, 0}, 2);
  Sequential model = quantize_model(net);
  calibrate(model, data.features(0, 5));
  IntegerModel shipped = lower(model);
  for (ModelTensor& tensor : shipped.tensors) {
    // Unit 1 computes half of what it should.
    if (tensor.name == "d/kernel") tensor.data = {127, 64};
  }
  const NetworkDifference result = compare_networks(model, shipped, data);
  EXPECT_EQ(result.layers[0].differing, 0U);
  const LayerDifference& layer = result.layers[1];
  EXPECT_EQ(layer.compared, 10U);
  // -128 -> -65 (rounded), -2 -> -1, 0 and 1 stay (0.504 rounds up), 127 -> 64.
  EXPECT_EQ(layer.differing, 3U);
  EXPECT_EQ(layer.largest, 63);
  EXPECT_EQ(layer.sum, 63U + 1U + 63U);
  EXPECT_DOUBLE_EQ(layer.share(), 0.3);
  EXPECT_DOUBLE_EQ(layer.mean(), 12.7);
  // Where both are equal the first is the prediction; for the negative ones now the second is.
  EXPECT_EQ(result.differing_predictions, 2U);
}

TEST(LayerDifferences, AnotherContractDiffers) {
  const Dataset data = clouds(kRows, 1, 40, 3, 0.8F);
  const Sequential model = quantized(small_mlp(0, 40, 64), data);
  InterpretedCodes a(lower(model));
  InterpretedCodes b(lower(model), {.rounding = Rounding::double_rounding});
  const NetworkDifference result = compare_networks(a, b, data);
  EXPECT_GT(result.layers[1].differing, 0U);
  EXPECT_LT(result.layers[1].share(), 0.01);
  EXPECT_EQ(result.layers[1].largest, 1);
}

TEST(LayerDifferences, FakeQuantIsCloseNotEqual) {
  const Dataset data = clouds(kRows, 1, 40, 3, 0.8F);
  const Sequential net = small_mlp(0, 40, 64);
  // Integers round a bias to a code, which the float composition does not.
  for (float& b : Tensor(net.layer("dense").parameters()[1].tensor).mutable_span()) b = 0.0123F;
  const Sequential model = quantized(net, data, {.simulation = Simulation::fake_quant});
  const NetworkDifference result = compare_networks(model, lower(model), data);
  EXPECT_GT(result.total().differing, 0U);
  EXPECT_LT(result.layers[1].share(), 0.05);
}

TEST(LayerDifferences, ModelsThatDoNotMatchAreRefused) {
  const Dataset data = clouds(50, 1, 6, 3);
  const Sequential model = quantized(small_mlp(), data);
  const Sequential wider = quantized(small_mlp(0, 6, 9), data);
  InterpretedCodes a(lower(model));
  InterpretedCodes b(lower(wider));
  expect_throws<InvalidArgument>([&] { compare_networks(a, b, data); },
                                 {"layer 1", "\"dense\" of 8", "of 9"});
  // Their outputs can be compared all the same.
  const NetworkDifference outputs = compare_networks(a, b, data, Compare::outputs);
  EXPECT_EQ(names_of(outputs), std::vector<std::string>{"dense_1"});
  EXPECT_EQ(outputs.total().compared, 150U);

  Sequential deep("deep", Input({6}), Dense(8), Dense(8), Dense(3, Activation::softmax));
  deep.build();
  InterpretedCodes c(lower(quantized(deep, data)));
  expect_throws<InvalidArgument>([&] { compare_networks(a, c, data); }, {"4 and 5 layers"});
  InterpretedCodes d(lower(quantized(small_mlp(0, 6, 8, 4), data)));
  expect_throws<InvalidArgument>([&] { compare_networks(a, d, data, Compare::outputs); },
                                 {"output has 3 quantized values", "4"});
  expect_throws<InvalidArgument>([&] { compare_networks(a, b, clouds(5, 1, 7)); }, {"layer"});
  expect_throws<InvalidArgument>([&] { a.run(clouds(5, 1, 7).features(0, 5)); },
                                 {"samples of 6 values", "[5, 7]"});
  expect_throws<InvalidArgument>([&] { InterpretedCodes codes(lower_float(small_mlp())); },
                                 {"found none in model", "is this a float model?"});
}

TEST(LayerDifferences, NoSamplesNoDifferences) {
  const Dataset data = clouds(50);
  const Sequential model = quantized(small_mlp(), data);
  const NetworkDifference result = compare_networks(model, lower(model), data.head(0));
  EXPECT_EQ(result.total().compared, 0U);
  EXPECT_EQ(result.total().share(), 0.0);
}

/// The shape of the default example's model on `data`, trained for one short epoch.
void expect_none_after_training(const DataSplit& data) {
  Sequential net("mnist", Input({data.train.example_shape().size()}), Dense(256, Activation::relu),
                 Dense(128, Activation::relu), Dense(10, Activation::softmax));
  net.build(0);
  Sequential model = quantize_model(net);
  Trainer trainer(model, Adam());
  trainer.fit(data.train.head(2000), 1);
  const IntegerModel shipped = from_tflite(to_tflite(trainer.lower()));
  const NetworkDifference result = compare_networks(model, shipped, data.test);
  const std::uint64_t sizes[] = {784, 256, 128, 10, 10};
  ASSERT_EQ(result.layers.size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(result.layers[i].compared, data.test.size() * sizes[i]);
    EXPECT_EQ(result.layers[i].differing, 0U) << result.layers[i].name;
  }
  EXPECT_EQ(result.differing_predictions, 0U);
}

TEST(LayerDifferences, NoneOnDrawnDigits) { expect_none_after_training(make_digits(0, 2000, 700)); }

TEST(LayerDifferences, NoneOnMnist) {
  const char* folder = std::getenv("OCTET_MNIST_DIR");
  if (folder == nullptr || *folder == '\0') GTEST_SKIP() << "OCTET_MNIST_DIR is not set";
  const DataSplit data = load_idx(folder);
  ASSERT_EQ(data.test.size(), 10000U);
  expect_none_after_training(data);
}

}  // namespace
}  // namespace octet::test::layer_differences_test
