#include <gtest/gtest.h>
#include <octet/octet.h>
#include <octet/report/measure_internal.h>
#include <octet/report/range_log.h>
#include <octet/tests/core/keep_threads.h>
#include <octet/tests/layers/layer_testing.h>
#include <octet/tests/train/distributed/thread_group.h>

#include <cmath>
#include <set>
#include <utility>

namespace octet::test::measure_test {
namespace {

/// y = x W with W = [[1, -0.5, 0], [0.25, 20, 0]].
Sequential small_model() {
  Sequential model("small", Input({2}), Dense(3));
  model.build(/*seed=*/0);
  const LayerWeights weights = *model.layers()[1]->weights();
  Tensor kernel = weights.kernel;
  std::ranges::copy(std::vector{1.0F, -0.5F, 0.0F, 0.25F, 20.0F, 0.0F},
                    kernel.mutable_span().begin());
  return model;
}

/// Examples (0, 0), (1, 1) and (2, 2); calibrated on the first two.
Dataset examples() { return Dataset::from_floats("three", {2}, {0, 0, 1, 1, 2, 2}, {0, 1, 1}, 3); }

Model quantized_small() {
  return quantize_post_training(static_cast<const Model&>(small_model()),
                                examples().features(0, 2));
}

TEST(MeasureLayers, CountsByHand) {
  const std::vector<LayerFacts> layers = detail::measure_layers(quantized_small(), examples(), 3);
  ASSERT_EQ(layers.size(), 2U);
  // The input's range is 0 to 1: both values of the third example lie outside.
  EXPECT_EQ(layers[0].result.values, 6U);
  EXPECT_EQ(layers[0].result.clipped, 2U);
  EXPECT_EQ(layers[0].result.codes_used, 2U);
  const LayerFacts& dense = layers[1];
  EXPECT_EQ(dense.type, "Dense");
  // y = (0, 0, 0), (1.25, 19.5, 0), (2.5, 39, 0); the range is what the weights on their grid, 20
  // and -3 steps of 20 / 127, made of the first two.
  EXPECT_EQ(dense.result.values, 9U);
  EXPECT_EQ(dense.result.clipped, 1U);
  EXPECT_EQ(dense.result.codes, 256U);
  EXPECT_NEAR(dense.result.grid_high, 20.0 - 3.0 * 20.0 / 127.0, 1e-4);
  // 0, that near 1.25 and that near 19.5: on the grid the third example is the second.
  EXPECT_EQ(dense.result.codes_used, 3U);
  EXPECT_EQ(dense.result_channels.dead, (std::vector<std::size_t>{2}));
  // 0, 1.25 and 2.5 on steps of 19.5 / 255.
  EXPECT_EQ(dense.result_channels.starved, 0U);
  EXPECT_EQ(dense.result_channels.channels, 3U);
  EXPECT_EQ(dense.result_channels.median_span, 2.5);
  EXPECT_EQ(dense.result_channels.wide, 1U);
  EXPECT_EQ(dense.result_channels.widest[0].channel, 1U);
  EXPECT_NEAR(dense.result_channels.widest[0].medians, 39.0 / 2.5, 1e-6);
}

TEST(MeasureLayers, CountsWeightsByHand) {
  const std::vector<LayerFacts> layers = detail::measure_layers(quantized_small(), examples(), 3);
  const LayerFacts& dense = layers.at(1);
  ASSERT_TRUE(dense.weights);
  EXPECT_FALSE(dense.per_channel);
  EXPECT_EQ(dense.weights->values, 6U);
  EXPECT_EQ(dense.weights->clipped, 0U);
  // By 20 / 127: 6, -3, 0, 2, 127, 0.
  EXPECT_EQ(dense.weights->codes_used, 5U);
  EXPECT_EQ(dense.weights->codes, 255U);
  EXPECT_EQ(dense.weights->bits, 8);
  EXPECT_EQ(dense.weight_channels.median_span, 1.0);
  EXPECT_EQ(dense.weight_channels.wide, 1U);
  ASSERT_EQ(dense.weight_channels.widest.size(), 3U);
  EXPECT_EQ(dense.weight_channels.widest[0].channel, 1U);
  EXPECT_EQ(dense.weight_channels.widest[0].medians, 20.0);
  EXPECT_FALSE(dense.sensitivity);
}

TEST(MeasureLayers, TakesTheNoiseOfTheIntegers) {
  const Model quantized = quantized_small();
  const std::vector<LayerFacts> layers = detail::measure_layers(quantized, examples(), 3);
  const Tensor x = examples().features(0, 3);
  const Tensor integers = quantized.forward(x);
  const Tensor exact = small_model().forward(x);
  double signal = 0.0;
  double noise = 0.0;
  for (std::size_t i = 0; i < 9; ++i) {
    const double value = exact.span()[i];
    signal += value * value;
    noise += std::pow(value - integers.span()[i], 2);
  }
  ASSERT_TRUE(layers.at(1).sqnr_db);
  EXPECT_NEAR(*layers.at(1).sqnr_db, 10.0 * std::log10(signal / noise), 1e-6);
}

TEST(MeasureLayers, ClippedWeightsAreThoseBeyondTheGrid) {
  Model quantized = quantize_model(
      static_cast<const Model&>(small_model()),
      {.weight_bits = 8, .weight_calibration = Calibration::percentile, .percentile = 60.0});
  calibrate(quantized, examples().features(0, 2));
  const LayerFacts dense = detail::measure_layers(quantized, examples(), 3).at(1);
  // The 4th of 6 magnitudes is 0.5: 1 and 20 lie beyond it, 0.25 does not.
  EXPECT_LT(dense.weights->grid_high, 1.0);
  EXPECT_EQ(dense.weights->clipped, 2U);
  EXPECT_NEAR(dense.weights->clipped_share(), 2.0 / 6.0, 1e-12);
}

TEST(MeasureLayers, AChannelOfFewCodesIsStarvedAndNotDead) {
  const Dataset columns =
      Dataset::from_floats("units", {2}, {0.0F, 0.0F, 0.001F, 1.0F, 0.002F, 2.0F}, {0, 1, 1}, 3);
  const Model quantized =
      quantize_post_training(static_cast<const Model&>(small_model()), columns.features(0, 3));
  const LayerFacts input = detail::measure_layers(quantized, columns, 3).at(0);
  EXPECT_TRUE(input.result_channels.dead.empty());
  EXPECT_EQ(input.result_channels.starved, 1U);
}

TEST(MeasureLayers, CountsTheCodesOfMostValues) {
  std::vector<float> values(2000, 0.0F);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 8);
  values[77] = 255.0F;
  const Dataset data = Dataset::from_floats("far", {2}, values, Labels(1000, 0), 3);
  const Model quantized =
      quantize_post_training(static_cast<const Model&>(small_model()), data.features(0, 1000));
  const GridFacts input = detail::measure_layers(quantized, data, 1000).at(0).result;
  EXPECT_EQ(input.codes_used, 9U);
  EXPECT_EQ(input.codes_of_most, 8U);
}

TEST(Histogram, CountsWhatLiesBeyondInItsEnds) {
  Histogram histogram{.low = 0.0, .high = 4.0, .counts = {0, 0, 0, 0}};
  for (const double value : {-7.0, 0.5, 1.0, 3.9, 4.0, 100.0}) histogram.add(value);
  EXPECT_EQ(histogram.counts, (std::vector<std::uint64_t>{2, 1, 0, 3}));
}

class MeasuredDigits : public ::testing::Test {
 protected:
  MeasuredDigits()
      : data_(make_digits(/*seed=*/1, /*train_count=*/600, /*test_count=*/200)),
        model_("digits", Input({28, 28}), Flatten(), Dense(16, Activation::relu),
               Dense(10, Activation::softmax)) {
    model_.build(/*seed=*/0);
    Trainer trainer(model_, Adam(0.005F));
    trainer.fit(data_.train, /*epochs=*/4);
  }

