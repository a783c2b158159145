#include <octet/compress/post_training.h>
#include <octet/core/autograd.h>
#include <octet/core/error.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/layers/add.h>
#include <octet/layers/concatenate.h>
#include <octet/tests/core/quant/contracts.h>
#include <octet/tests/core/thrown.h>
#include <octet/tests/deploy/c_programs.h>
#include <octet/tests/layers/quantize/random_graphs.h>
#include <octet/tests/train/training.h>
#include <octet/tests/train/two_by_two.h>
#include <octet/train/data/fingerprint.h>

#include <algorithm>

// Models of several inputs and outputs: data, training, scoring and export.

namespace octet::test::several_ends_test {
namespace {

constexpr Index kExamples = 160;

/// The class is where x, z and both are large, the number a sum over both.
Dataset examples(std::uint64_t seed) {
  const Tensor x = random_tensor({kExamples, 6}, seed);
  const Tensor z = random_tensor({kExamples, 3}, seed + 100);
  Labels kinds;
  Tensor sizes({kExamples, 1});
  for (Index i = 0; i < kExamples; ++i) {
    const bool is_x = x.span()[static_cast<std::size_t>(6 * i)] > 0.0F;
    const bool is_z = z.span()[static_cast<std::size_t>(3 * i)] > 0.0F;
    kinds.push_back(is_x ? (is_z ? 2 : 1) : 0);
    sizes.mutable_data()[i] = x.span()[static_cast<std::size_t>(6 * i + 1)] -
                              z.span()[static_cast<std::size_t>(3 * i + 1)];
  }
  return Dataset::from_tensors("pairs", {x, z}, {kinds, sizes});
}

std::vector<OutputLoss> losses() {
  return {{.output = "size",
           .loss = mean_squared_error(),
           .weight = 0.5F,
           .metrics = {loss_metric("distance", mean_absolute_error())}},
          {.output = "kind"}};
}

Trainer trainer_of(Model& model, TrainerOptions options = {}) {
  options.losses = losses();
  options.batch_size = 32;
  return {model, Adam(0.01F), options};
}

double metric(const EpochRecord& record, const std::string& name) {
  const std::optional<double> found = find_metric(record, name);
  EXPECT_TRUE(found.has_value()) << name;
  return found.value_or(-1.0);
}

TEST(SeveralEnds, DataHoldFeaturesAndTargetsTogether) {
  const Dataset data = examples(1);
  EXPECT_EQ(data.inputs(), 2U);
  EXPECT_EQ(data.outputs(), 2U);
  EXPECT_EQ(data.classes(), 3);
  EXPECT_TRUE(data.has_labels(0));
  EXPECT_FALSE(data.has_labels(1));
  const std::vector<std::uint32_t> rows = {7, 3};
  const Batch some = data.batch(rows);
  const Batch seventh = data.batch(7, 8);
  ASSERT_EQ(some.inputs().size(), 2U);
  EXPECT_EQ(some.inputs()[1].shape(), Shape({2, 3}));
  EXPECT_TRUE(std::ranges::equal(some.inputs()[1].span().first(3), seventh.inputs()[1].span()));
  EXPECT_EQ(some.all_targets()[1].values().span()[0], seventh.all_targets()[1].values().item());
  const Dataset head = data.head(5);
  EXPECT_EQ(head.batch(0, 5).inputs()[1].dim(0), 5);
  EXPECT_NE(fingerprint(data), fingerprint(examples(2)));
  // What stands behind the first counts.
  const Batch all = data.batch(0, data.size());
  const auto with = [&](const Tensor& z, const Targets& sizes) {
    return Dataset::from_tensors("pairs", {all.features, z}, {all.targets, sizes});
  };
  const Tensor other = random_tensor({kExamples, 3}, 9);
  EXPECT_EQ(fingerprint(with(all.inputs()[1], all.all_targets()[1])), fingerprint(data));
  EXPECT_NE(fingerprint(with(other, all.all_targets()[1])), fingerprint(data));
  EXPECT_NE(fingerprint(with(all.inputs()[1], Targets(all.targets.labels()))), fingerprint(data));
}

TEST(SeveralEnds, DataThatDoNotBelongTogetherAreRefused) {
  const Tensor x = Tensor::ones({4, 2});
  const Tensor z = Tensor::ones({3, 2});
  const auto refused = [](const std::vector<Tensor>& features, const std::vector<Targets>& targets,
                          const std::vector<std::string>& parts) {
    expect_throws<InvalidArgument>(
        [&] { static_cast<void>(Dataset::from_tensors("d", features, targets)); }, parts);
  };
  refused({}, {x}, {"d", "found 0 and 1"});
  refused({x}, {}, {"d", "found 1 and 0"});
  refused({x, z}, {x}, {"features 2", "[4, ...]", "[3, 2]"});
  refused({x}, {x, z}, {"targets 2", "[4, ...]", "[3, 2]"});
  refused({x}, {x, Labels{0, 1, 2}}, {"targets 2", "4 labels", "found 3"});
  refused({x}, {Labels{0, 1, -2, 0}}, {"targets 1", "0 or more", "-2 in row 2"});
}

TEST(SeveralEnds, TrainerLearnsEachOutput) {
  const Dataset train = examples(1);
  const Dataset test = examples(5);
  Model model = two_by_two();
  Trainer trainer = trainer_of(model);
  const History& history = trainer.fit(train, test, 30);
  const EpochRecord& last = history.back();
  EXPECT_LT(last.train_loss, 0.4 * history.front().train_loss);
  EXPECT_FALSE(last.train_accuracy.has_value());
  EXPECT_FALSE(last.test_accuracy.has_value());
  std::vector<std::string> names;
  for (const MetricValue& each : last.metrics) names.push_back(each.name);
  EXPECT_EQ(names, (std::vector<std::string>{"test_loss", "kind_loss", "size_loss", "size_distance",
                                             "kind_accuracy"}));
  EXPECT_DOUBLE_EQ(metric(last, "test_loss"),
                   metric(last, "kind_loss") + 0.5 * metric(last, "size_loss"));
  EXPECT_GT(metric(last, "kind_accuracy"), 0.8);
  const auto evaluated = evaluate_outputs(model, test);
  ASSERT_EQ(evaluated.size(), 2U);
  EXPECT_EQ(evaluated[0].classes->accuracy, metric(last, "kind_accuracy"));
  EXPECT_EQ(evaluated[0].score(), metric(last, "kind_accuracy"));
  EXPECT_FALSE(evaluated[0].mean_absolute_error.has_value());
  EXPECT_FALSE(evaluated[1].classes.has_value());
  EXPECT_NEAR(evaluated[1].score(), metric(last, "size_distance"), 1e-6);
}

/// The mean of |output - target| in doubles.
double naive_error(std::span<const float> output, const Tensor& targets) {
  double sum = 0.0;
  for (std::size_t i = 0; i < output.size(); ++i) {
    sum += std::abs(static_cast<double>(output[i]) - static_cast<double>(targets.span()[i]));
  }
  return sum / static_cast<double>(output.size());
}

TEST(SeveralEnds, ErrorsOfTensorsAreThoseOfWholeOutputs) {
  const Model model = two_by_two();
  const Batch all = examples(1).batch(0, kExamples);
  // Shares as targets of the softmax, in floats that are no logits.
  const Tensor shares = random_tensor({kExamples, 3}, 5, 0.0F, 1.0F);
  const Dataset data = Dataset::from_tensors("d", all.inputs(), {shares, all.more_targets.front()});
  const Model quantized = quantize_post_training(model, all.inputs());
  const auto expect_errors = [&](const std::vector<OutputEvaluation>& found,
                                 std::span<const float> kinds, std::span<const float> sizes) {
    EXPECT_DOUBLE_EQ(found[0].score(), naive_error(kinds, shares));
    EXPECT_DOUBLE_EQ(found[1].score(), naive_error(sizes, all.more_targets.front().values()));
  };
  for (const Model* each : {&model, &quantized}) {
    const NoGrad guard;
    const std::vector<Tensor> outputs = each->forward_all(all.inputs());
    expect_errors(evaluate_outputs(*each, data), outputs[0].span(), outputs[1].span());
  }
  const IntegerModel integers = lower(quantized);
  Interpreter interpreter(integers, {.batch = kExamples});
  const std::vector<Tensor> inputs = all.inputs();
  const auto outputs = interpreter.run_all({{inputs[0].span(), inputs[1].span()}});
  expect_errors(evaluate_outputs(integers, data), outputs[0], outputs[1]);
}

TEST(SeveralEnds, TargetsOfAnotherSizeHaveNoScore) {
  const Batch all = examples(1).batch(0, kExamples);
  const Dataset data =
      Dataset::from_tensors("d", all.inputs(), {all.targets, random_tensor({kExamples, 2}, 5)});
  const std::vector<OutputEvaluation> found = evaluate_outputs(two_by_two(), data);
  EXPECT_TRUE(found[0].classes.has_value());
  expect_throws<InvalidArgument>([&] { static_cast<void>(found[1].score()); },
                                 {"evaluate_outputs", "tensors of another size"});
}

TEST(SeveralEnds, AnOutputOfWeightZeroMovesNothing) {
  Model model = two_by_two();
  const std::vector<float> before(model.layer("size").parameters()[0].tensor.span().begin(),
                                  model.layer("size").parameters()[0].tensor.span().end());
  TrainerOptions options{.batch_size = 32};
  options.losses = losses();
  options.losses[0].weight = 0.0F;
  Trainer trainer(model, Sgd(0.1F), options);
  trainer.fit(examples(1), 2);
  EXPECT_TRUE(std::ranges::equal(model.layer("size").parameters()[0].tensor.span(), before));
}

/// The codes of all inputs of the examples, samples end to end.
Bytes codes_of_examples(const IntegerModel& model, const Dataset& data) {
  const std::vector<Tensor> inputs = data.batch(0, data.size()).inputs();
  Bytes bytes;
  for (std::size_t i = 0; i < data.size(); ++i) {
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      const auto size = static_cast<std::size_t>(inputs[k].dim(1));
      std::vector<std::int8_t> codes(size);
      quantize(inputs[k].span().subspan(i * size, size),
               model.tensors[static_cast<std::size_t>(model.inputs[k])].quantization, codes,
               quantize_mode(rounding_of(model)));
      for (const std::int8_t code : codes) bytes.push_back(static_cast<std::uint8_t>(code));
    }
  }
  return bytes;
}

TEST(SeveralEnds, WhatIsTrainedIsWhatIsShipped) {
  const Dataset train = examples(1);
  const Dataset test = examples(5);
  for (const Rounding rounding : kContracts) {
    Model model = two_by_two();
    trainer_of(model).fit(train, 10);
    Model quantized = quantize_model(model, {.rounding = rounding});
    Trainer trainer = trainer_of(quantized);
    const EpochRecord last = trainer.fit(train, test, 3).back();
    ASSERT_TRUE(trainer.calibrated().has_value());
    EXPECT_EQ(*last.differing_predictions, 0U);
    EXPECT_GT(metric(last, "kind_accuracy"), 0.6);
    EXPECT_EQ(metric(last, "kind_integer_accuracy"), metric(last, "kind_accuracy"));
    const IntegerModel file = from_tflite(to_tflite(trainer.lower()));
    EXPECT_EQ(count_differing_outputs(quantized, file, test), 0U);
    if (c_compilers().empty()) continue;
    const CDriver driver({{file, rounding, codes_of_examples(file, test)}});
    EXPECT_EQ(driver.differing(c_compilers().front(), {"-std=c99", "-O1"}), 0U);
    EXPECT_EQ(driver.output_bytes(), test.size() * 4);
  }
}

TEST(SeveralEnds, PostTrainingQuantizationShipsWhatItSimulates) {
  const Dataset train = examples(1);
  Model model = two_by_two();
  trainer_of(model).fit(train, 10);
  const Batch all = train.batch(0, train.size());
  Model quantized = quantize_post_training(model, all.inputs());
  correct_biases(quantized, all.inputs());
  EXPECT_EQ(count_differing_outputs(quantized, lower(quantized), train), 0U);
}

TEST(SeveralEnds, ShardsThreadsAndCheckpointsAreAsForOneOutput) {
  const Dataset data = examples(1);
  const auto trained = [&](int threads, bool resumes) {
    const KeepThreads keep;
    set_num_threads(threads);
    Model model = two_by_two();
    Model quantized = quantize_model(model);
    TrainerOptions options{.shards = 4};
    Trainer trainer = trainer_of(quantized, options);
    const ScratchDirectory folder;
    const auto path = folder.path() / "last.ckpt";
    trainer.fit_until(data, data, resumes ? 1 : 2);
    if (!resumes) return snapshot_of(trainer);
    trainer.save_checkpoint(path);
    Model again = quantize_model(two_by_two());
    Trainer second = trainer_of(again, options);
    second.load_checkpoint(path);
    second.fit_until(data, data, 2);
    return snapshot_of(second);
  };
  const auto expected = trained(1, false);
  EXPECT_EQ(trained(4, false), expected);
  EXPECT_EQ(trained(1, true), expected);
}

TEST(SeveralEnds, LossesForOtherOutputsAreRefused) {
  Model model = two_by_two();
  const auto refused = [&](TrainerOptions options, const std::vector<std::string>& parts) {
    expect_throws<InvalidArgument>([&] { Trainer(model, Adam(), options); }, parts);
  };
  refused({}, {"Trainer", "a loss for each of the 2 outputs", "\"kind\", \"size\"", "found 0"});
  refused({.losses = {{.output = "kind"}}}, {"each of the 2 outputs", "found 1"});
  refused({.losses = {{.output = "kind"}, {.output = "sise"}}},
          {"Trainer", "\"sise\", which is none of them"});
  refused({.losses = {{.output = "kind"}, {.output = "kind"}}}, {"\"size\"", "two for another"});
  refused({.losses = {{.output = "kind", .weight = -1.0F}, {.output = "size"}}},
          {"\"kind\"", "weight of 0 or more", "-1"});
  refused({.losses = {{.output = "kind", .loss = mean_squared_error()}, {.output = "size"}}},
          {"mean_squared_error", "softmax", "\"kind\""});
  std::vector<OutputLoss> taken = losses();
  taken[0].metrics[0].name = "loss";
  refused({.losses = taken}, {"size_loss"});
  Sequential one = build_model(Input({4}), Dense(2));
  expect_throws<InvalidArgument>([&] { Trainer(one, Adam(), {.losses = {{.output = "dense"}}}); },
                                 {"one output", "`losses`"});
}

TEST(SeveralEnds, DataForAnotherModelAreRefused) {
  Model model = two_by_two();
  Trainer trainer = trainer_of(model);
  const Batch all = examples(1).batch(0, kExamples);
  const Dataset one_input =
      Dataset::from_tensors("d", {all.features}, {all.targets, all.more_targets[0]});
  const Dataset one_output = Dataset::from_tensors("d", all.inputs(), {all.targets});
  expect_throws<InvalidArgument>([&] { trainer.fit(one_input, 1); },
                                 {"\"two\"", "each of its 2 inputs", "found features for 1"});
  expect_throws<InvalidArgument>([&] { trainer.fit(one_output, 1); },
                                 {"each of the 2 outputs", "'d'", "targets for 1"});
  expect_throws<InvalidArgument>([&] { static_cast<void>(evaluate(model, examples(1))); },
                                 {"evaluate", "one output", "2", "evaluate_outputs()"});
  expect_throws<InvalidArgument>([&] { static_cast<void>(evaluate_outputs(model, one_output)); },
                                 {"evaluate_outputs", "2 outputs", "targets for 1"});
  TrainerOptions options{.augment = [](Tensor&, Targets&, Random) {}};
  Trainer augmenting = trainer_of(model, options);
  expect_throws<InvalidArgument>([&] { augmenting.fit(examples(1), 1); },
                                 {"augment", "one input and one target", "2 and 2"});
}

TEST(SeveralEnds, TheInterpreterTakesEachInput) {
  Model model = two_by_two();
  const Batch all = examples(1).batch(0, kExamples);
  const IntegerModel integers = lower(quantize_post_training(model, all.inputs()));
  Interpreter interpreter(integers, {.batch = 7});
  const std::vector<Tensor> inputs = all.inputs();
  std::vector<std::span<const float>> values = {inputs[0].span(), inputs[1].span()};
  const auto outputs = interpreter.run_all(values);
  ASSERT_EQ(outputs.size(), 2U);
  EXPECT_EQ(outputs[0].size(), kExamples * 3U);
  EXPECT_EQ(outputs[1].size(), kExamples * 1U);
  std::swap(values[0], values[1]);
  expect_throws<InvalidArgument>([&] { interpreter.run_all(values); },
                                 {"80 samples of 3 values", "'z'"});
  values.pop_back();
  expect_throws<InvalidArgument>([&] { interpreter.run_all(values); },
                                 {"each of the 2 inputs", "found 1"});
}

}  // namespace
}  // namespace octet::test::several_ends_test
