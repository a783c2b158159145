// Quantization in the loop: where it starts, and that what was trained is what is shipped.

#include <octet/core/file.h>
#include <octet/deploy/onnx/writer.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/layers/dropout.h>
#include <octet/tests/train/naive_post_training.h>
#include <octet/tests/train/training.h>
#include <octet/train/callbacks.h>
#include <octet/train/data/digits.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace octet::test::qat_test {
namespace {

constexpr std::size_t kCalibrationBatches = 4;
constexpr std::size_t kBatch = 50;
constexpr Index kPixels = 784;
constexpr Index kHidden = 24;
constexpr Index kClasses = 10;

const DataSplit& digits() {
  static const DataSplit split = make_digits(0, 2500, 900);
  return split;
}

/// A float network that has seen some digits, by seed.
const Sequential& float_model(std::uint64_t seed) {
  static std::map<std::uint64_t, Sequential> trained;
  if (!trained.contains(seed)) {
    Sequential model = small_mlp(seed, kPixels, kHidden, kClasses);
    Trainer trainer(model, Adam(2e-3F), {.batch_size = 64});
    trainer.fit(digits().train, 3);
    trained.emplace(seed, std::move(model));
  }
  return trained.at(seed);
}

Matrix row_of(const Dataset& data, std::size_t i) {
  const Tensor x = data.features(i, i + 1);
  return {x.span().begin(), x.span().end()};
}

/// The naive network's predictions on the test digits.
Labels naive_predictions(const Model& model, RangeRule rule) {
  NaivePostTraining naive(model);
  for (std::size_t begin = 0; begin < kCalibrationBatches * kBatch; begin += kBatch) {
    std::vector<Matrix> batch;
    for (std::size_t i = begin; i < begin + kBatch; ++i) batch.push_back(row_of(digits().train, i));
    naive.observe(batch);
  }
  naive.quantize(rule);
  Labels predicted;
  for (std::size_t i = 0; i < digits().test.size(); ++i) {
    predicted.push_back(naive.predict(row_of(digits().test, i)));
  }
  return predicted;
}

double accuracy_of(const Labels& predicted) {
  std::size_t right = 0;
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    right += predicted[i] == digits().test.labels()[i] ? 1U : 0U;
  }
  return static_cast<double>(right) / static_cast<double>(predicted.size());
}

TEST(Qat, StartsNoWorseThanPostTrainingQuantization) {
  double ours = 0.0;
  std::map<RangeRule, double> theirs;
  for (const std::uint64_t seed : {0U, 1U, 2U}) {
    Sequential quantized = quantize_model(float_model(seed));
    Trainer trainer(
        quantized, Adam(),
        {.batch_size = kBatch, .shuffle = false, .calibration_batches = kCalibrationBatches});
    EXPECT_TRUE(trainer.fit(digits().train, digits().test, 0).empty());
    EXPECT_EQ(trainer.steps(), 0U);
    ASSERT_TRUE(trainer.calibrated().has_value());
    ours += *trainer.calibrated()->integer_accuracy / 3.0;
    EXPECT_EQ(trainer.calibrated()->differing_predictions, 0U);
    const Evaluation integers = evaluate(trainer.lower(), digits().test);
    EXPECT_EQ(*trainer.calibrated()->integer_accuracy, integers.accuracy);
    for (const RangeRule rule : {RangeRule::extremes, RangeRule::moving_average}) {
      const Labels predicted = naive_predictions(float_model(seed), rule);
      theirs[rule] += accuracy_of(predicted) / 3.0;
      const std::size_t differing = count_differing({predicted, 0.0}, integers);
      EXPECT_LT(differing, predicted.size() / 50);
    }
  }
  EXPECT_GT(ours, 0.8);
  EXPECT_GE(ours, theirs[RangeRule::moving_average]);
  // Other ranges move a few images to and fro.
  EXPECT_GE(ours, theirs[RangeRule::extremes] - 0.002);
}

