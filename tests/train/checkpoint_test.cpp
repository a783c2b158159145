#include <octet/core/error.h>
#include <octet/core/file.h>
#include <octet/core/ops/reduce.h>
#include <octet/layers/dropout.h>
#include <octet/tests/train/training.h>
#include <octet/train/load_model.h>

#include <nlohmann/json.hpp>

namespace octet::test::checkpoint_test {
namespace {

/// Five steps an epoch, the last of them small.
constexpr std::size_t kBatch = 8;
constexpr std::size_t kExamples = 37;
constexpr std::uint64_t kStepsOfTwoEpochs = 10;

Sequential model_for(bool quantized, std::uint64_t seed = 0) {
  Sequential model("net", Input({6}), Dense(9, Activation::relu), Dropout(0.2F),
                   Dense(3, Activation::softmax));
  model.build(seed);
  return quantized ? quantize_model(model) : model;
}

Schedule rate() { return warmup(3, cosine_decay(0.02F, 12)); }

TrainerOptions options(std::function<bool()> should_stop = {}) {
  return {.batch_size = kBatch,
          .seed = 4,
          .backward = Backward::int8_stochastic,
          .clip_norm = 0.5,
          .augment =
              [](Tensor& x, auto, Random random) {
                for (Index i = 0; i < x.size(); ++i) {
                  x.mutable_data()[i] += 0.05F * random.normal(static_cast<std::uint64_t>(i));
                }
              },
          .should_stop = std::move(should_stop)};
}

/// Stops after every step k of a run of two epochs, and goes on in a trainer of its own.
template <class O>
void expect_same_as_unbroken(bool quantized, const O& optimizer) {
  const ScratchDirectory scratch;
  const auto path = scratch.path() / "checkpoint";
  const Dataset train = clouds(kExamples, 1);
  const Dataset test = clouds(20, 2);
  Sequential whole_model = model_for(quantized);
  Trainer whole(whole_model, optimizer, options());
  whole.fit(train, test, 2);
  const Snapshot expected = snapshot_of(whole);
  for (std::uint64_t k = 1; k <= kStepsOfTwoEpochs; ++k) {
    Sequential model = model_for(quantized);
    std::uint64_t done = 0;
    Trainer trainer(model, optimizer, options([&] { return ++done == k; }));
    trainer.fit_until(train, test, 2);
    EXPECT_TRUE(trainer.stopped());
    EXPECT_EQ(trainer.steps(), k);
    trainer.save_checkpoint(path, {{"k", std::to_string(k)}});

    Sequential fresh = model_for(quantized, 77);
    Trainer resumed(fresh, optimizer, options());
    EXPECT_EQ(resumed.load_checkpoint(path).at("k"), std::to_string(k));
    EXPECT_EQ(snapshot_of(resumed), snapshot_of(trainer));
    resumed.fit_until(train, test, 2);
    EXPECT_FALSE(resumed.stopped());
    EXPECT_EQ(snapshot_of(resumed), expected) << "stopped after step " << k;
    EXPECT_EQ(resumed.calibrated().has_value(), quantized);
    if (quantized) {
      EXPECT_EQ(exported_bytes(resumed), exported_bytes(whole));
    }
    // The trainer that stopped can go on as well.
    trainer.fit_until(train, test, 2);
    EXPECT_FALSE(trainer.stopped());
    EXPECT_EQ(snapshot_of(trainer), expected) << "stopped after step " << k;
  }
}

TEST(Checkpoint, AFloatRunGoesOnAsIfItHadNeverStopped) {
  expect_same_as_unbroken(false, Adam(rate()));
  expect_same_as_unbroken(false, Sgd(rate(), {.momentum = 0.9F}));
}

TEST(Checkpoint, AQuantizedRunGoesOnAsIfItHadNeverStopped) {
  expect_same_as_unbroken(true, AdamW(rate()));
  expect_same_as_unbroken(true, Sgd(rate(), {.momentum = 0.9F, .nesterov = true}));
}

TEST(Checkpoint, BeforeTheFirstStep) {
  const ScratchDirectory scratch;
  const Dataset train = clouds(kExamples, 1);
  for (const bool quantized : {false, true}) {
    Sequential model = model_for(quantized);
    Trainer trainer(model, Adam(rate()), options());
    trainer.save_checkpoint(scratch.path() / "start");
    trainer.fit(train, train, 1);
    Sequential fresh = model_for(quantized, 5);
    Trainer resumed(fresh, Adam(rate()), options());
    resumed.load_checkpoint(scratch.path() / "start");
    resumed.fit(train, train, 1);
    EXPECT_EQ(snapshot_of(resumed), snapshot_of(trainer));
  }
}

TEST(Checkpoint, KeepsTheCalibratedScore) {
  const ScratchDirectory scratch;
  const Dataset data = clouds(kExamples, 1);
  Sequential model = model_for(true);
  Trainer trainer(model, Adam(rate()), options());
  trainer.fit(data, data, 1);
  trainer.save_checkpoint(scratch.path() / "c");
  Sequential fresh = model_for(true, 5);
  Trainer resumed(fresh, Adam(rate()), options());
  EXPECT_FALSE(resumed.calibrated().has_value());
  resumed.load_checkpoint(scratch.path() / "c");
  ASSERT_TRUE(resumed.calibrated().has_value());
  EXPECT_EQ(resumed.calibrated()->integer_accuracy, trainer.calibrated()->integer_accuracy);
  EXPECT_EQ(resumed.calibrated()->test_accuracy, trainer.calibrated()->test_accuracy);
}

TEST(Checkpoint, OfARunWithoutACalibratedScoreLeavesNone) {
  const ScratchDirectory scratch;
  const Dataset data = clouds(kExamples, 1);
  Sequential model = model_for(true);
  Trainer trainer(model, Adam(rate()), options());
  trainer.fit(data, 1);
  EXPECT_FALSE(trainer.calibrated().has_value());
  trainer.save_checkpoint(scratch.path() / "c");
  Sequential other = model_for(true, 5);
  Trainer scored(other, Adam(rate()), options());
  scored.fit(data, data, 1);
  EXPECT_TRUE(scored.calibrated().has_value());
  scored.load_checkpoint(scratch.path() / "c");
  EXPECT_FALSE(scored.calibrated().has_value());
}

/// A checkpoint of a float run of one epoch.
Bytes checkpoint_bytes(const std::filesystem::path& path) {
  const Dataset data = clouds(kExamples, 1);
  Sequential model = model_for(false);
  Trainer trainer(model, Adam(rate()), options());
  trainer.fit(data, 1);
  trainer.save_checkpoint(path);
  return read_file(path);
}

template <class E>
void expect_refused(Trainer& trainer, const std::filesystem::path& path, std::string_view part) {
  const Snapshot before = snapshot_of(trainer);
  const std::string message = message_of<E>([&] { trainer.load_checkpoint(path); });
  expect_mentions(message, part);
  expect_mentions(message, path.string());
  EXPECT_EQ(snapshot_of(trainer), before);
}

TEST(Checkpoint, OfAnotherRunIsRefused) {
  const ScratchDirectory scratch;
  const auto path = scratch.path() / "c";
  checkpoint_bytes(path);
  const auto refused = [&](Sequential model, const auto& optimizer, TrainerOptions other,
                           std::string_view part) {
    Trainer trainer(model, optimizer, std::move(other));
    expect_refused<FormatError>(trainer, path, part);
  };
  refused(model_for(true), Adam(rate()), options(), "expected phase \"qat\", found \"float\"");
  refused(model_for(false), AdamW(rate()), options(),
          "expected optimizer \"AdamW\", found \"Adam\"");
  refused(model_for(false), Sgd(rate()), options(), "expected optimizer");
  TrainerOptions other = options();
  other.seed = 5;
  refused(model_for(false), Adam(rate()), other, "expected seed 5, found 4");
  other = options();
  other.batch_size = 9;
  refused(model_for(false), Adam(rate()), other, "expected batch_size 9, found 8");
  refused(small_mlp(0, 6, 8), Adam(rate()), options(), "dense/kernel");
  Sequential renamed("net", Input({6}), Dense(9, Activation::relu, "first"),
                     Dense(3, Activation::softmax));
  renamed.build(0);
  refused(std::move(renamed), Adam(rate()), options(), "first/kernel");
  // The last tensor alone differs: nothing before it may have been taken.
  Sequential wider("net", Input({6}), Dense(9, Activation::relu), Dropout(0.2F),
                   Dense(4, Activation::softmax));
  wider.build(1);
  refused(std::move(wider), Adam(rate()), options(), "dense_1/kernel");
}

TEST(Checkpoint, CutOrFlippedIsRefused) {
  const ScratchDirectory scratch;
  const auto path = scratch.path() / "c";
  const Bytes whole = checkpoint_bytes(path);
  Sequential model = model_for(false, 9);
  Trainer trainer(model, Adam(rate()), options());
  const Snapshot before = snapshot_of(trainer);
  const auto load = [&](const Bytes& bytes) {
    trainer.restore(Archive::from_bytes(bytes, "test"));
  };
  for (std::size_t size = 0; size < whole.size(); size += size < 64 ? 1 : 97) {
    EXPECT_THROW(load(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size))),
                 FormatError)
        << size;
  }
  for (std::size_t at = 0; at < whole.size(); at += at < 64 ? 1 : 61) {
    Bytes flipped = whole;
    flipped[at] ^= static_cast<std::uint8_t>(1U << (at % 8));
    EXPECT_THROW(load(flipped), FormatError) << at;
  }
  Bytes longer = whole;
  longer.push_back(0);
  EXPECT_THROW(load(longer), FormatError);
  write_file_atomic(path, longer);
  EXPECT_THROW(trainer.load_checkpoint(path), FormatError);
  EXPECT_EQ(snapshot_of(trainer), before);
  EXPECT_NO_THROW(load(whole));
  EXPECT_EQ(trainer.steps(), 5U);
}

