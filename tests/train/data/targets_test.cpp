// Targets that are tensors: data sets of them, losses and metrics on them, and runs.

#include <octet/core/error.h>
#include <octet/core/ops/activation.h>
#include <octet/core/ops/elementwise.h>
#include <octet/core/ops/reduce.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/layers/activation.h>
#include <octet/runtime/interpreter.h>
#include <octet/tests/train/training.h>
#include <octet/train/callbacks.h>

#include <cmath>
#include <numbers>

namespace octet::test::targets_test {
namespace {

/// y = sin(x), x spread over [-pi, pi].
Dataset sine(std::size_t count) {
  Tensor x({static_cast<Index>(count), 1});
  Tensor y({static_cast<Index>(count), 1});
  for (std::size_t i = 0; i < count; ++i) {
    const double at = (2.0 * static_cast<double>(i) / static_cast<double>(count - 1) - 1.0);
    x.mutable_data()[i] = static_cast<float>(at);
    y.mutable_data()[i] = static_cast<float>(std::sin(at * std::numbers::pi));
  }
  return Dataset::from_tensors("sine", x, y);
}

/// The three clouds with one 0 or 1 per class: whether the example is of a class up to it.
Dataset several_labels(std::size_t count, std::uint64_t seed = 1) {
  const Dataset data = clouds(count, seed);
  Tensor targets({static_cast<Index>(count), 3});
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      targets.mutable_data()[3 * i + j] =
          data.labels()[i] <= static_cast<std::int32_t>(j) ? 1.0F : 0.0F;
    }
  }
  return data.with_targets(targets);
}

/// Class 1 against the others.
Dataset two_classes(std::size_t count, std::uint64_t seed = 1) {
  const Dataset data = clouds(count, seed);
  Labels labels(count);
  for (std::size_t i = 0; i < count; ++i) labels[i] = data.labels()[i] == 1 ? 1 : 0;
  const Tensor x = data.features(0, count);
  return Dataset::from_floats("two", {6}, {x.span().begin(), x.span().end()}, labels, 2);
}

Sequential net(Index inputs, Index outputs, Activation last = Activation::none) {
  Sequential model("net", Input({inputs}), Dense(16, Activation::tanh), Dense(outputs, last));
  model.build(/*seed=*/1);
  return model;
}

TEST(Targets, AreLabelsOrATensor) {
  const Targets labels = Labels{2, 0};
  EXPECT_TRUE(labels.are_labels());
  EXPECT_EQ(labels.size(), 2U);
  const std::span<const std::int32_t> span = labels;
  EXPECT_EQ(span[0], 2);
  expect_mentions(message_of<InvalidArgument>([&] { static_cast<void>(labels.values()); }),
                  "expected a tensor, found 2 class labels");
  const Targets values = Tensor::zeros({3, 2});
  EXPECT_FALSE(values.are_labels());
  EXPECT_EQ(values.size(), 3U);
  expect_mentions(message_of<InvalidArgument>([&] { static_cast<void>(values.labels()); }),
                  "expected class labels, found a tensor of shape [3, 2]");
  expect_mentions(message_of<InvalidArgument>([] { Targets{Tensor::scalar(1.0F)}; }), "a scalar");
  expect_mentions(message_of<InvalidArgument>([] { Targets{Tensor()}; }), "no tensor");
  EXPECT_EQ(Targets().size(), 0U);
}

TEST(TargetsOfADataset, GoWithTheirFeatures) {
  const Tensor x = Tensor::arange(12).reshape({4, 3});
  const Tensor y = Tensor::arange(16).reshape({4, 2, 2});
  const Dataset set = Dataset::from_tensors("t", x, y);
  EXPECT_EQ(set.size(), 4U);
  EXPECT_FALSE(set.has_labels());
  EXPECT_EQ(set.classes(), 0);
  EXPECT_EQ(set.target_shape(), (Shape{2, 2}));
  const std::vector<std::uint32_t> rows = {3, 0};
  const Batch batch = set.batch(rows);
  EXPECT_EQ(batch.features.at({0, 0}), 9.0F);
  EXPECT_EQ(batch.targets.values().shape(), (Shape{2, 2, 2}));
  EXPECT_EQ(batch.targets.values().at({0, 0, 0}), 12.0F);
  EXPECT_EQ(batch.targets.values().at({1, 1, 1}), 3.0F);
  const Dataset head = set.head(2);
  EXPECT_EQ(head.targets(0, 2).values().at({1, 1, 1}), 7.0F);
  EXPECT_THROW(head.targets(0, 3), InvalidArgument);
  expect_mentions(message_of<InvalidArgument>([&] { static_cast<void>(set.labels()); }),
                  "Dataset t: expected class labels, found tensors of shape [2, 2]");
  expect_mentions(message_of<InvalidArgument>([&] { static_cast<void>(clouds(3).target_shape()); }),
                  "found class labels");
}

