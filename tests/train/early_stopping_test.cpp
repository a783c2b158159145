#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/tests/train/logged.h>
#include <octet/tests/train/training.h>
#include <octet/train/callbacks.h>
#include <octet/train/data/augmentation.h>
#include <octet/train/run/progress_bar.h>

#include <cstdio>
#include <map>

namespace octet::test::early_stopping_test {
namespace {

EpochRecord scored(double test_accuracy) {
  EpochRecord record;
  record.test_accuracy = test_accuracy;
  return record;
}

TEST(EarlyStopping, WaitsForPatienceEpochsWithoutABetterScore) {
  Sequential model = small_mlp();
  Trainer trainer(model, Sgd());
  EarlyStopping stopping(2, {.min_delta = 0.01, .score = score_of});
  stopping.on_fit_begin(trainer, {});
  const auto stops_after = [&](double score) {
    stopping.on_epoch_end(trainer, scored(score));
    return stopping.wants_stop();
  };
  EXPECT_FALSE(stopping.wants_stop());
  EXPECT_FALSE(stops_after(0.50));
  EXPECT_FALSE(stops_after(0.505));  // better by too little
  EXPECT_TRUE(stops_after(0.509));
  EXPECT_FALSE(stops_after(0.53));
  EXPECT_FALSE(stops_after(0.53));
  EXPECT_TRUE(stops_after(0.1));
  // A fit that goes on from a history waits as if it had seen it.
  stopping.on_fit_begin(trainer, {scored(0.9), scored(0.8)});
  EXPECT_FALSE(stopping.wants_stop());
  EXPECT_TRUE(stops_after(0.7));
  stopping.on_fit_begin(trainer, {});
  EXPECT_FALSE(stopping.wants_stop());
  EXPECT_THROW(EarlyStopping(0), InvalidArgument);
  EXPECT_THROW(EarlyStopping(-1), InvalidArgument);
}

TEST(EarlyStopping, EndsAFitAndStaysEnded) {
  const ScratchDirectory scratch;
  const Dataset data = clouds(10);
  Sequential model = small_mlp();
  Trainer trainer(model, Sgd(1e-30F));
  trainer.add_callback(std::make_shared<EarlyStopping>(3));
  trainer.fit(data, data, 100);
  EXPECT_EQ(trainer.history().size(), 4U);
  EXPECT_FALSE(trainer.stopped());
  trainer.save_checkpoint(scratch.path() / "end");
  // A run that resumes there ends there too.
  Sequential other = small_mlp(5);
  Trainer resumed(other, Sgd(1e-30F));
  resumed.add_callback(std::make_shared<EarlyStopping>(3));
  resumed.load_checkpoint(scratch.path() / "end");
  EXPECT_EQ(resumed.fit(data, data, 100).size(), 4U);
}

TEST(EarlyStopping, GoesByTheTestLossUnlessToldOtherwise) {
  const Dataset data = clouds(60);
  Sequential model = small_mlp();
  Trainer trainer(model, Adam(1e-3F), {.batch_size = 20});
  trainer.add_callback(std::make_shared<EarlyStopping>(2));
  trainer.fit(data, data, 2);
  EXPECT_TRUE(find_metric(trainer.history().back(), "test_loss").has_value());
  // A better accuracy does not keep a fit alive whose loss is worse.
  EarlyStopping by_loss(1);
  EarlyStopping by_accuracy(1, {.score = score_of});
  EXPECT_TRUE(by_loss.needs_test_loss());
  EXPECT_FALSE(by_accuracy.needs_test_loss());
  for (const double at : {0.5, 0.6}) {
    EpochRecord record = scored(at);
    record.metrics = {{"test_loss", at}};
    by_loss.on_epoch_end(trainer, record);
    by_accuracy.on_epoch_end(trainer, record);
  }
  EXPECT_TRUE(by_loss.wants_stop());
  EXPECT_FALSE(by_accuracy.wants_stop());
}

// Mixed targets are shares; those of the test set stay labels.
TEST(EarlyStopping, GoesByTheTestLossOfMixedExamples) {
  const Dataset data = clouds(60);
  Sequential model = small_mlp();
  Trainer trainer(model, Adam(1e-3F),
                  {.loss = categorical_cross_entropy(),
                   .batch_size = 20,
                   .augment = augment({.mixup = 0.2F}, data.classes())});
  trainer.add_callback(std::make_shared<EarlyStopping>(2));
  trainer.fit(data, data, 1);
  const std::vector<MetricValue> expected = measure(
      model, data, std::vector<Metric>{loss_metric("loss", sparse_categorical_cross_entropy())});
  EXPECT_NEAR(find_metric(trainer.history().back(), "test_loss").value(), expected[0].value, 1e-6);
}

/// A trainer that goes astray from the fourth epoch on, and the bytes of its model by epoch.
struct Astray {
  explicit Astray(Model& model)
      : trainer(model, Adam([](std::uint64_t step) { return step < 9 ? 0.01F : 20.0F; }),
                {.batch_size = 10}) {
    trainer.add_callback({.on_epoch_end = [this](Trainer& of, const EpochRecord& record) {
      bytes[record.epoch] = bytes_of(of.model());
    }});
  }

