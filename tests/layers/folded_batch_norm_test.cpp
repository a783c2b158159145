#include <octet/core/archive.h>
#include <octet/core/ops/batch_norm_internal.h>
#include <octet/core/ops/ops.h>
#include <octet/layers/activation.h>
#include <octet/layers/architecture.h>
#include <octet/layers/conv2d.h>
#include <octet/layers/folded_batch_norm.h>
#include <octet/layers/layer_registry.h>
#include <octet/layers/lower.h>
#include <octet/layers/reshape.h>
#include <octet/runtime/interpreter.h>
#include <octet/tests/layers/layer_testing.h>

namespace octet::test::folded_batch_norm_test {
namespace {

/// Parameters and statistics of no special values.
void randomize(Layer& layer) {
  std::uint64_t seed = 10;
  for (const auto& list : {layer.parameters(), layer.state()}) {
    for (const auto& [name, tensor] : list) {
      const bool variance = name == "moving_variance";
      fill(tensor, values_of(random_tensor(tensor.shape(), seed++, variance ? 0.2F : -1.5F, 1.5F)));
    }
  }
}

std::unique_ptr<FoldedBatchNorm> folded(std::unique_ptr<Layer> layer, BatchNormMode mode,
                                        const Shape& input) {
  auto result = std::make_unique<FoldedBatchNorm>(
      std::move(layer), std::make_unique<BatchNorm>(BatchNormOptions{.momentum = 0.75F}), mode);
  result->build(input, Random(1));
  randomize(*result);
  return result;
}

std::unique_ptr<FoldedBatchNorm> folded_dense(BatchNormMode mode, bool use_bias = true) {
  return folded(std::make_unique<Dense>(3, Activation::relu, DenseOptions{.use_bias = use_bias}),
                mode, {4});
}

std::unique_ptr<FoldedBatchNorm> folded_conv(BatchNormMode mode) {
  return folded(std::make_unique<Conv2D>(4, 2, Activation::relu,
                                         Conv2DLayerOptions{.padding = Padding::same}),
                mode, {3, 3, 2});
}

/// Computes the output by the two layers themselves, one behind the other.
Tensor by_layers(const FoldedBatchNorm& layer, const Tensor& x, const ForwardContext& context) {
  const LayerWeights own = *layer.unfolded().weights();
  const auto norm = layer.batch_norm().copy();
  return relu(norm->forward(layer.unfolded().linear(x, own.kernel, own.bias), context));
}

TEST(FoldedBatchNorm, InfersWhatTheLayersInferOneBehindTheOther) {
  for (const BatchNormMode mode : {BatchNormMode::folded, BatchNormMode::statistics}) {
    const Tensor x = random_tensor({5, 4}, 1);
    const auto dense = folded_dense(mode);
    expect_close(dense->forward(x, {}), by_layers(*dense, x, {}), 1e-5F);
    const Tensor images = random_tensor({5, 3, 3, 2}, 1);
    const auto conv = folded_conv(mode);
    expect_close(conv->forward(images, {}), by_layers(*conv, images, {}), 1e-5F);
  }
}

TEST(FoldedBatchNorm, FoldedItTrainsAsItInfersAndKeepsItsStatistics) {
  const auto layer = folded_dense(BatchNormMode::folded);
  EXPECT_TRUE(layer->frozen());
  const auto before = values_of(layer->batch_norm().moving_mean());
  Tensor y = layer->forward(random_tensor({5, 4}, 1), training());
  EXPECT_EQ(values_of(y), values_of(layer->forward(random_tensor({5, 4}, 1), {})));
  EXPECT_EQ(values_of(layer->batch_norm().moving_mean()), before);
  y.backward(Tensor::ones(y.shape()));
  for (const auto& [name, tensor] : layer->parameters()) {
    EXPECT_TRUE(tensor.grad().defined()) << name;
  }
}

TEST(FoldedBatchNorm, OnStatisticsItTrainsAsTheLayersUntilItIsFrozen) {
  for (const bool use_bias : {true, false}) {
    const auto layer = folded_dense(BatchNormMode::statistics, use_bias);
    const auto norm = layer->batch_norm().copy();
    const Tensor x = random_tensor({5, 4}, 1);
    const Tensor expected = by_layers(*layer, x, training());
    expect_close(layer->forward(x, training()), expected, 1e-5F);
    const LayerWeights own = *layer->unfolded().weights();
    norm->forward(layer->unfolded().linear(x, own.kernel, own.bias), training());
    expect_close(layer->batch_norm().moving_mean(), norm->moving_mean());
    expect_close(layer->batch_norm().moving_variance(), norm->moving_variance());
    EXPECT_NE(values_of(layer->forward(x, training())), values_of(layer->forward(x, {})));
    layer->freeze();
    EXPECT_EQ(values_of(layer->forward(x, training())), values_of(layer->forward(x, {})));
  }
}

TEST(FoldedBatchNorm, ABatchMovesTheStatisticsAsTheLayersDo) {
  for (const bool use_bias : {true, false}) {
    const auto layer = folded_dense(BatchNormMode::statistics, use_bias);
    const auto norm = layer->batch_norm().copy();
    const Tensor x = random_tensor({5, 4}, 1);
    const LayerWeights own = *layer->unfolded().weights();
    const Tensor y = layer->unfolded().linear(x, own.kernel, own.bias);
    const Tensor expected = norm->forward(y, training());
    const auto [weights, multipliers] = layer->batch_weights();
    EXPECT_EQ(values_of(weights.kernel), values_of(layer->weights()->kernel));
    const Tensor z = layer->linear(x, weights.kernel, {});
    const auto norm_of_z = layer->normalize_batch(z, multipliers, FusedActivation::none);
    expect_close(norm_of_z.result(), expected, 1e-5F);
    expect_close(layer->batch_norm().moving_mean(), norm->moving_mean());
    expect_close(layer->batch_norm().moving_variance(), norm->moving_variance());
  }
}

TEST(FoldedBatchNorm, ABatchTrainsChannelsWhoseGammaIsZero) {
  const auto layer = folded_dense(BatchNormMode::statistics);
  fill(tensor_named(layer->parameters(), "gamma"), {0.0F, -0.0F, 1e-30F});
  const auto norm = layer->batch_norm().copy();
  const Tensor x = random_tensor({5, 4}, 1);
  const Tensor upstream = random_tensor({5, 3}, 2);
  const auto [weights, multipliers] = layer->batch_weights();
  const Tensor z = layer->linear(x, weights.kernel, {});
  Tensor y = layer->normalize_batch(z, multipliers, FusedActivation::none).result();
  y.backward(upstream);
  const LayerWeights own = *layer->unfolded().weights();
  Tensor expected = norm->forward(layer->unfolded().linear(x, own.kernel, own.bias), training());
  expected.backward(upstream);
  expect_close(y, expected, 1e-5F);
  EXPECT_GT(std::fabs(norm->gamma().grad().data()[0]), 0.01F);
  expect_close(layer->batch_norm().gamma().grad(), norm->gamma().grad(), 1e-4F);
}

TEST(FoldedBatchNorm, SetTrainableKeepsTheStatisticsToo) {
  const auto layer = folded_dense(BatchNormMode::statistics);
  layer->set_trainable(false);
  const auto before = values_of(layer->batch_norm().moving_mean());
  const Tensor x = random_tensor({5, 4}, 1);
  EXPECT_EQ(values_of(layer->forward(x, training())), values_of(layer->forward(x, {})));
  EXPECT_EQ(values_of(layer->batch_norm().moving_mean()), before);
}

TEST(FoldedBatchNorm, EachPartIsFrozenByItself) {
  for (const BatchNormMode mode : {BatchNormMode::folded, BatchNormMode::statistics}) {
    for (const bool freeze_norm : {true, false}) {
      const auto layer = folded_dense(mode);
      const std::vector<Layer*> parts = layer->tensors().parts;
      ASSERT_EQ(parts.size(), 2U);
      parts[freeze_norm ? 0 : 1]->set_trainable(false);
      EXPECT_FALSE(layer->trainable());
      const auto before = values_of(layer->batch_norm().moving_mean());
      Tensor y = layer->forward(random_tensor({5, 4}, 1), training());
      const bool moves = mode == BatchNormMode::statistics && !freeze_norm;
      EXPECT_EQ(values_of(layer->batch_norm().moving_mean()) != before, moves);
      EXPECT_EQ(layer->frozen(), !moves);
      y.backward(Tensor::ones(y.shape()));
      for (const auto& [name, tensor] : layer->parameters()) {
        const bool of_norm = name == "gamma" || name == "beta";
        EXPECT_EQ(tensor.grad().defined(), of_norm != freeze_norm) << name;
      }
    }
  }
}

TEST(FoldedBatchNorm, Gradients) {
  for (const BatchNormMode mode : {BatchNormMode::folded, BatchNormMode::statistics}) {
    const auto layer = folded(std::make_unique<Conv2D>(2, 2), mode, {3, 3, 2});
    expect_gradient(
        [&](const std::vector<Tensor>& in) { return layer->clone()->forward(in[0], training()); },
        {random_tensor({3, 3, 3, 2}, 1)});
  }
}

TEST(FoldedBatchNorm, NamesItsTensors) {
  const auto layer = folded_dense(BatchNormMode::folded);
  EXPECT_EQ(names_of(layer->parameters()),
            (std::vector<std::string>{"kernel", "bias", "gamma", "beta"}));
  EXPECT_EQ(names_of(layer->state()), (std::vector<std::string>{"moving_mean", "moving_variance"}));
  EXPECT_EQ(names_of(layer->counters()), (std::vector<std::string>{"batch_norm_frozen"}));
}

TEST(FoldedBatchNorm, ACopySharesNothingAndEndsInAClampOfItsOwn) {
  const auto layer = folded(std::make_unique<Dense>(3), BatchNormMode::statistics, {4});
  const auto copy = layer->clone();
  layer->freeze();
  EXPECT_FALSE(folded_batch_norm(*copy)->frozen());
  const Tensor x = random_tensor({5, 4}, 1);
  copy->end_in(Activation::relu);
  EXPECT_FALSE(copy->can_end_in(Activation::relu));
  EXPECT_EQ(folded_batch_norm(*copy)->unfolded().activation(), Activation::relu);
  EXPECT_EQ(values_of(copy->forward(x, {})), values_of(relu(layer->forward(x, {}))));
  fill(tensor_named(layer->parameters(), "gamma"), {1, 2, 3});
  EXPECT_NE(values_of(copy->forward(x, {})), values_of(relu(layer->forward(x, {}))));
}

Sequential model(BatchNormMode mode) {
  Sequential result("m", Input({3, 3, 2}));
  result.add(*folded_conv(mode)).add(Flatten()).add(Dense(2));
  result.build(3);
  randomize(result.layer("folded_batch_norm"));
  return result;
}

TEST(FoldedBatchNorm, AFileHoldsItsModeAndWhetherItIsFrozen) {
  for (const bool freeze : {false, true}) {
    const Sequential source = model(BatchNormMode::statistics);
    if (freeze) folded_batch_norm(source.layer("folded_batch_norm"))->freeze();
    Archive archive;
    for (const auto& [name, tensor] : source.saved_tensors()) archive.add(name, tensor);
    add_architecture(archive, source);
    const Model loaded = model_from_archive(archive);
    EXPECT_EQ(architecture_json(loaded), architecture_json(source));
    const auto* layer = folded_batch_norm(loaded.layer("folded_batch_norm"));
    ASSERT_NE(layer, nullptr);
    EXPECT_EQ(layer->mode(), BatchNormMode::statistics);
    EXPECT_EQ(layer->frozen(), freeze);
    EXPECT_EQ(layer->batch_norm().momentum(), 0.75F);
    const Tensor x = random_tensor({2, 3, 3, 2}, 1);
    EXPECT_EQ(values_of(loaded.forward(x)), values_of(source.forward(x)));
  }
}

TEST(FoldedBatchNorm, BuiltAnewItIsAsItWasMade) {
  Sequential again = model(BatchNormMode::statistics);
  folded_batch_norm(again.layer("folded_batch_norm"))->freeze();
  again.build(3);
  EXPECT_FALSE(folded_batch_norm(again.layer("folded_batch_norm"))->frozen());
  const auto& norm = folded_batch_norm(again.layer("folded_batch_norm"))->batch_norm();
  EXPECT_EQ(values_of(norm.moving_mean()), std::vector<float>(4));
}

TEST(FoldedBatchNorm, IsLoweredInFloatToTheBitsOfItsInference) {
  const Sequential source = model(BatchNormMode::folded);
  Interpreter interpreter(lower_float(source));
  const Tensor x = random_tensor({1, 3, 3, 2}, 1);
  EXPECT_EQ(interpreter.run(x.span()), values_of(source.forward(x)));
}

TEST(FoldedBatchNorm, RefusesByName) {
  const auto norm = [] { return std::make_unique<BatchNorm>(); };
  expect_error([&] { FoldedBatchNorm(nullptr, norm()); },
               "FoldedBatchNorm: expected a layer and a BatchNorm, found null");
  expect_error([&] { FoldedBatchNorm(std::make_unique<Dense>(3), nullptr); }, "found null");
  expect_error([&] { FoldedBatchNorm(std::make_unique<Flatten>("f"), norm()); },
               "FoldedBatchNorm \"f\": expected a layer with a kernel, found Flatten without");
  expect_error([&] { FoldedBatchNorm(folded_dense(BatchNormMode::folded), norm()); },
               "expected a float layer without batch normalization, found one of type "
               "FoldedBatchNorm that has it");
  const auto layer = folded_dense(BatchNormMode::statistics);
  expect_error(
      [&] {
        layer->normalize_batch(Tensor::zeros({0, 3}), Tensor::ones({3}), FusedActivation::none);
      },
      "expected a batch of at least one example");
  expect_throws<FormatError>([] { static_cast<void>(parse_batch_norm_mode("both")); },
                             {"\"folded\"", "\"both\""});
  Description description = describe_layer(*layer);
  description.set("batch_norm", describe_layer(Dense(2, Activation::none, "d")));
  expect_throws<FormatError>([&] { static_cast<void>(make_layer(description)); },
                             {"expected a BatchNorm", "Dense"});
}

}  // namespace
}  // namespace octet::test::folded_batch_norm_test