TEST(TargetsOfADataset, ReplaceLabels) {
  const Dataset images = Dataset::from_bytes("b", {2}, {0, 255, 51, 102}, {0, 1}, 2);
  const Dataset set = images.with_targets(Tensor::from({2, 1}, {0.5F, 0.25F}));
  EXPECT_EQ(set.features(1, 2).at({0, 0}), 0.2F);
  EXPECT_EQ(set.targets(1, 2).values().item(), 0.25F);
  EXPECT_TRUE(images.has_labels());
}

TEST(TargetsOfADataset, MustFit) {
  const Tensor x = Tensor::zeros({4, 3});
  const auto message = [&](const Tensor& features, const Tensor& targets) {
    return message_of<InvalidArgument>([&] { Dataset::from_tensors("t", features, targets); });
  };
  expect_mentions(message(x, Tensor::zeros({3, 1})), "targets of shape [4, ...]");
  expect_mentions(message(x, Tensor::zeros({4, 0})), "found [4, 0]");
  expect_mentions(message(x, Tensor()), "found no tensor");
  expect_mentions(message(Tensor(), x), "found no tensor");
  expect_mentions(message(Tensor::scalar(1.0F), x), "found a scalar");
  expect_mentions(message(Tensor::zeros({4, 0}), x), "hold no values");
}

TEST(BinaryMetrics, AreRightToTheDigit) {
  // Counted by hand: of eight outputs, 5 are on the right side of 0; of four rows, one is whole.
  const Tensor output = Tensor::from({4, 2}, {1.5F, -2.0F,   //
                                              0.0F, 3.0F,    //
                                              -1.0F, -0.5F,  //
                                              std::nanf(""), 4.0F});
  const Tensor target = Tensor::from({4, 2}, {1, 0,  //
                                              1, 1,  //
                                              0, 1,  //
                                              0, 1});
  EXPECT_EQ(binary_accuracy().value(output, target), 5.0 / 8.0);
  EXPECT_EQ(exact_match().value(output, target), 1.0 / 4.0);
  // Above 2: 0 0, 0 1, 0 0, and NaN, which is never right.
  EXPECT_EQ(binary_accuracy(2.0F).value(output, target), 4.0 / 8.0);
  EXPECT_EQ(exact_match(2.0F).value(output, target), 0.0);
  expect_mentions(message_of<InvalidArgument>([&] {
                    binary_accuracy().value(output, Tensor::full({4, 2}, 0.5F));
                  }),
                  "expected targets 0 and 1, found 0.5");
  EXPECT_THROW(binary_accuracy().value(output, Tensor::zeros({4, 1})), InvalidArgument);
  EXPECT_THROW(exact_match().value(output, Labels{0, 1, 1, 0}), InvalidArgument);
}

TEST(Regression, LossOnTheTestSetIsItsRecordAndAccuraciesAreNot) {
  const ScratchDirectory scratch;
  const Dataset data = sine(64);
  Sequential model = net(1, 1);
  const Metric worst{"mean_absolute", [](const Tensor& output, const Tensor& target) {
                       return double{mean(abs(output - target)).item()};
                     }};
  Trainer trainer(model, Adam(),
                  {.loss = mean_squared_error(), .metrics = {worst}, .batch_size = 16});
  trainer.add_callback(std::make_shared<LastCheckpoint>(scratch.path() / "c"));
  double seen = -1.0;
  trainer.add_callback(
      {.on_step_end = [](Trainer&, const Progress& p) { EXPECT_FALSE(p.accuracy.has_value()); },
       .on_epoch_end = [&](Trainer&,
                           const EpochRecord& r) { seen = *find_metric(r, "test_loss"); }});
  const EpochRecord record = trainer.fit(data, data, 2).back();
  EXPECT_FALSE(record.train_accuracy || record.test_accuracy || record.integer_accuracy);
  const Tensor output = model.forward(data.features(0, 64));
  const Tensor target = data.targets(0, 64).values();
  EXPECT_NEAR(*find_metric(record, "test_loss"), mean(square(output - target)).item(), 1e-7);
  EXPECT_NEAR(*find_metric(record, "mean_absolute"), mean(abs(output - target)).item(), 1e-7);
  EXPECT_EQ(seen, *find_metric(record, "test_loss"));
  EXPECT_EQ(score_of(record), -seen);
  const std::string csv = history_csv(trainer.history(), false);
  expect_mentions(csv, "differing_predictions,test_loss,mean_absolute\n");
  expect_mentions(csv, "float,2,0.001,");
  expect_mentions(csv, ",,,,");
  // A run that is resumed has them again.
  Sequential other = net(1, 1);
  Trainer resumed(other, Adam(), {.loss = mean_squared_error(), .batch_size = 16});
  resumed.load_checkpoint(scratch.path() / "c");
  EXPECT_EQ(history_csv(resumed.history()), history_csv(trainer.history()));
}