  Report report(const QuantizeOptions& options = {.weight_bits = 3}) {
    quantized_ = quantize_model(static_cast<const Model&>(model_), options);
    Trainer trainer(quantized_, Adam(1e-3F));
    trainer.add_callback(log_);
    trainer.fit(data_.train, data_.test, /*epochs=*/1);
    refresh_kernel_ranges(quantized_);
    shipped_ = trainer.lower();
    return measure_report({lower_float(model_), shipped_, &quantized_, &model_}, data_.train,
                          data_.test, options_);
  }

  const ReportOptions options_{
      .sensitivity_samples = 150, .changed_examples = 3, .confused_pairs = 4};
  DataSplit data_;
  Sequential model_;
  Model quantized_;
  IntegerModel shipped_;
  std::shared_ptr<RangeLog> log_ = std::make_shared<RangeLog>();
};

TEST_F(MeasuredDigits, OutcomesAreThoseOfEvaluate) {
  const Report found = report();
  ASSERT_EQ(found.outcomes.size(), 3U);
  EXPECT_EQ(found.outcomes[0].accuracy.share(), evaluate(model_, data_.test).accuracy);
  EXPECT_FALSE(found.outcomes[0].against_float);
  const Model post = quantize_post_training(static_cast<const Model&>(model_),
                                            data_.train.features(0, 500), {.weight_bits = 3});
  EXPECT_EQ(found.outcomes[1].accuracy.share(), evaluate(lower(post), data_.test).accuracy);
  const Evaluation integers = evaluate(shipped_, data_.test);
  EXPECT_EQ(found.outcomes[2].accuracy.share(), integers.accuracy);
  EXPECT_EQ(found.outcomes[2].against_float,
            mcnemar_test(evaluate(model_, data_.test).predictions, integers.predictions,
                         data_.test.labels()));
  EXPECT_EQ(found.contract, "fp32");
  EXPECT_EQ(found.costs.integer_bytes, to_tflite(shipped_).size());
  EXPECT_EQ(found.costs.multiply_adds, 784 * 16 + 16 * 10);
  EXPECT_EQ(found.costs.arena_bytes, Interpreter(shipped_).arena_bytes());
}

TEST_F(MeasuredDigits, ClassesHaveTheNamesOfTheTestSet) {
  const std::vector<std::string> names = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"};
  EXPECT_TRUE(report().class_names.empty());
  data_.test = data_.test.with_class_names(names);
  EXPECT_EQ(report().class_names, names);
  expect_throws<InvalidArgument>([&] { data_.test.with_class_names({"a"}); },
                                 {"a name for each of the 10 classes, found 1"});
}

TEST_F(MeasuredDigits, ConfusionsAndChangesAreThoseOfThePredictions) {
  const Report found = report();
  const Labels integers = evaluate(shipped_, data_.test).predictions;
  const Labels in_float = evaluate(model_, data_.test).predictions;
  std::vector<std::vector<std::uint64_t>> confusion(10, std::vector<std::uint64_t>(10, 0));
  std::vector<std::size_t> changed;
  for (std::size_t i = 0; i < integers.size(); ++i) {
    ++confusion[static_cast<std::size_t>(data_.test.labels()[i])]
               [static_cast<std::size_t>(integers[i])];
    if (integers[i] != in_float[i]) changed.push_back(i);
  }
  EXPECT_EQ(found.confusion, confusion);
  ASSERT_GT(changed.size(), 3U);
  EXPECT_EQ(found.changed_examples, changed.size());
  ASSERT_EQ(found.changed.size(), 3U);
  EXPECT_EQ(found.changed[2].index, changed[2]);
  EXPECT_EQ(found.changed[2].name, "example " + std::to_string(changed[2]));
  EXPECT_EQ(found.changed[2].in_float, in_float[changed[2]]);
  EXPECT_EQ(found.changed[2].in_integers, integers[changed[2]]);
  EXPECT_FALSE(found.changed[2].view.png.empty());
  ASSERT_TRUE(found.changed[2].float_confidence);
  EXPECT_GT(*found.changed[2].float_confidence, 0.1);
  EXPECT_LE(*found.changed[2].float_confidence, 1.0);
}

TEST_F(MeasuredDigits, TheCommonestMistakesComeFirst) {
  const Report found = report();
  const Labels integers = evaluate(shipped_, data_.test).predictions;
  ASSERT_EQ(found.confused.size(), 4U);
  std::set<std::pair<std::int32_t, std::int32_t>> shown;
  for (std::size_t k = 0; k < 4; ++k) {
    const ConfusedPair& pair = found.confused[k];
    shown.insert({pair.label, pair.said});
    EXPECT_EQ(
        pair.count,
        found.confusion[static_cast<std::size_t>(pair.label)][static_cast<std::size_t>(pair.said)]);
    EXPECT_LE(pair.count, found.confused[k == 0 ? 0 : k - 1].count);
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < integers.size(); ++i) {
      if (data_.test.labels()[i] == pair.label && integers[i] == pair.said) all.push_back(i);
    }
    ASSERT_EQ(all.size(), pair.count);
    ASSERT_GT(all.size(), 3U);
    ASSERT_EQ(pair.examples.size(), 3U);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(pair.examples[i].index, all[i * all.size() / 3]);
      EXPECT_EQ(pair.examples[i].in_integers, pair.said);
      EXPECT_FALSE(pair.examples[i].view.png.empty());
    }
  }
  EXPECT_EQ(shown.size(), 4U);
  // None that is left out is more frequent.
  std::size_t pairs = 0;
  for (std::size_t label = 0; label < 10; ++label) {
    for (std::size_t said = 0; said < 10; ++said) {
      const std::pair one(static_cast<std::int32_t>(label), static_cast<std::int32_t>(said));
      if (label == said || found.confusion[label][said] == 0) continue;
      ++pairs;
      if (shown.contains(one)) continue;
      EXPECT_LE(found.confusion[label][said], found.confused.back().count);
    }
  }
  EXPECT_EQ(found.confused_pairs, pairs);
}