  Trainer trainer;
  std::map<int, Bytes> bytes;
};

TEST(EarlyStopping, SaysThatItStoppedAndRestoresTheBestWeightsWhereAsked) {
  const Dataset data = clouds(30);
  for (const bool quantized : {false, true}) {
    for (const bool restores : {false, true}) {
      SCOPED_TRACE(fmt::format("quantized {} restores {}", quantized, restores));
      Model model = quantized ? Model(quantize_model(small_mlp())) : Model(small_mlp());
      Astray run(model);
      run.trainer.add_callback(std::make_shared<EarlyStopping>(
          2, EarlyStoppingOptions{.restore_best_weights = restores}));
      const Logged log(LogLevel::info);
      run.trainer.fit(data, data, 20);
      ASSERT_EQ(run.trainer.history().size(), 5U);
      EXPECT_EQ(bytes_of(model), run.bytes.at(restores ? 3 : 5));
      EXPECT_NE(run.bytes.at(3), run.bytes.at(5));
      ASSERT_FALSE(log.lines().empty());
      std::string said = log.lines().back();
      if (restores) {
        EXPECT_EQ(said, "weights of epoch 3 restored");
        said = log.lines().at(log.lines().size() - 2);
      }
      expect_mentions(said, "early stopping after epoch 5: no better loss for 2 epochs");
      expect_mentions(said, "in epoch 3");
    }
  }
}

TEST(EarlyStopping, RestoresTheBestWeightsOfARunThatWasResumedBehindThem) {
  const ScratchDirectory scratch;
  const Dataset data = clouds(30);
  for (const bool restores : {false, true}) {
    const auto stopping = [&] {
      return std::make_shared<EarlyStopping>(
          2, EarlyStoppingOptions{.restore_best_weights = restores});
    };
    const auto path = scratch.path() / "fourth";
    Sequential model = small_mlp();
    Astray run(model);
    run.trainer.add_callback(stopping());
    run.trainer.fit(data, data, 4);
    run.trainer.save_checkpoint(path);
    run.trainer.fit_until(data, data, 20);
    Sequential other = small_mlp();
    Astray resumed(other);
    // Callbacks without state may differ.
    resumed.trainer.add_callback(CallbackFunctions{});
    resumed.trainer.add_callback(stopping());
    resumed.trainer.load_checkpoint(path);
    const Logged log;
    resumed.trainer.fit_until(data, data, 20);
    EXPECT_EQ(bytes_of(other), bytes_of(model));
    EXPECT_EQ(bytes_of(other), run.bytes.at(restores ? 3 : 5));
    EXPECT_TRUE(log.lines().empty());
  }
}

TEST(EarlyStopping, WarnsWhereTheBestWeightsWereThoseOfAnEarlierProcess) {
  const ScratchDirectory scratch;
  const Dataset data = clouds(30);
  Sequential model = small_mlp();
  Astray run(model);
  run.trainer.fit(data, data, 4);
  run.trainer.save_checkpoint(scratch.path() / "fourth");
  Sequential other = small_mlp();
  Astray resumed(other);
  resumed.trainer.load_checkpoint(scratch.path() / "fourth");
  resumed.trainer.add_callback(
      std::make_shared<EarlyStopping>(2, EarlyStoppingOptions{.restore_best_weights = true}));
  const Logged log;
  resumed.trainer.fit_until(data, data, 20);
  ASSERT_EQ(log.lines().size(), 1U);
  expect_mentions(log.lines()[0], "the weights of epoch 3, the best, are not restored");
}

TEST(Fit, LogsItsEpochsWhereNoCallbackShowsThem) {
  const Dataset data = clouds(30);
  for (const bool shows : {false, true}) {
    Sequential source = small_mlp();
    Sequential model = quantize_model(source);
    Trainer trainer(model, Adam(), {.batch_size = 10});
    std::FILE* file = std::tmpfile();
    if (shows) trainer.add_callback(std::make_shared<ProgressBar>(file));
    const Logged log(LogLevel::info);
    trainer.fit(data, data, 2);
    std::fclose(file);
    if (shows) {
      EXPECT_TRUE(log.lines().empty());
      continue;
    }
    ASSERT_EQ(log.lines().size(), 3U);
    expect_mentions(log.lines()[0], "qat   calibrated  test accuracy: simulated");
    expect_mentions(log.lines()[1], "qat   1/2  loss ");
    expect_mentions(log.lines()[2], "qat   2/2  loss ");
  }
}

}  // namespace
}  // namespace octet::test::early_stopping_test