TEST(Regression, AQuantizedNetShipsWhatItTrained) {
  const Dataset data = sine(256);
  Sequential model = net(1, 1);
  Trainer(model, Adam(), {.loss = mean_squared_error(), .batch_size = 16}).fit(data, 20);
  Sequential quantized = quantize_model(model);
  Trainer qat(quantized, Adam(), {.loss = mean_squared_error(), .batch_size = 16});
  const EpochRecord record = qat.fit(data, data, 2).back();
  EXPECT_EQ(record.differing_predictions, 0U);
  EXPECT_FALSE(record.integer_accuracy.has_value());
  const IntegerModel shipped = from_tflite(exported_bytes(qat));
  EXPECT_EQ(measure(shipped, data, {loss_metric("mse", mean_squared_error())})[0].value,
            *find_metric(record, "test_loss"));
  // The count is able to find something.
  Tensor bias = quantized.layer("quant_dense_1").parameters()[1].tensor;
  bias.mutable_data()[0] += 0.5F;
  EXPECT_GT(count_differing_outputs(quantized, shipped, data), data.size() / 2);
}

TEST(Binary, OneOutputIsScoredByItsThreshold) {
  const Dataset train = two_classes(200, 1);
  const Dataset test = two_classes(150, 2);
  for (const bool quantized : {false, true}) {
    Sequential model = net(6, 1);
    Trainer(model, Adam(), {.loss = binary_cross_entropy(), .batch_size = 16}).fit(train, 15);
    if (quantized) model = quantize_model(model);
    Trainer trainer(model, Adam(), {.loss = binary_cross_entropy(), .batch_size = 16});
    const EpochRecord record = trainer.fit(train, test, 2).back();
    const Tensor logits = model.forward(test.features(0, 150));
    double right = 0.0;
    for (std::size_t i = 0; i < 150; ++i) {
      right += (logits.span()[i] > 0.0F) == (test.labels()[i] == 1) ? 1.0 : 0.0;
    }
    EXPECT_EQ(*record.test_accuracy, right / 150.0);
    EXPECT_GT(*record.test_accuracy, 0.85);
    EXPECT_GT(*record.train_accuracy, 0.85);
    const Labels predicted = trainer.predict(test.features(0, 150));
    EXPECT_EQ(std::ranges::count(predicted, 1) + std::ranges::count(predicted, 0), 150);
    EXPECT_GT(std::ranges::count(predicted, 1), 20);
    if (!quantized) continue;
    EXPECT_EQ(record.integer_accuracy, record.test_accuracy);
    EXPECT_EQ(record.differing_predictions, 0U);
    Interpreter interpreter(trainer.lower(), {.batch = 7});
    EXPECT_EQ(interpreter.predict(test.features(0, 150).span()), predicted);
    const std::vector<float> reals = interpreter.run(test.features(0, 150).span());
    EXPECT_TRUE(std::ranges::equal(reals, logits.span()));
  }
}

TEST(Binary, ASigmoidSaysOneAboveOneHalf) {
  const Dataset data = two_classes(120);
  Sequential model = quantize_model(net(6, 1, Activation::sigmoid));
  const Loss loss = [](const Tensor& output, std::span<const std::int32_t> labels) {
    Tensor column({static_cast<Index>(labels.size()), 1});
    std::ranges::copy(labels, column.mutable_data());
    return mean(square(output - column));
  };
  Trainer trainer(model, Adam(), {.loss = loss, .batch_size = 8});
  const EpochRecord record = trainer.fit(data, data, 15).back();
  EXPECT_EQ(decision_threshold(model), 0.5F);
  EXPECT_EQ(decision_threshold(trainer.lower()), 0.5F);
  EXPECT_GT(*record.test_accuracy, 0.85);
  EXPECT_EQ(record.differing_predictions, 0U);
  const Labels predicted = trainer.predict(data.features(0, 120));
  const Tensor shares = model.forward(data.features(0, 120));
  for (std::size_t i = 0; i < 120; ++i) {
    EXPECT_EQ(predicted[i], shares.span()[i] > 0.5F ? 1 : 0);
  }
}

