// What would lose accuracy without an error is told: in the log, and in what the call returns.

#include <gmock/gmock.h>
#include <octet/core/log.h>
#include <octet/layers/layers.h>
#include <octet/tests/train/training.h>
#include <octet/train/distributed/process_group.h>

#include <stdexcept>

namespace octet::test::silent_loss_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

/// What `call` logs as warnings.
template <class Call>
std::vector<std::string> logged_by(Call&& call) {
  std::vector<std::string> lines;
  const CollectWarnings collect(lines);
  call();
  return lines;
}

TEST(SilentLoss, RangesOfSamplesThatAreAllZero) {
  const Sequential model = small_mlp();
  Sequential quantized;
  // Nothing comes out of zeros without a bias: every range is a point.
  const auto ranges = AllOf(HasSubstr("model \"small\": what 3 of its layers gave was 0"),
                            HasSubstr("\"quantize_layer\", \"quant_dense\", \"quant_dense_1\""));
  const auto samples =
      HasSubstr("calibrate: input \"input_1\": all 100 samples hold the one value 0");
  EXPECT_THAT(logged_by([&] {
                quantized = quantize_post_training(model, Tensor::zeros({100, 6}));
              }),
              ElementsAre(ranges, samples));
  EXPECT_THAT(range_warnings(quantized), ElementsAre(ranges));
  Sequential again = quantize_model(model);
  std::vector<std::string> returned;
  const auto logged = logged_by([&] { returned = calibrate(again, Tensor::zeros({100, 6})); });
  EXPECT_THAT(returned, ElementsAre(ranges, samples));
  EXPECT_EQ(logged, returned);
}

TEST(SilentLoss, SamplesOfOneValue) {
  Sequential quantized = quantize_model(small_mlp());
  EXPECT_THAT(calibrate(quantized, Tensor::full({9, 6}, 0.5F)),
              ElementsAre(HasSubstr("all 9 samples hold the one value 0.5")));
  Sequential usual = quantize_model(small_mlp());
  EXPECT_THAT(calibrate(usual, clouds(20).features(0, 20)), ElementsAre());
  EXPECT_THAT(range_warnings(usual), ElementsAre());
}

TEST(SilentLoss, ZerosOnTheGridOfAnotherBranch) {
  Model model("net");
  const Value x = model.input({6});
  const Value dead = model.add(Dense(2, Activation::none, "dead"), x);
  model.output(model.add(Concatenate(), {dead, model.add(Dense(2), x)}));
  model.build(1);
  Tensor kernel = model.layer("dead").parameters()[0].tensor;
  std::ranges::fill(kernel.mutable_span(), 0.0F);
  Model quantized = quantize_model(model);
  EXPECT_THAT(calibrate(quantized, clouds(20).features(0, 20)), ElementsAre());
}

TEST(SilentLoss, ATrainerThatCalibratesOnZeros) {
  Sequential quantized = quantize_model(small_mlp());
  const Dataset zeros = Dataset::from_floats("zeros", {6}, std::vector<float>(60), Labels(10), 3);
  Trainer trainer(quantized, Sgd(), {.batch_size = 5});
  const auto logged = logged_by([&] { trainer.fit(zeros, 1); });
  EXPECT_THAT(trainer.warnings(),
              ElementsAre(HasSubstr("\"quantize_layer\", \"quant_dense\", \"quant_dense_1\"")));
  EXPECT_EQ(logged, trainer.warnings());
  trainer.fit(zeros, 1);
  EXPECT_THAT(trainer.warnings(), ElementsAre());
}

/// With its BatchNorm in float, or folded into the layer in front of it.
std::vector<std::string> warnings_of_training(Sequential model, std::size_t examples) {
  const Dataset data = clouds(examples);
  Trainer trainer(model, Sgd(), {.batch_size = 10, .freeze_batch_norm_after = 99});
  trainer.fit(data, 2);
  return trainer.warnings();
}

TEST(SilentLoss, BatchNormOnABatchOfOne) {
  Sequential model("net", Input({6}), Dense(4, Activation::none, "dense"),
                   BatchNorm({.name = "bn"}), ReLU(), Dense(3, Activation::softmax));
  model.build(1);
  // The last batch of an epoch has one example; told once for both.
  const auto told =
      ElementsAre(HasSubstr("BatchNorm \"bn\": trained on a batch with one value per channel"));
  EXPECT_THAT(warnings_of_training(model, 21), told);
  EXPECT_THAT(warnings_of_training(model, 22), ElementsAre());
  const Sequential folded = quantize_model(model, {.batch_norm = BatchNormMode::statistics});
  EXPECT_THAT(warnings_of_training(folded, 21), told);
  EXPECT_THAT(warnings_of_training(folded, 22), ElementsAre());
}

// ---- Where a rank is

TEST(Place, IsThatOfTheStepForWhoHandlesItsExceptionAlone) {
  ProcessGroup& group = group_or_alone(nullptr);
  Sequential model = small_mlp();
  Trainer trainer(model, Sgd(), {.batch_size = 5, .group = &group});
  trainer.add_callback({.on_step_begin = [](Trainer&, std::uint64_t step) {
    if (step == 1) throw std::runtime_error("stopped");
  }});
  std::string handling;
  try {
    trainer.fit(clouds(20), 1);
  } catch (const std::runtime_error&) {
    handling = group.place();
  }
  EXPECT_EQ(handling, "epoch 1, step 2");
  EXPECT_EQ(group.place(), "");
  try {
    throw std::runtime_error("another");
  } catch (const std::runtime_error&) {
    EXPECT_EQ(group.place(), "");
  }
}

}  // namespace
}  // namespace octet::test::silent_loss_test