/// The accuracy of a float network in integers, without training.
double post_training_accuracy(std::uint64_t seed, const QuantizeOptions& options) {
  const Tensor samples = digits().train.features(0, 200).reshape({200, kPixels});
  const Sequential model = quantize_post_training(float_model(seed), samples, options);
  return evaluate(lower(model), digits().test).accuracy;
}

TEST(Qat, FewBitsStartBetterByMseThanFromTheExtremes) {
  std::map<int, double> gain;
  double all = 0.0;
  for (const int bits : {2, 3, 4}) {
    for (const std::uint64_t seed : {0U, 1U, 2U}) {
      for (const bool per_channel : {false, true}) {
        const QuantizeOptions by_mse{.weight_bits = bits, .per_channel = per_channel};
        QuantizeOptions by_extremes = by_mse;
        by_extremes.weight_calibration = Calibration::min_max;
        gain[bits] +=
            post_training_accuracy(seed, by_mse) - post_training_accuracy(seed, by_extremes);
      }
    }
    all += gain[bits];
  }
  // A single width of so small a network may lose some images.
  EXPECT_GT(gain[4], 0.0);
  EXPECT_GT(all, 0.0);
}

struct Case {
  const char* name;
  QuantizeOptions options;
};

TEST(Qat, WhatIsSimulatedIsWhatIsShipped) {
  const ScratchDirectory scratch;
  QuantizeOptions tfmot = QuantizeOptions::tfmot_ranges();
  tfmot.per_channel = true;
  for (const auto& [name, options] :
       {Case{"default", {}}, Case{"single", {.rounding = Rounding::single_rounding}},
        Case{"double", {.rounding = Rounding::double_rounding}},
        Case{"per channel", {.per_channel = true}}, Case{"4 bits", {.weight_bits = 4}},
        Case{"percentiles",
             {.weight_calibration = Calibration::percentile,
             .activation_calibration = Calibration::percentile,
             .percentile = 99.9}},
        Case{"mse", {.weight_bits = 3, .activation_calibration = Calibration::mse}},
        Case{"entropy", {.activation_calibration = Calibration::entropy}}, Case{"tfmot", tfmot}}) {
    Sequential model = quantize_model(float_model(0), options);
    Trainer trainer(model, Adam(1e-3F), {.batch_size = 64});
    trainer.fit(digits().train, digits().test, 1);
    const EpochRecord& record = trainer.history()[0];
    EXPECT_EQ(record.phase, "qat");
    EXPECT_EQ(record.differing_predictions, 0U) << name;
    EXPECT_EQ(*record.integer_accuracy, *record.test_accuracy) << name;
    EXPECT_GT(*record.integer_accuracy, 0.8) << name;
    trainer.export_int8(scratch.path() / "m.tflite");
    const Evaluation shipped = evaluate(read_tflite(scratch.path() / "m.tflite"), digits().test);
    EXPECT_EQ(shipped.predictions, trainer.evaluate(digits().test).predictions) << name;
    EXPECT_EQ(shipped.accuracy, *record.integer_accuracy) << name;
  }
}

TEST(Qat, ExportTakesKernelRangesAnewWithoutATestSet) {
  Sequential model = quantize_model(float_model(0));
  Trainer trainer(model, Adam(5e-3F), {.batch_size = 64});
  trainer.fit(digits().train.head(640), 1);
  EXPECT_EQ(exported_bytes(trainer), to_tflite(lower(model)));
  // A step of a program's own moves the kernels and leaves their ranges behind.
  for (float& w : model.layer("quant_dense").parameters()[0].tensor.mutable_span()) w *= 3.0F;
  const Bytes stale = to_tflite(lower(model));
  const Bytes exported = exported_bytes(trainer);
  EXPECT_NE(exported, stale);
  EXPECT_EQ(to_tflite(lower(model)), stale);
  refresh_kernel_ranges(model);
  EXPECT_EQ(exported, to_tflite(lower(model)));
  const ScratchDirectory scratch;
  trainer.export_onnx(scratch.path() / "m.onnx", {.style = OnnxStyle::standard});
  EXPECT_EQ(read_file(scratch.path() / "m.onnx"),
            to_onnx(lower(model), {.style = OnnxStyle::standard}));
}

