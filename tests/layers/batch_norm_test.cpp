#include <octet/core/archive.h>
#include <octet/core/ops/ops.h>
#include <octet/layers/activation.h>
#include <octet/layers/add.h>
#include <octet/layers/architecture.h>
#include <octet/layers/batch_norm.h>
#include <octet/layers/layer_registry.h>
#include <octet/layers/lower.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/layers/quantize/quantize_wrapper.h>
#include <octet/tests/layers/layer_testing.h>

namespace octet::test::batch_norm_test {
namespace {

/// Mean 2 and -1, biased variance 1 and 9, over four examples.
Tensor batch() { return Tensor::from({4, 2}, {1, -4, 3, 2, 1, -4, 3, 2}); }

TEST(BatchNormLayer, TrainsOnTheBatchAndMovesItsStatistics) {
  const auto layer = built(BatchNorm({.momentum = 0.75F, .epsilon = 1e-6F}), {2});
  EXPECT_EQ(layer->output_shape(), (Shape{2}));
  expect_close(layer->forward(batch(), training()),
               Tensor::from({4, 2}, {-1, -1, 1, 1, -1, -1, 1, 1}));
  // A quarter of the way to 2, -1 and to the unbiased variances 4/3 and 12.
  expect_close(layer->moving_mean(), Tensor::from({2}, {0.5F, -0.25F}));
  expect_close(layer->moving_variance(), Tensor::from({2}, {1.0F + 1.0F / 12.0F, 3.75F}));
  layer->forward(batch(), training());
  expect_close(layer->moving_mean(), Tensor::from({2}, {0.875F, -0.4375F}));
}

TEST(BatchNormLayer, DefaultsAreThoseOfKeras) {
  const BatchNorm layer;
  EXPECT_EQ(layer.momentum(), 0.99F);
  EXPECT_EQ(layer.epsilon(), 1e-3F);
  const auto made = built(BatchNorm(), {3});
  expect_tensor(made->gamma(), {3}, {1, 1, 1});
  expect_tensor(made->beta(), {3}, {0, 0, 0});
  expect_tensor(made->moving_mean(), {3}, {0, 0, 0});
  expect_tensor(made->moving_variance(), {3}, {1, 1, 1});
}

TEST(BatchNormLayer, CountsThePixelsOfAllImages) {
  const auto layer = built(BatchNorm({.momentum = 0.0F}), {1, 2, 2});
  layer->forward(batch().reshape({2, 1, 2, 2}), training());
  expect_close(layer->moving_mean(), Tensor::from({2}, {2, -1}));
  expect_close(layer->moving_variance(), Tensor::from({2}, {4.0F / 3.0F, 12}));
}

TEST(BatchNormLayer, OneValuePerChannelHasTheVarianceZero) {
  const auto layer = built(BatchNorm({.momentum = 0.5F}), {2});
  expect_tensor(layer->forward(Tensor::from({1, 2}, {3, -5}), training()), {1, 2}, {0, 0});
  expect_tensor(layer->moving_variance(), {2}, {0.5F, 0.5F});
}

std::vector<std::vector<float>> values_of(const std::vector<NamedTensor>& tensors) {
  std::vector<std::vector<float>> values;
  for (const auto& [name, tensor] : tensors) values.push_back(test::values_of(tensor));
  return values;
}

/// Statistics 1 and 3 apart from 0, and variances whose sum with epsilon is a square.
std::unique_ptr<BatchNorm> trained() {
  auto layer = built(BatchNorm({.epsilon = 1.0F}), {2});
  fill(layer->gamma(), {4, 8});
  fill(layer->beta(), {-1, 100});
  fill(layer->moving_mean(), {1, 3});
  fill(layer->moving_variance(), {3, 15});
  return layer;
}

TEST(BatchNormLayer, InferenceAndCalibrationUseTheMovingStatisticsAndChangeNothing) {
  const auto layer = trained();
  const auto before = values_of(layer->state());
  for (const ForwardContext& context : {ForwardContext{}, calibration()}) {
    expect_tensor(layer->forward(Tensor::from({2, 2}, {5, -1, 1, 7}), context), {2, 2},
                  {7, 92, -1, 108});
    EXPECT_EQ(values_of(layer->state()), before);
  }
}

TEST(BatchNormLayer, FrozenItTrainsAsItInfers) {
  const auto layer = trained();
  const auto before = values_of(layer->state());
  layer->set_trainable(false);
  const Tensor x = leaf(Tensor::from({2, 2}, {5, -1, 1, 7}));
  Tensor y = layer->forward(x, training());
  expect_tensor(y, {2, 2}, {7, 92, -1, 108});
  EXPECT_EQ(values_of(layer->state()), before);
  // gamma / sqrt(variance + epsilon), as with constants.
  y.backward(Tensor::ones({2, 2}));
  expect_tensor(x.grad(), {2, 2}, {2, 2, 2, 2});
  layer->set_trainable(true);
  layer->forward(x, training());
  EXPECT_NE(values_of(layer->state()), before);
}

TEST(BatchNormLayer, StepsInBetweenDoNotChangeAGradient) {
  const auto layer = trained();
  const Tensor x = leaf(batch());
  const auto gradients = [&](bool step) {
    Tensor y = layer->forward(x, {});
    if (step) layer->forward(batch(), training());
    for (const Tensor& any : {x, layer->gamma()}) Tensor(any).zero_grad();
    y.backward(random_tensor({4, 2}, 1));
    return std::vector<std::vector<float>>{test::values_of(x.grad()),
                                           test::values_of(layer->gamma().grad())};
  };
  const auto expected = gradients(false);
  EXPECT_EQ(gradients(true), expected);
}

TEST(BatchNormLayer, Gradients) {
  const auto layer = built(BatchNorm({.epsilon = 0.1F}), {2, 3});
  for (const ForwardContext& context : {training(), ForwardContext{}}) {
    expect_gradient(
        [&](const std::vector<Tensor>& in) {
          // Calls move the statistics, which the next of them does not read.
          return layer->clone()->forward(in[0], context);
        },
        {random_tensor({4, 2, 3}, 1)});
  }
}

TEST(BatchNormLayer, AReluBehindItMayBeComputedWithItAndChangesNoBit) {
  // A layer that alone reads the BatchNorm, and one beside another reader.
  for (const bool alone : {true, false}) {
    const auto step = [alone](const Model::Visit& visit) {
      Model m("m");
      const Value x = m.input({5, 3});
      const Value normalized = m.add(BatchNorm(), x);
      const Value clamped = m.add(ReLU(), normalized);
      m.output(alone ? m.add(BatchNorm(), clamped)
                     : m.add(Add(Activation::none), {clamped, normalized}));
      m.build(0);
      const Tensor in = leaf(random_tensor({7, 5, 3}, 1));
      Tensor y = m.forward_all({&in, 1}, training(), visit).front();
      y.backward(random_tensor(y.shape(), 2));
      std::vector<std::vector<float>> found = {test::values_of(y), test::values_of(in.grad())};
      for (const auto& [name, tensor] : m.parameters()) {
        found.push_back(test::values_of(tensor.grad()));
      }
      for (const auto& [name, tensor] : m.state()) found.push_back(test::values_of(tensor));
      return found;
    };
    // A model that shows every layer's result computes one after the other.
    std::size_t seen = 0;
    EXPECT_EQ(step({}), step([&](std::size_t, const auto&) { ++seen; }));
    EXPECT_EQ(seen, 4U);
  }
}

TEST(BatchNormLayer, StatisticsAreStateAndTheRestParameters) {
  const auto layer = trained();
  EXPECT_EQ(names_of(layer->parameters()), (std::vector<std::string>{"gamma", "beta"}));
  EXPECT_EQ(names_of(layer->state()), (std::vector<std::string>{"moving_mean", "moving_variance"}));
}

Sequential model(std::uint64_t seed, BatchNormOptions options = {}) {
  Sequential result("m", Input({4}), Dense(3), BatchNorm(options), Dense(2));
  result.build(seed);
  return result;
}

TEST(BatchNormLayer, AFileHoldsItsStatistics) {
  Sequential source = model(1, {.momentum = 0.5F, .epsilon = 0.25F});
  source.forward(random_tensor({6, 4}, 1), training());
  Archive archive;
  for (const auto& [name, tensor] : source.saved_tensors()) archive.add(name, tensor);
  add_architecture(archive, source);
  Sequential loaded = model_from_archive(archive);
  EXPECT_EQ(architecture_json(loaded), architecture_json(source));
  const auto& layer = dynamic_cast<const BatchNorm&>(loaded.layer("batch_norm"));
  EXPECT_EQ(layer.momentum(), 0.5F);
  EXPECT_EQ(layer.epsilon(), 0.25F);
  EXPECT_EQ(values_of(loaded.saved_tensors()), values_of(source.saved_tensors()));
  // Both go on in the same way.
  for (Sequential* any : {&source, &loaded}) any->forward(random_tensor({6, 4}, 2), training());
  EXPECT_EQ(values_of(loaded.saved_tensors()), values_of(source.saved_tensors()));
  const Tensor x = random_tensor({3, 4}, 3);
  EXPECT_EQ(test::values_of(loaded.forward(x)), test::values_of(source.forward(x)));
}

TEST(BatchNormLayer, AFileWithoutItsTensorsAsksForNoMemory) {
  Sequential source("m", Input({4}), BatchNorm());
  source.build();
  std::string json = architecture_json(source);
  const std::string shape = "[4]";
  json.replace(json.find(shape), shape.size(), Shape{Index{1} << 40}.to_string());
  Archive archive;
  for (const auto& [name, tensor] : source.saved_tensors()) archive.add(name, tensor);
  archive.add_text("architecture", json);
  expect_throws<FormatError>([&] { static_cast<void>(model_from_archive(archive)); },
                             {"batch_norm", "larger than its file"});
}

TEST(BatchNormLayer, RefusesByName) {
  expect_error([] { BatchNorm({.momentum = 1.5F}); }, "expected a momentum between 0 and 1");
  expect_error([] { BatchNorm({.momentum = kNan}); }, "BatchNorm: expected a momentum");
  for (const float epsilon : {0.0F, -1.0F, kNan, kInf}) {
    expect_error([&] { BatchNorm({.epsilon = epsilon}); }, "BatchNorm: expected a finite epsilon");
  }
  for (const Shape& shape : {Shape{}, Shape{0}, Shape{4, 0}}) {
    expect_error([&] { built(BatchNorm({.name = "a"}), shape); },
                 "BatchNorm \"a\": expected examples whose last axis holds one channel or more");
  }
  const auto layer = built(BatchNorm({.name = "a"}), {2});
  expect_error(
      [&] {
        layer->forward(Tensor::zeros({0, 2}), training());
      },
      "BatchNorm \"a\": expected a batch of at least one example");
  EXPECT_EQ(layer->forward(Tensor::zeros({0, 2}), {}).shape(), (Shape{0, 2}));
  expect_error(
      [&] {
        layer->forward(Tensor::zeros({1, 3}), {});
      },
      "BatchNorm \"a\": expected input");
}

/// In a model that quantize_model() did not make.
TEST(BatchNormLayer, IsNotLoweredOnItsOwn) {
  Sequential alone("m", Input({4}), BatchNorm());
  alone.add(std::make_unique<QuantizeWrapper>(std::make_unique<Dense>(2), default_8bit()));
  alone.build();
  expect_error([&] { static_cast<void>(lower(alone)); },
               "lower: layer \"batch_norm\": expected a BatchNorm that is folded, as");
}

}  // namespace
}  // namespace octet::test::batch_norm_test
