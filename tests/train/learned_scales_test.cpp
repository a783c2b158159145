// Models whose quantizers learn their scales, in a Trainer.

#include <octet/core/error.h>
#include <octet/layers/conv2d.h>
#include <octet/layers/quantize/oscillation.h>
#include <octet/layers/reshape.h>
#include <octet/tests/train/training.h>
#include <octet/train/load_model.h>

#include <cmath>
#include <map>
#include <string>

namespace octet::test::learned_scales_test {
namespace {

constexpr std::uint64_t kStepsOfTwoEpochs = 10;

QuantizeOptions learning(Scales activations) {
  return {.weight_bits = 3,
          .per_channel = true,
          .weight_scales = Scales::lsq,
          .activation_scales = activations,
          .count_oscillations = true,
          .freeze_oscillations_above = 0.015F};
}

Sequential learned_model(Scales activations, std::uint64_t seed = 0) {
  return quantize_model(small_mlp(seed), learning(activations));
}

TEST(LearnedScales, StopAndResumeByteForByte) {
  const ScratchDirectory scratch;
  const Dataset data = clouds(37);
  const Dataset test = clouds(20, 2);
  for (const Scales scales : {Scales::lsq, Scales::lsq_plus, Scales::pact}) {
    Sequential whole_model = learned_model(scales);
    Trainer whole(whole_model, AdamW(0.05F), {.batch_size = 8});
    whole.fit(data, test, 2);
    EXPECT_EQ(whole.history().back().differing_predictions, 0U);
    for (std::uint64_t k = 1; k <= kStepsOfTwoEpochs; ++k) {
      Sequential model = learned_model(scales);
      std::uint64_t done = 0;
      Trainer stopped(model, AdamW(0.05F),
                      {.batch_size = 8, .should_stop = [&] { return ++done == k; }});
      stopped.fit_until(data, test, 2);
      const auto path = scratch.path() / "checkpoint";
      stopped.save_checkpoint(path);
      Sequential fresh = learned_model(scales, 77);
      Trainer resumed(fresh, AdamW(0.05F), {.batch_size = 8});
      resumed.load_checkpoint(path);
      resumed.fit_until(data, test, 2);
      EXPECT_EQ(snapshot_of(resumed), snapshot_of(whole)) << "stopped after step " << k;
      EXPECT_EQ(exported_bytes(resumed), exported_bytes(whole));
    }
  }
}

TEST(LearnedScales, AreSavedAndLoadedWithTheirModel) {
  const ScratchDirectory scratch;
  for (const Scales scales : {Scales::measured, Scales::lsq, Scales::lsq_plus, Scales::pact}) {
    Sequential model = learned_model(scales);
    Trainer trainer(model, Adam(0.02F), {.batch_size = 8});
    trainer.fit(clouds(37), 2);
    const auto path = scratch.path() / "model";
    model.save(path);
    const Model loaded = load_model(path);
    EXPECT_EQ(bytes_of(loaded), bytes_of(static_cast<const Model&>(model)));
    EXPECT_EQ(to_tflite(lower(loaded)), exported_bytes(trainer));
  }
}

/// How far one step moves the numbers of each parameter, all together.
std::map<std::string, double> moved_by(const Sgd& sgd, float learned_scale_rate) {
  Sequential model = learned_model(Scales::lsq);
  calibrate(model, clouds(20).features(0, 20));
  const auto sums = [&model] {
    std::map<std::string, double> result;
    for (const auto& [name, tensor] : model.parameters()) {
      for (const float v : tensor.span()) result[name] += double{v};
    }
    return result;
  };
  std::map<std::string, double> moved = sums();
  Trainer(model, sgd, {.batch_size = 20, .learned_scale_rate = learned_scale_rate})
      .fit(clouds(20), 1);
  for (const auto& [name, sum] : sums()) moved[name] = sum - moved[name];
  return moved;
}

TEST(LearnedScales, HaveARateOfTheirOwn) {
  const auto full = moved_by(Sgd(0.01F), 1.0F);
  const auto tenth = moved_by(Sgd(0.01F), 0.1F);
  for (const char* name : {"quant_dense/kernel_step", "quant_dense/post_activation_step"}) {
    EXPECT_GT(std::abs(full.at(name)), 1e-6) << name;
    EXPECT_NEAR(tenth.at(name), 0.1 * full.at(name), 1e-3 * std::abs(full.at(name)) + 1e-8);
  }
  EXPECT_EQ(full.at("quant_dense/kernel"), tenth.at("quant_dense/kernel"));
}

TEST(LearnedScales, DoNotDecayUnlessAGroupSaysSo) {
  const auto moved = [](float decay, bool own_group) {
    Sgd sgd(0.01F, {.weight_decay = decay});
    if (own_group) {
      sgd.add_group({.contains = [](std::string_view name) { return name.ends_with("_step"); }});
    }
    return moved_by(sgd, 1.0F).at("quant_dense/kernel_step");
  };
  EXPECT_EQ(moved(0.5F, false), moved(0.0F, false));
  EXPECT_LT(moved(0.5F, true), moved(0.0F, true));
}

TEST(LearnedScales, OfAModelThatHasNoneAreAnEmptyGroup) {
  Sequential model = quantize_model(small_mlp());
  Adam adam;
  adam.add_group(learned_scales(model));
  EXPECT_THROW(adam.step(model.parameters()), InvalidArgument);
  EXPECT_NO_THROW(Trainer(model, Adam()));
}

TEST(LearnedScales, LearnTwoBitsAsWellAsMeasuredOnesAtLeast) {
  const Dataset data = clouds(300);
  const Dataset test = clouds(200, 2);
  Sequential model = small_mlp(0, 6, 16);
  Trainer(model, Adam(0.01F), {.batch_size = 16}).fit(data, 5);
  const auto accuracy = [&](Scales scales) {
    Sequential quantized = quantize_model(model, {.weight_bits = 2, .weight_scales = scales});
    Trainer trainer(quantized, Adam(0.005F), {.batch_size = 16});
    trainer.fit(data, test, 5);
    EXPECT_EQ(trainer.history().back().differing_predictions, 0U);
    return trainer.history().back().integer_accuracy.value();
  };
  EXPECT_GE(accuracy(Scales::lsq), accuracy(Scales::measured));
}

}  // namespace
}  // namespace octet::test::learned_scales_test
