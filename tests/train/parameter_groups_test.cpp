// Frozen layers, groups of parameters, and gradients of several batches per step.

#include <octet/core/error.h>
#include <octet/core/ops/elementwise.h>
#include <octet/core/ops/reduce.h>
#include <octet/layers/activation.h>
#include <octet/layers/batch_norm.h>
#include <octet/layers/dropout.h>
#include <octet/tests/train/training.h>
#include <octet/train/callbacks.h>

#include <array>
#include <set>

namespace octet::test::parameter_groups_test {
namespace {

/// One step on gradients of 1, from parameters of 1.
std::map<std::string, float> after_a_step(Optimizer& optimizer) {
  const std::vector<NamedTensor> parameters = two_parameters();
  optimizer.step({{"first/kernel", parameters[0].tensor}, {"second/kernel", parameters[1].tensor}});
  return {{"first", parameters[0].tensor.span()[0]}, {"second", parameters[1].tensor.span()[0]}};
}

TEST(ParameterGroups, HaveTheirOwnRateAndWeightDecay) {
  Sgd sgd(0.1F, {.weight_decay = 0.5F});
  sgd.add_group({.contains = in_layers({"first"}), .rate_factor = 10.0F, .weight_decay = 0.0F});
  const auto found = after_a_step(sgd);
  EXPECT_FLOAT_EQ(found.at("first"), 1.0F - 1.0F * 1.0F);
  // The gradient of "second" is 2, and it decays.
  EXPECT_FLOAT_EQ(found.at("second"), 1.0F - 0.1F * 2.5F);
}

TEST(ParameterGroups, AreFoundInOrder) {
  Sgd sgd(0.1F);
  sgd.add_group({.contains = in_layers({"second"}), .rate_factor = 0.0F});
  sgd.add_group({.contains = [](std::string_view) { return true; }, .rate_factor = 2.0F});
  const auto found = after_a_step(sgd);
  EXPECT_FLOAT_EQ(found.at("first"), 0.8F);
  EXPECT_EQ(found.at("second"), 1.0F);
}

TEST(ParameterGroups, OfTheSameOptionsChangeNoBit) {
  const Dataset data = clouds(60);
  const auto trained = [&](const Optimizer& optimizer, bool quantized) {
    Sequential model = quantized ? quantize_model(small_mlp()) : small_mlp();
    Trainer trainer(model, optimizer, {.batch_size = 8});
    trainer.fit(data, 2);
    return snapshot_of(trainer);
  };
  for (const bool quantized : {false, true}) {
    const AdamW plain(0.01F);
    AdamW grouped(0.01F);
    grouped.add_group({.contains = [](std::string_view name) { return name.ends_with("bias"); }});
    const Snapshot expected = trained(plain, quantized);
    EXPECT_EQ(trained(grouped, quantized), expected);
    AdamW other(0.01F);
    other.add_group({.contains = [](std::string_view name) { return name.ends_with("bias"); },
                     .weight_decay = 1.0F});
    EXPECT_NE(trained(other, quantized), expected);
  }
}

TEST(ParameterGroups, ContainThePartsOfFusedLayers) {
  Sequential source("m", Input({6}), Dense(4, Activation::none, "c"), BatchNorm({.name = "n"}),
                    ReLU(), Dense(3, Activation::softmax, "head"));
  source.build(1);
  for (const bool quantized : {false, true}) {
    const Model model =
        quantized ? quantize_model(source, {.weight_scales = Scales::lsq}) : Model(source);
    const std::string prefix = quantized ? "quant_" : "";
    const std::string norm = quantized ? "quant_c/" : "n/";
    using Names = std::set<std::string>;
    for (const auto& [layers, expected] : std::vector<std::pair<std::vector<std::string>, Names>>{
             {{"c"}, {prefix + "c/kernel", prefix + "c/bias"}},
             {{"n", "head"},
              {norm + "gamma", norm + "beta", prefix + "head/kernel", prefix + "head/bias"}},
             {{}, {}}}) {
      const auto contains = in_layers(model, layers);
      Names found;
      for (const auto& [name, tensor] : model.parameters()) {
        if (contains(name)) found.insert(name);
      }
      EXPECT_EQ(found, expected);
    }
    expect_mentions(message_of<InvalidArgument>([&] { in_layers(model, {"dens"}); }),
                    "no layer named \"dens\"");
  }
}

TEST(ParameterGroups, ThatMakeNoSenseAreRefused) {
  const auto all = [](std::string_view) { return true; };
  Adam adam;
  EXPECT_THROW(adam.add_group({.contains = {}}), InvalidArgument);
  EXPECT_THROW(adam.add_group({.contains = all, .rate_factor = -1.0F}), InvalidArgument);
  EXPECT_THROW(adam.add_group({.contains = all, .weight_decay = -1.0F}), InvalidArgument);
  adam.add_group({.contains = in_layers({"dens"})});
  Sequential model = small_mlp();
  expect_mentions(message_of<InvalidArgument>([&] { Trainer(model, adam); }),
                  "group 0 contains no parameter");
  EXPECT_THROW(adam.step(model.parameters()), InvalidArgument);
  EXPECT_THROW(adam.step(model.parameters()), InvalidArgument);
  Adam used;
  used.build(model.parameters());
  expect_mentions(message_of<InvalidArgument>([&] { used.add_group({.contains = all}); }),
                  "before the first step");
}

TEST(Trainable, AFrozenLayerStaysAsItIs) {
  const Dataset data = clouds(60);
  for (const bool quantized : {false, true}) {
    Sequential model = quantized ? quantize_model(small_mlp()) : small_mlp();
    const std::string name = quantized ? "quant_dense" : "dense";
    EXPECT_TRUE(model.layer(name).trainable());
    model.layer(name).set_trainable(false);
    EXPECT_FALSE(model.layer(name).trainable());
    const Bytes frozen = bytes_of(model.layer(name).parameters());
    const Bytes free = bytes_of(model.layer(name + "_1").parameters());
    Trainer trainer(model, AdamW(0.01F), {.batch_size = 8});
    trainer.fit(data, 2);
    EXPECT_EQ(bytes_of(model.layer(name).parameters()), frozen);
    EXPECT_NE(bytes_of(model.layer(name + "_1").parameters()), free);
    model.layer(name).set_trainable(true);
    trainer.fit(data, 1);
    EXPECT_NE(bytes_of(model.layer(name).parameters()), frozen);
  }
}

TEST(Trainable, SurvivesCopiesAndQuantization) {
  Sequential model = small_mlp();
  model.layer("dense").set_trainable(false);
  EXPECT_FALSE(Sequential(model).layer("dense").trainable());
  const Sequential quantized = quantize_model(model);
  EXPECT_FALSE(quantized.layer("quant_dense").trainable());
  EXPECT_TRUE(quantized.layer("quant_dense_1").trainable());
  Sequential fresh("m", Input({6}), Dense(3));
  expect_mentions(message_of<InvalidArgument>([&] { fresh.layer("dense").set_trainable(false); }),
                  "build() the model first");
}

TEST(Trainable, NothingToTrainIsAnError) {
  Sequential model = small_mlp();
  for (const char* name : {"dense", "dense_1"}) model.layer(name).set_trainable(false);
  Trainer trainer(model, Adam());
  expect_mentions(message_of<InvalidArgument>([&] { trainer.fit(clouds(10), 1); }),
                  "every layer is frozen");
}

TEST(Trainable, ACheckpointGoesWithTheSameFrozenLayersAlone) {
  const ScratchDirectory scratch;
  Sequential model = small_mlp();
  model.layer("dense").set_trainable(false);
  Trainer trainer(model, Adam());
  trainer.fit(clouds(20), 1);
  trainer.save_checkpoint(scratch.path() / "c");
  Sequential other = small_mlp();
  Trainer resumed(other, Adam());
  expect_mentions(message_of<FormatError>([&] { resumed.load_checkpoint(scratch.path() / "c"); }),
                  "checkpoint: expected frozen [], found [\"dense/kernel\",\"dense/bias\"]");
  other.layer("dense").set_trainable(false);
  EXPECT_NO_THROW(resumed.load_checkpoint(scratch.path() / "c"));
}

/// Parameters after one epoch of plain SGD at the rate 0.5.
std::vector<float> after_sgd(std::size_t batch_size, std::size_t accumulate, std::size_t rows,
                             std::uint64_t* steps = nullptr) {
  Sequential model = small_mlp();
  Trainer trainer(model, Sgd(0.5F),
                  {.batch_size = batch_size, .accumulate_batches = accumulate, .shuffle = false});
  trainer.fit(clouds(rows), 1);
  if (steps != nullptr) *steps = trainer.steps();
  std::vector<float> all;
  for (const auto& [name, tensor] : model.parameters()) {
    all.insert(all.end(), tensor.span().begin(), tensor.span().end());
  }
  return all;
}

TEST(Accumulation, IsAStepOnAllItsRows) {
  // 3 batches of 8 and one of 6: the mean is by rows, not by batches.
  for (const std::size_t rows : {30U, 32U, 44U}) {
    std::uint64_t steps = 0;
    const auto whole = after_sgd(32, 1, rows, &steps);
    EXPECT_EQ(steps, (rows + 31) / 32);
    const auto parts = after_sgd(8, 4, rows, &steps);
    EXPECT_EQ(steps, (rows + 31) / 32);
    ASSERT_EQ(whole.size(), parts.size());
    for (std::size_t i = 0; i < whole.size(); ++i) EXPECT_NEAR(whole[i], parts[i], 1e-5) << rows;
  }
}

TEST(Accumulation, ResumesAtAStep) {
  const ScratchDirectory scratch;
  const Dataset data = clouds(45);
  const auto options = [](std::function<bool()> stop) {
    return TrainerOptions{.batch_size = 8, .accumulate_batches = 2, .should_stop = std::move(stop)};
  };
  const auto net = [] {
    Sequential model("d", Input({6}), Dense(8), Dropout(0.3F), Dense(3, Activation::softmax));
    model.build(1);
    return model;
  };
  Sequential a = net();
  Trainer whole(a, Adam(cosine_decay(0.02F, 6)), options({}));
  whole.fit(data, 2);
  EXPECT_EQ(whole.steps(), 6U);
  EXPECT_EQ(whole.history()[1].learning_rate, cosine_decay(0.02F, 6)(3));
  Sequential b = net();
  int steps = 0;
  Trainer stopped(b, Adam(cosine_decay(0.02F, 6)), options([&] { return ++steps == 4; }));
  stopped.fit(data, 2);
  stopped.save_checkpoint(scratch.path() / "c");
  Sequential c = net();
  Trainer resumed(c, Adam(cosine_decay(0.02F, 6)), options({}));
  resumed.load_checkpoint(scratch.path() / "c");
  resumed.fit_until(data, 2);
  EXPECT_EQ(snapshot_of(resumed), snapshot_of(whole));
  Trainer other(c, Adam(), {.batch_size = 8});
  expect_mentions(message_of<FormatError>([&] { other.load_checkpoint(scratch.path() / "c"); }),
                  "expected accumulate_batches 1, found 2");
}

TEST(Accumulation, OfNoBatchesIsRefused) {
  Sequential model = small_mlp();
  expect_mentions(
      message_of<InvalidArgument>([&] { Trainer(model, Adam(), {.accumulate_batches = 0}); }),
      "accumulate_batches of at least 1");
}

TEST(TheLoopByHand, GivesTheTrainersBytes) {
  const Dataset data = clouds(50);
  for (const bool quantized : {false, true}) {
    Sequential by_hand = quantized ? quantize_model(small_mlp()) : small_mlp();
    if (quantized) calibrate(by_hand, data.features(0, 50));
    Sequential by_trainer = by_hand;
    Trainer trainer(by_trainer, Adam(cosine_decay(0.01F, 14)), {.batch_size = 8, .seed = 3});
    trainer.fit(data, 2);

    Adam adam(cosine_decay(0.01F, 14));
    DataLoader loader(data, {.batch_size = 8, .seed = 3});
    for (Index epoch = 0; epoch < 2; ++epoch) {
      loader.start_epoch(epoch);
      for (Batch batch; loader.next(batch);) {
        const Tensor output = by_hand.forward_logits(
            batch.features, {.mode = ForwardContext::Mode::training, .random = Random(0)});
        Tensor loss = sparse_categorical_cross_entropy()(output, batch.targets);
        by_hand.zero_grad();
        loss.backward();
        adam.step(by_hand.parameters());
      }
    }
    EXPECT_EQ(bytes_of(by_hand.parameters()), bytes_of(by_trainer.parameters())) << quantized;
  }
}

TEST(LearningRate, IsANumberOrASchedule) {
  EXPECT_EQ(Adam().learning_rate(7), 1e-3F);
  EXPECT_EQ(Sgd(0.5).learning_rate(0), 0.5F);
  EXPECT_EQ(AdamW([](std::uint64_t step) { return static_cast<float>(step); }).learning_rate(3),
            3.0F);
  EXPECT_EQ(Adam(step_decay(1.0F, 0.5F, 2)).learning_rate(2), 0.5F);
  EXPECT_THROW(Adam(0.0F), InvalidArgument);
  EXPECT_THROW(Adam(-1.0F), InvalidArgument);
  expect_mentions(message_of<InvalidArgument>([] { Adam{Schedule()}; }), "an empty function");
}

TEST(CallbackFunctions, AreACallback) {
  const Dataset data = clouds(20);
  Sequential model = small_mlp();
  Trainer trainer(model, Adam(), {.batch_size = 10});
  int ended = 0;
  trainer.add_callback({.on_epoch_end = [&](Trainer&, const EpochRecord&) { ++ended; },
                        .wants_stop = [&] { return ended == 2; }});
  trainer.add_callback(CallbackFunctions{});
  trainer.fit(data, 5);
  EXPECT_EQ(ended, 2);
}

TEST(CallbackScore, MayBeAMetric) {
  const ScratchDirectory scratch;
  Sequential model = small_mlp();
  Trainer trainer(model, Adam());
  const Score score = [](const EpochRecord& r) { return -find_metric(r, "error").value(); };
  EarlyStopping stopping(1, {.score = score});
  BestCheckpoint best(scratch.path() / "best", score);
  const auto saved_at = [&](double error) {
    EpochRecord record;
    record.test_accuracy = 0.5;
    record.metrics = {{"error", error}};
    std::filesystem::remove(scratch.path() / "best");
    stopping.on_epoch_end(trainer, record);
    best.on_epoch_end(trainer, record);
    return std::filesystem::exists(scratch.path() / "best");
  };
  EXPECT_TRUE(saved_at(3.0));
  EXPECT_TRUE(saved_at(2.0));
  EXPECT_FALSE(stopping.wants_stop());
  EXPECT_FALSE(saved_at(2.5));
  EXPECT_TRUE(stopping.wants_stop());
}

}  // namespace
}  // namespace octet::test::parameter_groups_test