TEST(Checkpoint, WithOddContentsIsRefused) {
  const ScratchDirectory scratch;
  const auto path = scratch.path() / "c";
  checkpoint_bytes(path);
  const Archive good = Archive::read(path);
  Sequential model = model_for(false, 9);
  Trainer trainer(model, Adam(rate()), options());
  const auto refused = [&](const std::string& entry, const std::string& text) {
    Archive changed = good;
    changed.add_text(entry, text);
    const Snapshot before = snapshot_of(trainer);
    EXPECT_THROW(trainer.restore(changed), FormatError) << entry << " = " << text;
    EXPECT_EQ(snapshot_of(trainer), before);
  };
  refused("kind", "octet checkpoint 99");
  refused("history", "{}");
  refused("calibrated", "7");
  refused("notes", "[1]");
  for (const std::string text : {"", "[]", "{}"}) refused("trainer", text);
  const auto with = [&](const std::string& key, const nlohmann::json& value) {
    auto changed = nlohmann::json::parse(good.text("trainer"));
    changed[key] = value;
    return changed.dump();
  };
  refused("trainer", with("sums", {1.0, 2.0}));
  refused("trainer", with("sums", "none"));
  refused("trainer", with("step", "many"));
  refused("trainer", with("epoch", nullptr));
  refused("trainer", with("epoch", -1));
  refused("trainer", with("batch", -1));

  Archive weights;  // a file of weights is no checkpoint
  for (const auto& [name, tensor] : model.saved_tensors()) weights.add(name, tensor);
  EXPECT_THROW(trainer.restore(weights), FormatError);
  EXPECT_THROW(Trainer::notes_of(weights), FormatError);
  EXPECT_THROW(trainer.load_checkpoint(scratch.path() / "none"), IoError);
  EXPECT_THROW(trainer.save_checkpoint(scratch.path() / "no" / "c"), IoError);
}