TEST_F(MeasuredDigits, SensitivityIsThatOfOneLayerAtATime) {
  const Report found = report();
  const Tensor calibration = data_.train.features(0, 500);
  const Dataset samples = data_.test.head(150);
  EXPECT_EQ(*found.layers.float_accuracy, evaluate(model_, samples).accuracy);
  for (const auto& [one, other] : {std::pair("dense", "dense_1"), std::pair("dense_1", "dense")}) {
    Model without_one = model_;
    without_one.layer(one).set_quantization({.in_float = true});
    const double in_float =
        evaluate(lower(quantize_post_training(without_one, calibration, {.weight_bits = 3})),
                 samples)
            .accuracy;
    const auto of = [&](const std::string& name) {
      return *std::ranges::find(found.layers.layers, name, &LayerFacts::name)->sensitivity;
    };
    EXPECT_EQ(of(one).only_this_in_float, in_float);
    // With two layers, one quantized alone is the other in float, but for the input's scale.
    EXPECT_NEAR(of(other).only_this_quantized, in_float, 0.03);
  }
}

TEST_F(MeasuredDigits, RangesAreLoggedAfterCalibrationAndEveryEpoch) {
  report({.count_oscillations = true});
  ASSERT_EQ(log_->ranges().size(), 4U);
  EXPECT_EQ(log_->ranges()[0].moment, "calibrated");
  EXPECT_EQ(log_->ranges()[0].layer, "dense");
  EXPECT_EQ(log_->ranges()[2].moment, "1");
  const QuantParams grid = quantized_.layer("quant_dense").result_quantizer()->params();
  EXPECT_EQ(log_->ranges()[2].max,
            static_cast<float>(grid.qmax - grid.zero_point()) * grid.scale());
  EXPECT_EQ(log_->oscillations().size(), 4U);
}

