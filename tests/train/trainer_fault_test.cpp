// What a Trainer says when options, data or numbers are wrong.

#include <octet/core/error.h>
#include <octet/core/ops/elementwise.h>
#include <octet/tests/train/training.h>

#include <cmath>
#include <limits>

namespace octet::test::trainer_fault_test {
namespace {

const float kNaN = std::nanf("");

TEST(TrainerFault, OptionsAreChecked) {
  Sequential model = small_mlp();
  const auto message = [&](TrainerOptions options) {
    return message_of<InvalidArgument>([&] { Trainer(model, Sgd(), std::move(options)); });
  };
  expect_mentions(message({.batch_size = 0}), "batch size of at least 1");
  expect_mentions(message({.loss = Loss()}), "expected a loss");
  expect_mentions(message({.clip_norm = -1.0}), "clip_norm");
  expect_mentions(message({.clip_norm = std::nan("")}), "clip_norm");
  EXPECT_THROW(Trainer(model, std::unique_ptr<Optimizer>()), InvalidArgument);
  Trainer trainer(model, Sgd());
  EXPECT_THROW(trainer.add_callback(nullptr), InvalidArgument);
  Sequential headless("headless", Dense(3));
  EXPECT_THROW(Trainer(headless, Sgd()), InvalidArgument);
}

TEST(TrainerFault, DataAreChecked) {
  Sequential model = small_mlp();
  Trainer trainer(model, Sgd());
  const Dataset good = clouds(10);
  const Dataset wide = clouds(10, 1, 7);
  expect_mentions(message_of<InvalidArgument>([&] { trainer.fit(Dataset(), 1); }), "empty");
  expect_mentions(message_of<InvalidArgument>([&] { trainer.fit(wide, 1); }),
                  "takes examples of shape [6] (6 values), found [7] (7 values)");
  // Before an epoch is spent on training.
  expect_mentions(message_of<InvalidArgument>([&] { trainer.fit(good, wide, 1); }), "found [7]");
  EXPECT_EQ(trainer.steps(), 0U);
  EXPECT_THROW(trainer.evaluate(wide), InvalidArgument);
  EXPECT_THROW(trainer.predict(wide.features(0, 2)), InvalidArgument);
  // A label that the model has no output for.
  EXPECT_THROW(trainer.fit(clouds(10, 1, 6, 4), 1), InvalidArgument);
  EXPECT_EQ(trainer.fit(good, good, 1).size(), 1U);
}

TEST(TrainerFault, OnlyAQuantizedModelWithRangesIsExported) {
  const ScratchDirectory scratch;
  Sequential model = small_mlp();
  const Trainer trainer(model, Sgd());
  expect_mentions(
      message_of<InvalidArgument>([&] { trainer.export_int8(scratch.path() / "m.tflite"); }),
      "quantize_model");
  Sequential quantized = quantize_model(model);
  const Trainer qat(quantized, Sgd());
  expect_mentions(
      message_of<InvalidArgument>([&] { qat.export_int8(scratch.path() / "m.tflite"); }),
      "no range has been observed");
  EXPECT_TRUE(std::filesystem::is_empty(scratch.path()));
}

/// The message of a fit that finds NaN in `parameter` before step `step`, 5 steps an epoch.
std::string message_when_poisoned(Sequential& model, const std::string& parameter,
                                  std::uint64_t step) {
  const Dataset data = clouds(40);
  Trainer trainer(model, Sgd(), {.batch_size = 8});
  trainer.add_callback({.on_step_begin = [&](Trainer& trained, std::uint64_t now) {
    if (now != step) return;
    for (auto& [name, tensor] : trained.model().parameters()) {
      if (name == parameter) Tensor(tensor).mutable_data()[1] = kNaN;
    }
  }});
  std::string message = message_of<NumericError>([&] { trainer.fit(data, data, 3); });
  EXPECT_EQ(trainer.steps(), step);
  EXPECT_EQ(trainer.history().size(), step / 5);
  return message;
}

TEST(TrainerFault, NaNNamesEpochStepAndLayer) {
  Sequential first = small_mlp();
  const std::string at_once = message_when_poisoned(first, "dense/kernel", 0);
  expect_mentions(at_once, "training stopped at epoch 1, step 1: the loss is NaN;");
  expect_mentions(at_once, "\"dense/kernel\"");
  Sequential second = small_mlp();
  const std::string later = message_when_poisoned(second, "dense_1/bias", 7);
  expect_mentions(later, "epoch 2, step 3");
  expect_mentions(later, "\"dense_1/bias\"");
}

TEST(TrainerFault, NaNNamesTheLayerOfAQuantizedModel) {
  for (const Simulation simulation : {Simulation::integer, Simulation::fake_quant}) {
    for (const std::string tensor : {"kernel", "bias"}) {
      Sequential model = quantize_model(small_mlp(), {.simulation = simulation});
      const std::string message = message_when_poisoned(model, "quant_dense_1/" + tensor, 7);
      expect_mentions(message, "training stopped at epoch 2, step 3: ");
      expect_mentions(message, "dense_1");
    }
  }
}

TEST(TrainerFault, OverflowNamesTheFirstLayerWhoseOutputIsInfinite) {
  Sequential model("deep", Input({6}), Dense(4), Dense(4), Dense(3, Activation::softmax));
  model.build(0);
  std::ranges::fill(model.layer("dense_1").parameters()[0].tensor.mutable_span(), 3e38F);
  const Dataset data = Dataset::from_floats("ones", {6}, std::vector<float>(12, 100.0F), {0, 1}, 3);
  Trainer trainer(model, Sgd());
  const std::string message = message_of<NumericError>([&] { trainer.fit(data, 1); });
  expect_mentions(message, "epoch 1, step 1");
  expect_mentions(message, "the output of layer \"dense_1\" holds NaN or infinity");
}

TEST(TrainerFault, ASoftmaxInTheMiddleIsPartOfItsLayer) {
  // Logits of up to 1e30 would overflow in "b"; shares of 1 do so in "c" alone.
  Sequential model("deep", Input({6}), Dense(4, Activation::softmax, "a"),
                   Dense(4, Activation::none, "b"), Dense(3, Activation::softmax, "c"));
  model.build(0);
  for (const auto& [name, value] :
       std::map<std::string, float>{{"a", 1e28F}, {"b", 1e10F}, {"c", 3e38F}}) {
    std::ranges::fill(model.layer(name).parameters()[0].tensor.mutable_span(), value);
  }
  const Dataset data = Dataset::from_floats("ones", {6}, std::vector<float>(12, 1.0F), {0, 1}, 3);
  Trainer trainer(model, Sgd());
  expect_mentions(message_of<NumericError>([&] { trainer.fit(data, 1); }),
                  "the output of layer \"c\" holds NaN or infinity");
}

TEST(TrainerFault, NaNInTheDataIsNotTheModelsFault) {
  std::vector<float> values(12, 0.5F);
  values[9] = std::numeric_limits<float>::infinity();
  const Dataset data = Dataset::from_floats("bad", {6}, values, {0, 1}, 3);
  Sequential model = small_mlp();
  const Dataset good = clouds(2);
  Sequential quantized = quantize_model(small_mlp());
  calibrate(quantized, good.features(0, 2));
  Sequential calibrating = quantize_model(small_mlp());
  for (Sequential* net : {&model, &quantized, &calibrating}) {
    Trainer trainer(*net, Sgd());
    const std::string message = message_of<NumericError>([&] { trainer.fit(data, 1); });
    expect_mentions(message, "the batch itself holds NaN or infinity; look at the data set");
    EXPECT_EQ(message.find("learning rate"), std::string::npos) << message;
  }
  Trainer on_targets(model, Sgd(), {.loss = categorical_cross_entropy()});
  const Dataset bad = good.with_targets(Tensor::full({2, 3}, kNaN));
  const std::string message = message_of<NumericError>([&] { on_targets.fit(bad, 1); });
  expect_mentions(message,
                  "training stopped at epoch 1, step 1: the targets of the batch hold NaN");
  EXPECT_EQ(message.find("learning rate"), std::string::npos) << message;
}

TEST(TrainerFault, ALossThatReturnsNoNumberIsNamed) {
  const Dataset data = clouds(10);
  Sequential model = small_mlp();
  const auto message = [&](Loss loss) {
    return message_of<InvalidArgument>(
        [&] { Trainer(model, Sgd(), {.loss = std::move(loss)}).fit(data, 1); });
  };
  expect_mentions(message([](const Tensor&, const Targets&) { return Tensor(); }),
                  "expected a loss that returns one number, found an undefined tensor");
  expect_mentions(message([](const Tensor& output, const Targets&) { return output; }),
                  "found [10, 3]; take the mean()");
}

TEST(TrainerFault, NumbersOfEpochsAndEmptySetsAreChecked) {
  const Dataset data = clouds(10);
  Sequential model = small_mlp();
  Trainer trainer(model, Sgd());
  expect_mentions(message_of<InvalidArgument>([&] { trainer.fit(data, -1); }),
                  "Trainer::fit: expected 0 epochs or more, found -1");
  expect_mentions(message_of<InvalidArgument>([&] { trainer.fit_until(data, data, -3); }),
                  "Trainer::fit_until: expected 0 epochs or more, found -3");
  const Dataset empty = Dataset::from_floats("none", {6}, {}, {}, 3);
  expect_mentions(message_of<InvalidArgument>([&] { trainer.fit(data, empty, 1); }),
                  "the test set 'none' is empty");
  expect_mentions(message_of<InvalidArgument>([&] { trainer.fit(empty, data, 1); }),
                  "'none' is empty");
  EXPECT_EQ(trainer.steps(), 0U);
}

TEST(TrainerFault, ALossCanBeAtFaultItself) {
  const Dataset data = clouds(10);
  Sequential model = small_mlp();
  Trainer trainer(model, Sgd(), {.loss = [](const Tensor& output, auto labels) {
                    return sparse_categorical_cross_entropy()(output, labels) * kNaN;
                  }});
  expect_mentions(message_of<NumericError>([&] { trainer.fit(data, 1); }), "the loss itself");
}

TEST(TrainerFault, AHugeRateStopsTraining) {
  const Dataset data = clouds(40);
  const TrainerOptions options{.batch_size = 8};
  Sequential model = small_mlp();
  Trainer trainer(model, Sgd(1e30F), options);
  Sequential quantized = quantize_model(small_mlp());
  Trainer qat(quantized, Sgd(1e30F), options);
  for (Trainer* run : {&trainer, &qat}) {
    const std::string message = message_of<NumericError>([&] { run->fit(data, data, 3); });
    expect_mentions(message, "training stopped at epoch 1, step ");
    expect_mentions(message, "dense");
    expect_mentions(message, "smaller learning rate");
    EXPECT_TRUE(run->history().empty());
  }
}

TEST(TrainerFault, DivergenceInTheLastStepIsNoticed) {
  // Slopes of about 1e3 times the rate overflow; the only loss was finite.
  const Dataset data =
      Dataset::from_floats("large", {6}, std::vector<float>(12, 1000.0F), {0, 1}, 3);
  Sequential model = small_mlp();
  Trainer trainer(model, Sgd(3e38F));
  const std::string message = message_of<NumericError>([&] { trainer.fit(data, data, 1); });
  expect_mentions(message, "training stopped at epoch 1, step 1: parameter \"dense");
  EXPECT_TRUE(trainer.history().empty());
}

TEST(TrainerFault, ARunGoesOnFromACheckpointBeforeTheFault) {
  const ScratchDirectory scratch;
  const Dataset data = clouds(40);
  Sequential unbroken = small_mlp();
  Trainer reference(unbroken, Adam(), {.batch_size = 8});
  reference.fit(data, data, 3);

  Sequential model = small_mlp();
  Trainer trainer(model, Adam(), {.batch_size = 8});
  trainer.fit(data, data, 2);
  trainer.save_checkpoint(scratch.path() / "good");
  model.parameters()[0].tensor.mutable_data()[0] = kNaN;
  EXPECT_THROW(trainer.fit(data, data, 1), NumericError);
  trainer.load_checkpoint(scratch.path() / "good");
  trainer.fit(data, data, 1);
  EXPECT_EQ(snapshot_of(trainer), snapshot_of(reference));
}

}  // namespace
}  // namespace octet::test::trainer_fault_test