TEST(Regression, LossesOfOutputsAreRefusedAfterASoftmax) {
  Sequential model = net(6, 3, Activation::softmax);
  const std::pair<Loss, const char*> losses[] = {{mean_squared_error(), "mean_squared_error: "},
                                                 {mean_absolute_error(), "mean_absolute_error: "},
                                                 {cosine_distance(), "cosine_distance: "}};
  for (const auto& [loss, name] : losses) {
    const TrainerOptions options{.loss = loss};
    const std::string message =
        message_of<InvalidArgument>([&] { Trainer(model, Adam(), options); });
    expect_mentions(message, name);
    expect_mentions(message, "layer \"dense_1\" at the end of model \"net\"");
  }
  EXPECT_NO_THROW(Trainer(model, Adam(), {.loss = categorical_cross_entropy()}));
}

TEST(Binary, OneSoftmaxedOutputStaysClassZero) {
  const Sequential model = net(6, 1, Activation::softmax);
  EXPECT_EQ(decision_threshold(model), std::nullopt);
  EXPECT_EQ(decision_threshold(net(6, 2)), std::nullopt);
  EXPECT_EQ(decision_threshold(net(6, 1)), 0.0F);
  EXPECT_EQ(predict(model, clouds(5).features(0, 5)), Labels(5, 0));
}

TEST(MultiLabel, IsTrainedMeasuredAndShipped) {
  const Dataset train = several_labels(200, 1);
  const Dataset test = several_labels(150, 2);
  Sequential model = net(6, 3);
  const TrainerOptions options{.loss = binary_cross_entropy(),
                               .metrics = {binary_accuracy(), exact_match()},
                               .batch_size = 16};
  Trainer(model, Adam(), options).fit(train, 15);
  Sequential quantized = quantize_model(model);
  Trainer trainer(quantized, Adam(), options);
  const EpochRecord record = trainer.fit(train, test, 2).back();
  const Tensor logits = quantized.forward(test.features(0, 150));
  const Tensor target = test.targets(0, 150).values();
  std::size_t right = 0;
  std::size_t whole = 0;
  for (Index row = 0; row < 150; ++row) {
    std::size_t in_row = 0;
    for (Index j = 0; j < 3; ++j) {
      in_row += (logits.at({row, j}) > 0.0F) == (target.at({row, j}) == 1.0F) ? 1U : 0U;
    }
    right += in_row;
    whole += in_row == 3 ? 1U : 0U;
  }
  EXPECT_NEAR(*find_metric(record, "binary_accuracy"), static_cast<double>(right) / 450.0, 1e-15);
  EXPECT_NEAR(*find_metric(record, "exact_match"), static_cast<double>(whole) / 150.0, 1e-15);
  EXPECT_GT(*find_metric(record, "binary_accuracy"), 0.9);
  const auto shipped = measure(trainer.lower(), test, options.metrics);
  EXPECT_EQ(shipped[0].value, *find_metric(record, "binary_accuracy"));
  EXPECT_EQ(shipped[1].value, *find_metric(record, "exact_match"));
}

TEST(SoftLabels, OfOneHotRowsTrainAsLabelsDo) {
  const Dataset labelled = clouds(60);
  const Dataset soft = labelled.with_targets(one_hot(labelled.labels(), 3));
  Sequential a = small_mlp();
  Sequential b = small_mlp();
  Trainer by_label(a, Adam(), {.test_loss = true, .batch_size = 8});
  Trainer by_share(b, Adam(), {.loss = categorical_cross_entropy(), .batch_size = 8});
  const EpochRecord first = by_label.fit(labelled, labelled, 3).back();
  const EpochRecord second = by_share.fit(soft, soft, 3).back();
  EXPECT_NEAR(first.train_loss, second.train_loss, 1e-5);
  EXPECT_NEAR(*find_metric(first, "test_loss"), *find_metric(second, "test_loss"), 1e-5);
  EXPECT_TRUE(first.test_accuracy.has_value());
}

TEST(TargetsOfARun, OfTheWrongKindAreRefusedByName) {
  Sequential model = small_mlp();
  Trainer on_labels(model, Adam());
  const Dataset data = several_labels(20);
  expect_mentions(message_of<InvalidArgument>([&] { on_labels.fit(data, 1); }),
                  "expected class labels, found a tensor of shape [20, 3]");
  Trainer on_tensors(model, Adam(), {.loss = categorical_cross_entropy()});
  expect_mentions(message_of<InvalidArgument>([&] { on_tensors.fit(clouds(20), 1); }),
                  "expected a tensor, found 20 class labels");
  expect_mentions(message_of<InvalidArgument>([&] { on_tensors.fit(sine(20), 1); }),
                  "takes examples of shape");
  expect_mentions(message_of<InvalidArgument>([&] { on_tensors.evaluate(data); }),
                  "measure() is for any targets");
  expect_mentions(message_of<InvalidArgument>([&] {
                    Trainer(model, Adam(),
                            {.metrics = {loss_metric("test_loss", mean_squared_error())}});
                  }),
                  "metric \"test_loss\"");
}

}  // namespace
}  // namespace octet::test::targets_test