TEST_F(MeasuredDigits, WhatShipsCalibratedHasOneAccuracy) {
  for (const QuantizeOptions& options :
       {QuantizeOptions{.weight_bits = 2},
        QuantizeOptions{
            .weight_bits = 2, .weight_scales = Scales::lsq, .activation_scales = Scales::lsq}}) {
    Model quantized = quantize_model(static_cast<const Model&>(model_), options);
    for (std::size_t i = 0; i < 600; i += 60) {
      calibrate(quantized, data_.train.features(i, i + 60));
    }
    const IntegerModel shipped = lower(quantized);
    const Report found = measure_report({lower_float(model_), shipped, &quantized, &model_},
                                        data_.train, data_.test);
    ASSERT_EQ(found.outcomes.size(), 2U);
    EXPECT_EQ(found.outcomes[1].name, "calibrated");
    EXPECT_EQ(found.outcomes[1].accuracy.share(), evaluate(shipped, data_.test).accuracy);
    EXPECT_EQ(*found.layers.quantized_accuracy, found.outcomes[1].accuracy.share());
  }
}

TEST_F(MeasuredDigits, SaysWhatIsMissing) {
  const Model quantized =
      quantize_post_training(static_cast<const Model&>(model_), data_.train.features(0, 100));
  const IntegerModel shipped = lower(quantized);
  const Report found = measure_report({lower_float(model_), shipped}, {}, data_.test);
  EXPECT_EQ(found.outcomes.size(), 2U);
  EXPECT_TRUE(found.layers.layers.empty());
  EXPECT_EQ(found.missing.size(), 1U);
  EXPECT_THROW(measure_report({lower_float(model_), shipped}, {}, {}), InvalidArgument);
}

TEST_F(MeasuredDigits, PagesAreTheSameOnAnyNumberOfThreads) {
  const int threads = num_threads();
  set_num_threads(1);
  const std::string one = report_html(report());
  set_num_threads(3);
  const std::string three = report_html(report());
  set_num_threads(threads);
  EXPECT_EQ(one, three);
}

TEST_F(MeasuredDigits, PagesAreTheSameOnAnyNumberOfRanks) {
  const test::KeepThreads keep;
  set_num_threads(1);
  const std::string alone = report_html(report());
  for (const int ranks : {2, 5}) {
    test::ThreadGroups::run(ranks, [&](ProcessGroup& group) {
      ReportOptions options = options_;
      options.group = &group;
      const Report found = measure_report({lower_float(model_), shipped_, &quantized_, &model_},
                                          data_.train, data_.test, options);
      EXPECT_EQ(report_html(found), alone) << ranks;
    });
  }
}

}  // namespace
}  // namespace octet::test::measure_test
