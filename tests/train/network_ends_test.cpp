// Losses and accuracies of networks by how they end: softmax, sigmoid, one logit, classes of
// pixels.

#include <octet/core/error.h>
#include <octet/core/ops/activation.h>
#include <octet/core/ops/elementwise.h>
#include <octet/core/ops/reduce.h>
#include <octet/layers/activation.h>
#include <octet/layers/conv2d.h>
#include <octet/layers/folded_batch_norm.h>
#include <octet/layers/graph.h>
#include <octet/layers/lower.h>
#include <octet/tests/train/training.h>

#include <utility>

namespace octet::test::network_ends_test {
namespace {

/// Three clouds, of which the first is class 0 where there are two classes.
Dataset examples(std::size_t count, int classes = 2) {
  const Dataset data = clouds(count);
  Labels labels(data.labels().begin(), data.labels().end());
  for (std::int32_t& label : labels) label = std::min(label, classes - 1);
  const Tensor x = data.features(0, count);
  return Dataset::from_floats("ends", {6}, {x.span().begin(), x.span().end()}, labels, classes);
}

Sequential net(Index outputs, Activation last) {
  Sequential model("net", Input({6}), Dense(8, Activation::relu), Dense(outputs, last));
  model.build(1);
  return model;
}

/// Where a network of one layer has a sigmoid.
enum class Sigmoid { none, of_layer, alone };
Sequential ending(Sigmoid sigmoid) {
  const bool inside = sigmoid == Sigmoid::of_layer;
  Sequential model("net", Input({6}), Dense(1, inside ? Activation::sigmoid : Activation::none));
  if (sigmoid == Sigmoid::alone) model.add(ActivationLayer(Activation::sigmoid));
  model.build(1);
  return model;
}

TEST(NetworkEnds, BinaryCrossEntropyLooksThroughASigmoid) {
  const Dataset data = examples(60);
  const TrainerOptions options{.loss = binary_cross_entropy(), .test_loss = true, .batch_size = 16};
  for (const bool quantized : {false, true}) {
    for (const Simulation simulation : {Simulation::integer, Simulation::fake_quant}) {
      std::vector<std::vector<float>> kernels;
      std::vector<double> losses;
      for (const Sigmoid sigmoid : {Sigmoid::none, Sigmoid::of_layer, Sigmoid::alone}) {
        Model model = ending(sigmoid);
        if (quantized) model = quantize_model(model, {.simulation = simulation});
        Trainer trainer(model, Adam(0.05F), options);
        const EpochRecord record = trainer.fit(data, data, 10).back();
        losses.push_back(*find_metric(record, "test_loss"));
        EXPECT_GT(*record.test_accuracy, 0.8);
        const Tensor kernel = model.parameters()[0].tensor;
        kernels.emplace_back(kernel.span().begin(), kernel.span().end());
        if (!quantized || simulation == Simulation::fake_quant) continue;
        EXPECT_EQ(record.differing_predictions, 0U);
        const std::vector<Metric> metrics = {loss_metric("loss", binary_cross_entropy())};
        EXPECT_EQ(measure(trainer.lower(), data, metrics)[0].value, losses.back());
      }
      EXPECT_EQ(kernels[1], kernels[0]);
      EXPECT_EQ(kernels[2], kernels[0]);
      EXPECT_EQ(losses, std::vector<double>(3, losses[0]));
    }
  }
}

TEST(NetworkEnds, ABatchNormInFrontOfASigmoidIsTrained) {
  const Dataset data = examples(60);
  Sequential source("net", Input({6}),
                    FoldedBatchNorm(std::make_unique<Dense>(1, Activation::sigmoid),
                                    std::make_unique<BatchNorm>()));
  source.build(1);
  for (const bool quantized : {false, true}) {
    Model model = quantized ? quantize_model(source) : Model(source);
    Trainer trainer(model, Adam(0.05F), {.loss = binary_cross_entropy(), .batch_size = 16});
    const EpochRecord record = trainer.fit(data, data, 10).back();
    EXPECT_GT(*record.test_accuracy, 0.8);
    EXPECT_LT(record.train_loss, 0.5);
  }
}

TEST(NetworkEnds, AnOutputThatOthersReadHasNoLogits) {
  Model model("m");
  const Value shares = model.add(Dense(1, Activation::sigmoid, "shares"), model.input({6}));
  model.output(shares);
  model.output(model.add(Dense(2), shares));
  model.build(0);
  const std::string message =
      message_of<InvalidArgument>([&] { require_output_for(binary_cross_entropy(), model); });
  expect_mentions(message, "layer \"shares\"");
}

TEST(NetworkEnds, LossesForLabelsGoWithThem) {
  const Tensor x = examples(5).features(0, 5);
  const Labels two = {0, 1, 1, 0, 1};
  const Labels three = {0, 1, 2, 0, 2};
  const auto same = [&](const Sequential& source, const Labels& labels, const Loss& expected,
                        const Targets& targets) {
    for (const bool quantized : {false, true}) {
      Model model = quantized ? quantize_model(source) : Model(source);
      if (quantized) calibrate(model, x);
      const Tensor output = model.forward_logits(x);
      EXPECT_EQ(classification_loss(model)(output, labels).item(), expected(output, targets).item())
          << quantized;
    }
  };
  same(net(3, Activation::softmax), three, sparse_categorical_cross_entropy(), three);
  same(net(3, Activation::none), three, sparse_categorical_cross_entropy(), three);
  same(net(1, Activation::none), two, binary_cross_entropy(), two);
  same(net(1, Activation::sigmoid), two, binary_cross_entropy(), two);
  same(net(3, Activation::sigmoid), three, binary_cross_entropy(), one_hot(three, 3));
  Sequential one = net(1, Activation::none);
  expect_mentions(message_of<InvalidArgument>([&] { Trainer(one, Adam()).fit(examples(9), 1); }),
                  "one output for two classes is for binary cross-entropy");
}

TEST(NetworkEnds, LossesForTensorsGoWithThem) {
  const Tensor x = examples(5).features(0, 5);
  const Tensor shares = one_hot(Labels{0, 1, 2, 0, 2}, 3);
  for (const auto& [end, expected] : {std::pair{Activation::softmax, categorical_cross_entropy()},
                                      std::pair{Activation::sigmoid, binary_cross_entropy()},
                                      std::pair{Activation::none, mean_squared_error()},
                                      std::pair{Activation::relu, mean_squared_error()}}) {
    const Sequential source = net(3, end);
    Model quantized = quantize_model(source);
    calibrate(quantized, x);
    for (const Model& model : {Model(source), quantized}) {
      const Tensor output = model.forward_logits(x);
      EXPECT_EQ(tensor_loss(model)(output, shares).item(), expected(output, shares).item());
    }
  }
}

TEST(NetworkEnds, LossesHaveTheNamesOfTheirFunctions) {
  const Tensor y = examples(5).features(0, 5);
  const Tensor shares = one_hot(Labels{0, 1, 2, 0, 2}, y.dim(-1));
  for (const auto& [name, loss] :
       {std::pair{"categorical_cross_entropy", categorical_cross_entropy()},
        std::pair{"binary_cross_entropy", binary_cross_entropy()},
        std::pair{"mean_squared_error", mean_squared_error()},
        std::pair{"mean_absolute_error", mean_absolute_error()},
        std::pair{"cosine_distance", cosine_distance()}}) {
    EXPECT_EQ(parse_loss(name)(y, shares).item(), loss(y, shares).item()) << name;
  }
  const Labels labels = {0, 1, 2, 0, 2};
  EXPECT_EQ(parse_loss("sparse_categorical_cross_entropy")(y, labels).item(),
            sparse_categorical_cross_entropy()(y, labels).item());
  EXPECT_EQ(parse_loss("one_hot_mean_squared_error")(y, labels).item(),
            one_hot_mean_squared_error()(y, labels).item());
  expect_mentions(message_of<InvalidArgument>([] { static_cast<void>(parse_loss("hinge")); }),
                  "expected one of sparse_categorical_cross_entropy, ");
}

/// Ends in a sigmoid without the context that asks for its logits.
class ForgetsItsContext : public Dense {
 public:
  using Dense::Dense;
  std::vector<GraphValue> emit(Graph& graph, std::span<const GraphValue> inputs) const override {
    return {graph.call(inputs)};
  }
  Tensor forward_all(std::span<const Tensor> inputs, const ForwardContext& /*context*/) override {
    return sigmoid(linear(inputs[0], kernel(), bias()));
  }
  std::unique_ptr<Layer> clone() const override {
    return std::make_unique<ForgetsItsContext>(*this);
  }
};

TEST(NetworkEnds, ASigmoidThatLostItsLogitsIsRefusedByBinaryCrossEntropyAlone) {
  for (const int units : {1, 3}) {
    Sequential model("m", Input({6}), ForgetsItsContext(units, Activation::sigmoid, "forgets"));
    model.build(0);
    const Loss loss = classification_loss(model);
    const auto fit = [&](Loss with) {
      Trainer(model, Adam(), {.loss = std::move(with)}).fit(examples(9), 1);
    };
    expect_mentions(message_of<InvalidArgument>([&] { fit(loss); }),
                    "expected the sigmoid of layer \"forgets\" with the logits that it read");
    EXPECT_NO_THROW(fit([](const Tensor& output, const Targets&) { return mean(output); }));
  }
}

/// Quantizes the results of layers without a kernel too.
class QuantizesResults : public Default8BitQuantizeConfig {
 public:
  using Default8BitQuantizeConfig::Default8BitQuantizeConfig;
  std::unique_ptr<Quantizer> output_quantizer(const Layer& /*layer*/) const override {
    return default_activation_quantizer(options());
  }
};

TEST(NetworkEnds, ASigmoidWhoseResultIsQuantizedKeepsItsLogits) {
  for (const Simulation simulation : {Simulation::integer, Simulation::fake_quant}) {
    const QuantizeOptions options{.simulation = simulation};
    Sequential source("m", Input({6}), Dense(1));
    source.add(quantize_annotate_layer(std::make_unique<ActivationLayer>(Activation::sigmoid),
                                       std::make_shared<const QuantizesResults>(options)));
    source.build(0);
    Model model = quantize_apply(source, options);
    Trainer trainer(model, Adam(), {.loss = binary_cross_entropy()});
    EXPECT_NO_THROW(trainer.fit(examples(20), 1));
  }
}

/// The class of a pixel is the brightest of its three channels.
Dataset pixels(std::size_t count) {
  const auto n = static_cast<Index>(count);
  const Tensor x = Tensor::uniform({n, 2, 3, 3}, Random(5), 0.0F, 1.0F);
  return Dataset::from_tensors("pixels", x,
                               one_hot(argmax(x.reshape({-1, 3})), 3).reshape(x.shape()));
}

TEST(NetworkEnds, PixelsHaveClasses) {
  const Dataset data = pixels(200);
  Sequential source("m", Input({2, 3, 3}), Conv2D(3, 1, Activation::softmax));
  source.build(0);
  // The share of the mass on its class in each pixel: 1 where the network is sure and right.
  const Metric right{"right", [](const Tensor& output, const Tensor& target) {
                       const Labels found = argmax(output.reshape({-1, 3}));
                       const Labels wanted = argmax(target.reshape({-1, 3}));
                       double same = 0.0;
                       for (std::size_t i = 0; i < found.size(); ++i) same += found[i] == wanted[i];
                       return same / static_cast<double>(found.size());
                     }};
  const TrainerOptions options{
      .loss = categorical_cross_entropy(), .metrics = {right}, .batch_size = 20};
  Trainer in_float(source, Adam(0.05F), options);
  in_float.fit(data, data, 10);
  EXPECT_GT(*find_metric(in_float.history().back(), "right"), 0.9);
  // The loss is the mean over pixels.
  const Tensor x = data.features(0, 7);
  const Tensor logits = source.forward_logits(x);
  const Tensor target = data.targets(0, 7).values();
  EXPECT_EQ(categorical_cross_entropy()(logits, target).item(),
            categorical_cross_entropy()(logits.reshape({-1, 3}), target.reshape({-1, 3})).item());
  Model quantized = quantize_model(source);
  Trainer trainer(quantized, Adam(0.01F), options);
  const EpochRecord record = trainer.fit(data, data, 2).back();
  EXPECT_EQ(record.differing_predictions, 0U);
  const auto shipped = measure(trainer.lower(), data, {right, loss_metric("loss", options.loss)});
  EXPECT_EQ(shipped[0].value, *find_metric(record, "right"));
  EXPECT_EQ(shipped[1].value, *find_metric(record, "test_loss"));
  EXPECT_GT(shipped[0].value, 0.9);
}

/// An epoch whose steps change nothing, on targets that `augment` makes.
std::optional<double> train_accuracy(const Sequential& source, const Dataset& data,
                                     const Loss& loss, const Augment& augment, std::size_t shards) {
  Sequential model = source;
  Trainer trainer(model, Sgd(1e-12F),
                  {.loss = loss, .batch_size = 16, .shards = shards, .augment = augment});
  return trainer.fit(data, 1).back().train_accuracy;
}

TEST(NetworkEnds, TargetsOfAnAugmentHaveTheClassOfTheirLargestShare) {
  const Loss soft = [](const Tensor& output, const Tensor& target) {
    return categorical_cross_entropy()(output, target);
  };
  const Augment shares = [](Tensor&, Targets& targets, Random) {
    targets = one_hot(targets, 3) * 0.8F + 0.1F;
  };
  const Augment column = [](Tensor&, Targets& targets, Random) {
    Tensor values({static_cast<Index>(targets.size()), 1});
    std::ranges::transform(targets.labels(), values.mutable_data(),
                           [](std::int32_t label) { return label == 1 ? 0.9F : 0.2F; });
    targets = values;
  };
  for (const std::size_t shards : {1U, 4U}) {
    const Dataset three = examples(50, 3);
    const Sequential many = net(3, Activation::softmax);
    EXPECT_EQ(train_accuracy(many, three, soft, shares, shards),
              train_accuracy(many, three, sparse_categorical_cross_entropy(), {}, shards));
    const Dataset two = examples(50);
    for (const Activation last : {Activation::none, Activation::sigmoid}) {
      const Sequential one = net(1, last);
      const auto expected = train_accuracy(one, two, binary_cross_entropy(), {}, shards);
      EXPECT_GT(expected.value_or(0.0), 0.0);
      EXPECT_EQ(train_accuracy(one, two, binary_cross_entropy(), column, shards), expected);
    }
    // Targets that name no class have no accuracy.
    const Loss of_column = [](const Tensor& output, const Tensor& target) {
      return mean(output - target);
    };
    EXPECT_EQ(train_accuracy(many, three, of_column, column, shards), std::nullopt);
  }
}

TEST(NetworkEnds, AnEpochThatGoesOnKnowsThatItHadTargetsWithoutClasses) {
  const Dataset data = examples(50, 3);
  bool first = true;
  const TrainerOptions options{
      .loss = [](const Tensor& output, const Tensor& target) { return mean(output - target); },
      .batch_size = 16,
      .augment =
          [&first](Tensor&, Targets& targets, Random) {
            const bool names_classes = !std::exchange(first, false);
            targets = names_classes ? one_hot(targets, 3)
                                    : Tensor::zeros({static_cast<Index>(targets.size()), 1});
          },
      .should_stop = [&first] { return !first; }};
  Sequential model = net(3, Activation::softmax);
  Trainer stopped(model, Sgd(), options);
  stopped.fit(data, 1);
  ASSERT_TRUE(stopped.stopped());
  const ScratchDirectory scratch;
  stopped.save_checkpoint(scratch.path() / "c");
  TrainerOptions to_the_end = options;
  to_the_end.should_stop = {};
  Trainer resumed(model, Sgd(), to_the_end);
  resumed.load_checkpoint(scratch.path() / "c");
  EXPECT_EQ(resumed.fit_until(data, 1).back().train_accuracy, std::nullopt);
}

TEST(NetworkEnds, ASoftmaxThatIsNoOutputIsNotLeftOut) {
  Model model = quantize_model(net(3, Activation::softmax));
  const Dataset data = examples(9, 3);
  calibrate(model, data.features(0, 9));
  IntegerModel integers = lower(model);
  const Metric width{"width", [](const Tensor& output, const Targets&) {
                       return static_cast<double>(output.dim(-1));
                     }};
  EXPECT_EQ(measure(integers, data, {width})[0].value, 3.0);
  // The hidden layer.
  integers.outputs = {integers.operators[integers.operators.size() - 2].inputs[0]};
  EXPECT_EQ(measure(integers, data, {width})[0].value, 8.0);
}

}  // namespace
}  // namespace octet::test::network_ends_test
