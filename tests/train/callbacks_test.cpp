#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/file.h>
#include <octet/tests/train/training.h>
#include <octet/train/callbacks.h>

#include <limits>

namespace octet::test::callbacks_test {
namespace {

std::string text_of(const std::filesystem::path& path) {
  const auto bytes = read_file(path);
  return {bytes.begin(), bytes.end()};
}

/// Writes down what it is told.
CallbackFunctions recorder(std::vector<std::string>& log) {
  CallbackFunctions hooks;
  hooks.on_fit_begin = [&](Trainer&, const History& history) {
    log.push_back(fmt::format("fit {}", history.size()));
  };
  hooks.on_fit_end = [&](Trainer&) { log.emplace_back("end of fit"); };
  hooks.on_calibrated = [&](Trainer& trainer, const EpochRecord& start) {
    log.push_back(fmt::format("calibrated {} {}", start.phase, trainer.steps()));
  };
  hooks.on_step_begin = [&](Trainer&, std::uint64_t step) {
    log.push_back(fmt::format("begin {}", step));
  };
  hooks.on_step_end = [&](Trainer&, const Progress& p) {
    log.push_back(fmt::format("{} epoch {}/{} batch {}/{} step {} images {}", p.phase, p.epoch,
                              p.epochs, p.batch, p.batches, p.step, p.images));
  };
  hooks.on_epoch_end = [&](Trainer& trainer, const EpochRecord& record) {
    EXPECT_EQ(trainer.history().back().epoch, record.epoch);
    log.push_back(fmt::format("end {}", record.epoch));
  };
  return hooks;
}

TEST(Callbacks, ComeInOrderWithTheirNumbers) {
  const Dataset data = clouds(7);
  Sequential model = small_mlp();
  Trainer trainer(model, Sgd(), {.batch_size = 4});
  std::vector<std::string> log;
  trainer.add_callback(recorder(log));
  trainer.fit(data, data, 1);
  trainer.fit(data, data, 1);
  EXPECT_EQ(log, (std::vector<std::string>{
                     "fit 0", "begin 0", "float epoch 1/1 batch 1/2 step 1 images 4", "begin 1",
                     "float epoch 1/1 batch 2/2 step 2 images 7", "end 1", "end of fit", "fit 1",
                     "begin 2", "float epoch 2/2 batch 1/2 step 3 images 4", "begin 3",
                     "float epoch 2/2 batch 2/2 step 4 images 7", "end 2", "end of fit"}));
}

TEST(Callbacks, HearOfCalibrationBeforeTheFirstStepAndOnce) {
  const Dataset data = clouds(4);
  Sequential model = quantize_model(small_mlp());
  Trainer trainer(model, Sgd(), {.batch_size = 4});
  std::vector<std::string> log;
  trainer.add_callback(recorder(log));
  trainer.fit(data, data, 0);
  trainer.fit(data, data, 1);
  EXPECT_EQ(log, (std::vector<std::string>{"fit 0", "calibrated qat 0", "end of fit", "fit 0",
                                           "begin 0", "qat epoch 1/1 batch 1/1 step 1 images 4",
                                           "end 1", "end of fit"}));
}

TEST(Callbacks, ProgressHoldsTheMeansSoFar) {
  const Dataset data = clouds(10);
  Sequential model = small_mlp();
  Trainer trainer(model, Sgd(1e-30F), {.batch_size = 4, .shuffle = false});
  std::vector<Progress> seen;
  trainer.add_callback(
      {.on_step_end = [&](Trainer&, const Progress& progress) { seen.push_back(progress); }});
  const EpochRecord record = trainer.fit(data, 1)[0];
  ASSERT_EQ(seen.size(), 3U);
  for (const Progress& p : seen) {
    const auto count = static_cast<std::size_t>(p.images);
    const Tensor output = model.forward_logits(data.features(0, count));
    const auto labels = data.labels().first(count);
    EXPECT_NEAR(p.loss, sparse_categorical_cross_entropy()(output, labels).item(), 1e-6);
    EXPECT_NEAR(*p.accuracy, accuracy(output, labels), 1e-12);
  }
  EXPECT_LE(seen[0].seconds, seen[1].seconds);
  EXPECT_EQ(seen[2].loss, record.train_loss);
  EXPECT_EQ(seen[2].accuracy, record.train_accuracy);
}

TEST(CsvLog, HoldsTheHistoryAfterEveryEpoch) {
  const ScratchDirectory scratch;
  const auto path = scratch.path() / "log.csv";
  const Dataset data = clouds(10);
  Sequential model = small_mlp();
  Trainer trainer(model, Sgd());
  trainer.add_callback(std::make_shared<CsvLog>(path));
  for (const int epochs : {1, 2}) {
    trainer.fit(data, data, epochs);
    EXPECT_EQ(text_of(path), history_csv(trainer.history()));
  }
  trainer.add_callback(std::make_shared<CsvLog>(scratch.path() / "no" / "log.csv"));
  EXPECT_THROW(trainer.fit(data, 1), IoError);
}

EpochRecord scored(double test_accuracy) {
  EpochRecord record;
  record.test_accuracy = test_accuracy;
  return record;
}

TEST(Score, IsTheIntegersThenTheTestsThenTheLoss) {
  EpochRecord record;
  record.train_loss = 0.25;
  EXPECT_EQ(score_of(record), -0.25);
  record.test_accuracy = 0.5;
  EXPECT_EQ(score_of(record), 0.5);
  record.integer_accuracy = 0.375;
  EXPECT_EQ(score_of(record), 0.375);
  EXPECT_EQ(loss_score(record), -0.25);
  record.metrics = {{"test_loss", 0.75}};
  EXPECT_EQ(loss_score(record), -0.75);
}

TEST(BestCheckpoint, IsSavedForABetterScoreAlone) {
  const ScratchDirectory scratch;
  const auto path = scratch.path() / "best";
  Sequential model = small_mlp();
  Trainer trainer(model, Sgd());
  BestCheckpoint best(path);
  best.on_fit_begin(trainer, {scored(0.3)});
  const auto saves_at = [&](double score) {
    std::filesystem::remove(path);
    best.on_epoch_end(trainer, scored(score));
    return std::filesystem::exists(path);
  };
  EXPECT_FALSE(saves_at(0.3));
  EXPECT_TRUE(saves_at(0.4));
  EXPECT_FALSE(saves_at(0.4));
  EXPECT_FALSE(saves_at(0.35));
  EXPECT_FALSE(saves_at(std::numeric_limits<double>::quiet_NaN()));
  EXPECT_TRUE(saves_at(0.5));
  best.on_fit_begin(trainer, {});
  EXPECT_TRUE(saves_at(0.1));
}

TEST(BestCheckpoint, HoldsTheModelOfTheBestEpoch) {
  const ScratchDirectory scratch;
  const Dataset data = clouds(30);
  const auto rate = [](std::uint64_t step) { return step < 9 ? 0.05F : 50.0F; };
  Sequential model = small_mlp();
  Trainer trainer(model, Adam(rate), {.batch_size = 10});
  trainer.add_callback(std::make_shared<BestCheckpoint>(scratch.path() / "best"));
  double best = 0.0;
  for (const EpochRecord& record : trainer.fit(data, data, 6)) {
    best = std::max(best, *record.test_accuracy);
  }
  ASSERT_LT(*trainer.history().back().test_accuracy, best);
  trainer.load_checkpoint(scratch.path() / "best");
  EXPECT_EQ(trainer.evaluate(data).accuracy, best);
}

TEST(LastCheckpoint, IsSavedAfterEveryEpochWithItsNotes) {
  const ScratchDirectory scratch;
  const auto path = scratch.path() / "last";
  const Dataset data = clouds(30);
  const std::map<std::string, std::string> notes = {{"who", "I"}, {"odd", "\n\"\xc3\xa9\""}};
  Sequential model = small_mlp();
  Trainer trainer(model, Adam(), {.batch_size = 10});
  trainer.add_callback(std::make_shared<LastCheckpoint>(path, notes));
  for (int epoch = 0; epoch < 2; ++epoch) {
    trainer.fit(data, 1);
    Sequential other = small_mlp(4);
    Trainer back(other, Adam(), {.batch_size = 10});
    EXPECT_EQ(back.load_checkpoint(path), notes);
    EXPECT_EQ(snapshot_of(back), snapshot_of(trainer));
  }
  EXPECT_EQ(Trainer::notes_of(Archive::read(path)), notes);
}

}  // namespace
}  // namespace octet::test::callbacks_test
