// Batch normalization from the float run to the integers: trained, folded, frozen, resumed.

#include <octet/core/error.h>
#include <octet/layers/batch_norm.h>
#include <octet/layers/conv2d.h>
#include <octet/layers/folded_batch_norm.h>
#include <octet/layers/reshape.h>
#include <octet/tests/core/thrown.h>
#include <octet/tests/train/training.h>
#include <octet/train/load_model.h>

namespace octet::test::batch_norm_training_test {
namespace {

/// Five steps an epoch, the last of them small.
constexpr std::size_t kBatch = 8;
constexpr std::size_t kExamples = 37;

/// A convolution on images of 2 x 3 and a Dense layer, with batch normalization behind both.
Sequential net(std::uint64_t seed = 0) {
  Sequential model("net", Input({6}), Reshape({2, 3, 1}),
                   Conv2D(5, 2, Activation::none, {.padding = Padding::same, .use_bias = false}),
                   BatchNorm({.momentum = 0.8F}), ReLU(), Flatten(), Dense(9),
                   BatchNorm({.momentum = 0.8F}), ReLU6(), Dense(3, Activation::softmax));
  model.build(seed);
  return model;
}

enum class Kind { in_float, folded, statistics };

Sequential net_of(Kind kind, std::uint64_t seed = 0) {
  if (kind == Kind::in_float) return net(seed);
  return quantize_model(
      net(seed),
      {.batch_norm = kind == Kind::folded ? BatchNormMode::folded : BatchNormMode::statistics});
}

/// How many quantized layers have batch normalization, and of how many it is frozen.
std::pair<int, int> frozen_of(const Model& model) {
  std::pair<int, int> count;
  for (const auto& layer : model.layers()) {
    const FoldedBatchNorm* norm = folded_batch_norm(*layer);
    if (norm == nullptr) continue;
    ++count.first;
    count.second += norm->frozen() ? 1 : 0;
  }
  return count;
}

class BatchNormRun : public ::testing::TestWithParam<Kind> {};

TEST_P(BatchNormRun, GoesOnAsIfItHadNeverStopped) {
  const ScratchDirectory scratch;
  const auto path = scratch.path() / "checkpoint";
  const Dataset train = clouds(kExamples, 1);
  const Dataset test = clouds(20, 2);
  const Kind kind = GetParam();
  Sequential whole_model = net_of(kind);
  Trainer whole(whole_model, Adam(0.01F), {.batch_size = kBatch});
  whole.fit(train, test, 2);
  const Snapshot expected = snapshot_of(whole);
  // Statistics are kept from step 7 of the 10 on.
  for (std::uint64_t k = 1; k <= 10; ++k) {
    Sequential model = net_of(kind);
    std::uint64_t done = 0;
    Trainer trainer(model, Adam(0.01F),
                    {.batch_size = kBatch, .should_stop = [&] { return ++done == k; }});
    trainer.fit_until(train, test, 2);
    trainer.save_checkpoint(path);
    Sequential fresh = net_of(kind, 77);
    Trainer resumed(fresh, Adam(0.01F), {.batch_size = kBatch});
    resumed.load_checkpoint(path);
    EXPECT_EQ(snapshot_of(resumed), snapshot_of(trainer));
    resumed.fit_until(train, test, 2);
    EXPECT_EQ(snapshot_of(resumed), expected) << "stopped after step " << k;
    if (kind == Kind::in_float) continue;
    EXPECT_EQ(exported_bytes(resumed), exported_bytes(whole));
    // The file describes the model by itself.
    const Model loaded = load_model(path);
    EXPECT_EQ(bytes_of(loaded), bytes_of(trainer.model()));
  }
}

TEST_P(BatchNormRun, GivesTheSameBytesOnAnyNumberOfThreads) {
  const KeepThreads keep;
  const Dataset data = clouds(90, 5);
  Bytes first;
  for (const int threads : {1, 2, 3, 4}) {
    set_num_threads(threads);
    Sequential model = net_of(GetParam());
    Trainer trainer(model, Adam(0.01F), {.batch_size = 32});
    trainer.fit(data, data.head(20), 2);
    if (first.empty()) first = bytes_of(model);
    EXPECT_EQ(bytes_of(model), first) << threads;
  }
}

std::string name_of(const ::testing::TestParamInfo<Kind>& test) {
  return test.param == Kind::in_float ? "float"
         : test.param == Kind::folded ? "folded"
                                      : "statistics";
}
INSTANTIATE_TEST_SUITE_P(Kinds, BatchNormRun,
                         ::testing::Values(Kind::in_float, Kind::folded, Kind::statistics),
                         name_of);

/// The epoch and the steps in which statistics were kept, from the steps of a run.
std::vector<std::uint64_t> frozen_steps(std::optional<int> after, int epochs) {
  Sequential model = net_of(Kind::statistics);
  std::vector<std::uint64_t> steps;
  Trainer trainer(model, Sgd(0.01F), {.batch_size = kBatch, .freeze_batch_norm_after = after});
  trainer.add_callback({.on_step_end = [&](Trainer&, const Progress& progress) {
    if (frozen_of(model).second == 2) steps.push_back(progress.step);
  }});
  trainer.fit(clouds(kExamples, 1), epochs);
  EXPECT_EQ(frozen_of(model).first, 2);
  return steps;
}

TEST(BatchNormTraining, StatisticsAreKeptForTheLastThirdOrFromAnEpochOn) {
  using Steps = std::vector<std::uint64_t>;
  EXPECT_EQ(frozen_steps({}, 2), (Steps{8, 9, 10}));
  EXPECT_EQ(frozen_steps({}, 3), (Steps{11, 12, 13, 14, 15}));
  EXPECT_EQ(frozen_steps(1, 2), (Steps{6, 7, 8, 9, 10}));
  EXPECT_EQ(frozen_steps(0, 1), (Steps{1, 2, 3, 4, 5}));
  EXPECT_EQ(frozen_steps(2, 2), Steps{});
  Sequential model = net();
  EXPECT_THROW(Trainer(model, Sgd(0.01F), {.freeze_batch_norm_after = -1}), InvalidArgument);
}

TEST(BatchNormTraining, ACheckpointOfAnotherModeIsRefused) {
  const ScratchDirectory scratch;
  Sequential model = net_of(Kind::folded);
  Trainer trainer(model, Adam(0.01F), {.batch_size = kBatch});
  trainer.save_checkpoint(scratch.path() / "c");
  Sequential other = net_of(Kind::statistics);
  Trainer resumed(other, Adam(0.01F), {.batch_size = kBatch});
  expect_throws<FormatError>([&] { resumed.load_checkpoint(scratch.path() / "c"); },
                             {"mode of layer"});
}

/// The float network, then the same quantized in each way: what it scores on other examples.
TEST(BatchNormTraining, TheIntegersScoreWhatTheFloatNetworkScores) {
  const Dataset train = clouds(1200, 1, 6, 3, 0.35F);
  const Dataset test = clouds(2000, 2, 6, 3, 0.35F);
  Sequential float_net = net();
  Trainer trainer(float_net, Adam(0.01F), {.batch_size = 32});
  trainer.fit(train, test, 6);
  const double in_float = *trainer.history().back().test_accuracy;
  EXPECT_GT(in_float, 0.85);
  for (const BatchNormMode mode : {BatchNormMode::folded, BatchNormMode::statistics}) {
    Sequential model = quantize_model(float_net, {.batch_norm = mode});
    Trainer quantized(model, Adam(0.001F), {.batch_size = 32});
    quantized.fit(train, test, 3);
    ASSERT_TRUE(quantized.calibrated().has_value());
    EXPECT_NEAR(*quantized.calibrated()->integer_accuracy, in_float, 0.01) << "after the fold";
    for (const EpochRecord& record : quantized.history()) {
      EXPECT_EQ(record.differing_predictions, 0U);
    }
    EXPECT_NEAR(*quantized.history().back().integer_accuracy, in_float, 0.01);
  }
  // Quantized from scratch.
  Sequential scratch_net = quantize_model(net(), {.batch_norm = BatchNormMode::statistics});
  Trainer scratch(scratch_net, Adam(0.01F), {.batch_size = 32});
  scratch.fit(train, test, 9);
  EXPECT_EQ(frozen_of(scratch_net), (std::pair{2, 2}));
  EXPECT_NEAR(*scratch.history().back().integer_accuracy, in_float, 0.02);
}

/// Fine-tuning to data of another mean: the sum of the features is 20 where it was 0.
TEST(BatchNormTraining, BehindAFrozenLayerItFollowsNewData) {
  const Dataset data = [] {
    const Dataset old = clouds(512, 1, 4);
    const Tensor features = old.features(0, old.size());
    std::vector<float> values(features.span().begin(), features.span().end());
    for (float& value : values) value += 5.0F;
    const Labels labels(old.labels().begin(), old.labels().end());
    return Dataset::from_floats("brighter", {4}, values, labels, old.classes());
  }();
  Sequential model("m", Input({4}), Dense(1, Activation::none, "c"),
                   BatchNorm({.momentum = 0.5F, .name = "n"}), ReLU(), Dense(3));
  model.build(0);
  Tensor kernel = model.part("c").weights()->kernel;
  std::ranges::fill(kernel.mutable_span(), 1.0F);
  model.part("c").set_trainable(false);
  const auto mean_after = [&](Model of) {
    Trainer trainer(of, Adam(1e-4F), {.batch_size = 64, .freeze_batch_norm_after = 100});
    trainer.fit(data, 4);
    return of.part("n").state().front().tensor.item();
  };
  const float expected = mean_after(model);
  EXPECT_NEAR(expected, 20.0F, 1.5F);
  const Model quantized = quantize_model(model, {.batch_norm = BatchNormMode::statistics});
  EXPECT_NEAR(mean_after(quantized), expected, 0.2F);
  quantized.part("n").set_trainable(false);
  EXPECT_EQ(mean_after(quantized), 0.0F);
}

}  // namespace
}  // namespace octet::test::batch_norm_training_test