TEST(Qat, WithDropoutToo) {
  Sequential model("dropping", Input({kPixels}), Dense(kHidden, Activation::relu), Dropout(0.1F),
                   Dense(kClasses, Activation::softmax));
  model.build(0);
  Trainer trainer(model, Adam(2e-3F), {.batch_size = 64});
  trainer.fit(digits().train, digits().test, 2);
  Sequential quantized = quantize_model(model);
  Trainer qat(quantized, Adam(5e-4F), {.batch_size = 64});
  qat.fit(digits().train, digits().test, 1);
  EXPECT_EQ(qat.history()[0].differing_predictions, 0U);
  EXPECT_GT(*qat.history()[0].integer_accuracy, 0.75);
}

TEST(Qat, FakeQuantizationTrainsToo) {
  Sequential model = quantize_model(float_model(0), {.simulation = Simulation::fake_quant});
  Trainer trainer(model, Adam(1e-3F), {.batch_size = 64});
  trainer.fit(digits().train, digits().test, 2);
  const EpochRecord& last = trainer.history().back();
  EXPECT_LT(last.train_loss, trainer.history()[0].train_loss);
  EXPECT_GT(*last.integer_accuracy, 0.8);
  EXPECT_NEAR(*last.integer_accuracy, *last.test_accuracy, 0.01);
  EXPECT_LT(*last.differing_predictions, digits().test.size() / 50);
}

TEST(Qat, FromScratchLearns) {
  Sequential model = quantize_model(small_mlp(0, kPixels, kHidden, kClasses));
  Trainer trainer(model, Adam(2e-3F), {.batch_size = 64});
  trainer.fit(digits().train, digits().test, 3);
  EXPECT_GT(*trainer.history().back().integer_accuracy,
            *trainer.calibrated()->integer_accuracy + 0.4);
}

TEST(Qat, CalibratesOnceAndNotWhereRangesAreThere) {
  const Dataset data = clouds(60);
  Sequential model = quantize_model(small_mlp());
  calibrate(model, data.features(0, 20));
  const Bytes before = bytes_of(model);
  Trainer trainer(model, Adam());
  trainer.fit(data, data, 0);
  EXPECT_FALSE(trainer.calibrated().has_value());
  EXPECT_EQ(bytes_of(model), before);
  // TFMOT's ranges are there from the start.
  Sequential tfmot = quantize_model(small_mlp(), QuantizeOptions::tfmot_ranges());
  Trainer from_start(tfmot, Adam());
  from_start.fit(data, data, 1);
  EXPECT_FALSE(from_start.calibrated().has_value());
  EXPECT_EQ(from_start.history()[0].differing_predictions, 0U);
}

TEST(Qat, CalibrationSeesTheFirstBatchesAndNoTestSet) {
  const Dataset data = clouds(60);
  const auto state_after = [&](std::size_t batches) {
    Sequential model = quantize_model(small_mlp());
    Trainer trainer(model, Adam(),
                    {.batch_size = 10, .shuffle = false, .calibration_batches = batches});
    trainer.fit(data, 0);
    EXPECT_FALSE(trainer.calibrated().has_value());
    EXPECT_TRUE(has_ranges(model));
    return bytes_of(model.state());
  };
  Sequential by_hand = quantize_model(small_mlp());
  for (std::size_t i = 0; i < 3; ++i) calibrate(by_hand, data.features(10 * i, 10 * i + 10));
  refresh_kernel_ranges(by_hand);
  EXPECT_EQ(state_after(3), bytes_of(by_hand.state()));
  EXPECT_EQ(state_after(0), state_after(1));
  EXPECT_EQ(state_after(6), state_after(1000));
  EXPECT_NE(state_after(1), state_after(3));
}

}  // namespace
}  // namespace octet::test::qat_test