TEST(Checkpoint, OfTheFirstFormatIsRefusedWithWhatToDo) {
  const ScratchDirectory scratch;
  const auto path = scratch.path() / "c";
  checkpoint_bytes(path);
  Archive old = Archive::read(path);
  old.add_text("kind", "octet checkpoint 1");
  old.write(path);
  Sequential model = model_for(false, 9);
  Trainer trainer(model, Adam(rate()), options());
  for (const char* part : {"expected kind \"octet checkpoint 2\", found \"octet checkpoint 1\"",
                           "start the run anew"}) {
    expect_refused<FormatError>(trainer, path, part);
    expect_mentions(message_of<FormatError>([&] { load_model(path); }), part);
    expect_mentions(message_of<FormatError>([&] { Trainer::notes_of(old); }), part);
  }
}

TEST(Checkpoint, KeepsMetrics) {
  const ScratchDirectory scratch;
  const auto path = scratch.path() / "c";
  const Dataset train = clouds(kExamples, 1);
  const auto with_metric = [](std::function<bool()> should_stop = {}) {
    TrainerOptions all = options(std::move(should_stop));
    all.metrics = {
        {"mean", [](const Tensor& output, auto) { return double{mean(output).item()}; }}};
    return all;
  };
  Sequential whole_model = model_for(true);
  Trainer whole(whole_model, Adam(rate()), with_metric());
  whole.fit(train, train, 2);
  Sequential model = model_for(true);
  int done = 0;
  Trainer stopped(model, Adam(rate()), with_metric([&] { return ++done == 7; }));
  stopped.fit(train, train, 2);
  stopped.save_checkpoint(path);
  Sequential fresh = model_for(true, 77);
  Trainer resumed(fresh, Adam(rate()), with_metric());
  resumed.load_checkpoint(path);
  EXPECT_EQ(resumed.calibrated()->metrics, whole.calibrated()->metrics);
  resumed.fit_until(train, train, 2);
  ASSERT_EQ(resumed.history().size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    ASSERT_EQ(resumed.history()[i].metrics.size(), 1U);
    EXPECT_EQ(resumed.history()[i].metrics, whole.history()[i].metrics);
  }
  EXPECT_NE(resumed.history()[0].metrics, resumed.history()[1].metrics);
}

TEST(Checkpoint, GoesOnlyWithDataOfEnoughBatches) {
  const ScratchDirectory scratch;
  const Dataset data = clouds(kExamples, 1);
  Sequential model = model_for(false);
  int done = 0;
  Trainer trainer(model, Adam(rate()), options([&] { return ++done == 4; }));
  trainer.fit(data, 1);
  expect_mentions(message_of<InvalidArgument>([&] { trainer.fit(data.head(10), 1); }),
                  "another batch size or data set");
}

}  // namespace
}  // namespace octet::test::checkpoint_test
