#include <octet/layers/batch_norm.h>
#include <octet/layers/quantize/oscillation.h>
#include <octet/tests/layers/quantize/same_as_shipped.h>

#include <cmath>
#include <vector>

namespace octet::test::oscillation_test {
namespace {

const QuantParams kGrid = QuantParams::per_tensor(0.5F, 0, -4, 3);

Tensor counter(const WeightOscillation& oscillation, std::string_view name) {
  return tensor_named(oscillation.counters(), name);
}

TEST(WeightOscillation, IsAChangeAgainstTheLastOne) {
  WeightOscillation oscillation;
  oscillation.build({1, 4});
  // Codes of four weights: one that swings, one that climbs, one that waits in between, one
  // clamped.
  const std::vector<std::vector<float>> codes = {
      {0, 0, 0, 9}, {1, 1, 1, 9}, {0, 2, 1, 5}, {1, 3, 0, 3}, {0, 3, 0, 9}};
  const std::vector<std::vector<float>> swings = {
      {0, 0, 0, 0}, {0, 0, 0, 0}, {1, 0, 0, 0}, {1, 0, 1, 0}, {1, 0, 0, 0}};
  std::vector<float> expected(4);
  for (std::size_t t = 0; t < codes.size(); ++t) {
    Tensor kernel({1, 4});
    for (std::size_t i = 0; i < 4; ++i) {
      kernel.mutable_span()[i] = 0.5F * codes[t][i];
      expected[i] += 0.01F * (swings[t][i] - expected[i]);
    }
    oscillation.count(kernel, kGrid);
    EXPECT_EQ(values_of(counter(oscillation, "oscillation_frequency")), expected) << t;
  }
  EXPECT_EQ(oscillation.share(0.005F), 0.5);
  EXPECT_EQ(oscillation.share(0.02F), 0.25);
  EXPECT_EQ(oscillation.frozen_share(), 0.0);
}

TEST(WeightOscillation, ScalesAreThoseOfTheUnits) {
  WeightOscillation oscillation;
  oscillation.build({2, 2});
  QuantParams grid = kGrid;
  grid.scales = {0.5F, 2.0F};
  grid.zero_points = {0, 0};
  oscillation.count(Tensor::from({2, 2}, {0.5F, 0.5F, -1.0F, 3.0F}), grid);
  EXPECT_EQ(values_of(counter(oscillation, "oscillation_code")), (std::vector<float>{1, 0, -2, 2}));
}

TEST(WeightOscillation, FreezesWhatSwingsOnItsMeanCode) {
  WeightOscillation oscillation(0.05F);
  oscillation.build({1, 2});
  Tensor kernel({1, 2});
  int passes = 0;
  // Two passes in three on code 2.
  while (oscillation.frozen_share() == 0.0 && passes < 100) {
    fill(kernel, {passes % 3 == 0 ? 0.5F : 1.0F, 0.2F * static_cast<float>(passes % 2)});
    oscillation.count(kernel, kGrid);
    ++passes;
  }
  EXPECT_GT(passes, 5);
  EXPECT_LT(passes, 30);
  EXPECT_EQ(oscillation.frozen_share(), 0.5);
  const float kept = kernel.span()[0];
  EXPECT_EQ(kept, 0.5F * std::rint(counter(oscillation, "oscillation_mean").span()[0]));
  EXPECT_EQ(kept, 0.5F) << "the mean starts at the first code, 1";
  for (const float moved : {3.0F, -3.0F}) {
    kernel.mutable_span()[0] = moved;
    EXPECT_FALSE(oscillation.is_held(kernel, kGrid));
    oscillation.count(kernel, kGrid);
    EXPECT_EQ(kernel.span()[0], kept);
    EXPECT_TRUE(oscillation.is_held(kernel, kGrid));
  }
  // The code is kept, not the value, when the step moves on.
  const QuantParams wider = QuantParams::per_tensor(0.75F, 0, -4, 3);
  oscillation.count(kernel, wider);
  EXPECT_EQ(kernel.span()[0], 1.5F * kept);
}

TEST(WeightOscillation, RefusesAFrequencyThatNothingReaches) {
  for (const float frequency : {-0.1F, 1.0F, kNan}) {
    EXPECT_THROW(WeightOscillation{frequency}, InvalidArgument) << frequency;
  }
}

Sequential small_net() {
  return build_model(Input({4}), Dense(6, Activation::relu, "a"), Dense(3, Activation::none, "b"));
}

void train(Model& model, int steps) {
  calibrate(model, random_tensor({8, 4}, 1));
  train_a_little(model, steps, [] { return random_tensor({8, 4}, 2); });
}

TEST(OscillatingWeights, AreCountedWhereTheOptionsAskForIt) {
  Model silent = quantize_model(static_cast<const Model&>(small_net()));
  train(silent, 3);
  EXPECT_TRUE(oscillating_weights(silent).empty());
  for (const auto& [name, tensor] : silent.counters()) {
    EXPECT_EQ(name.find("oscillation"), std::string::npos);
  }
  Model model = quantize_model(static_cast<const Model&>(small_net()),
                               {.weight_bits = 2, .count_oscillations = true});
  train(model, 40);
  const std::vector<OscillatingWeights> found = oscillating_weights(model);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].layer, "quant_a");
  EXPECT_GT(found[0].share + found[1].share, 0.0);
  EXPECT_EQ(tensor_named(model.counters(), "quant_b/kernel_oscillation_passes").item(), 40.0F);
  // Counting changes no bit of what is trained.
  Model without = quantize_model(static_cast<const Model&>(small_net()), {.weight_bits = 2});
  train(without, 40);
  for (const auto& [name, tensor] : without.parameters()) {
    EXPECT_EQ(values_of(tensor_named(model.parameters(), name)), values_of(tensor)) << name;
  }
  const Model copy = model;
  EXPECT_EQ(oscillating_weights(copy)[0].share, found[0].share);
}

constexpr QuantizeOptions kFreezing{.weight_bits = 2,
                                    .per_channel = true,
                                    .weight_scales = Scales::lsq,
                                    .freeze_oscillations_above = 0.02F};

TEST(OscillatingWeights, StayFrozenInWhatIsShipped) {
  Model model = quantize_model(static_cast<const Model&>(small_net()), kFreezing);
  train(model, 60);
  double frozen = 0.0;
  for (const OscillatingWeights& each : oscillating_weights(model)) frozen += each.frozen;
  EXPECT_GT(frozen, 0.0);
  // As an optimizer leaves them.
  for (auto& [name, tensor] : model.parameters()) {
    if (!name.ends_with("kernel")) continue;
    for (float& v : tensor.mutable_span()) v += 0.7F;
  }
  refresh_kernel_ranges(model);
  const IntegerModel shipped = from_tflite(to_tflite(lower(model)));
  expect_same_as_shipped(model, shipped, random_tensor({9, 4}, 5));
  for (const auto& layer : model.layers()) {
    if (layer->kernel_quantizer() == nullptr) continue;
    const auto counter = [&](std::string_view name) {
      return tensor_named(layer->counters(), name);
    };
    const QuantParams grid = layer->kernel_quantizer()->params();
    const Tensor kernel = layer->weights()->kernel;
    for (std::size_t i = 0; i < kernel.span().size(); ++i) {
      if (counter("kernel_oscillation_frozen").span()[i] == 0.0F) continue;
      const float scale = grid.scale(i % grid.channels());
      EXPECT_EQ(kernel.span()[i], scale * counter("kernel_oscillation_code").span()[i]);
    }
  }
}

TEST(OscillatingWeights, AreNotFrozenWhereTheyWouldNotStay) {
  QuantizeOptions measured = kFreezing;
  measured.weight_scales = Scales::measured;
  expect_throws<InvalidArgument>([&] { quantize_model(small_net(), measured); },
                                 {"quant_a", "Mse", "lsq"});
  const Sequential normalized =
      build_model(Input({4}), Dense(6, Activation::none, "a"), BatchNorm(), Dense(2));
  expect_throws<InvalidArgument>([&] { quantize_model(normalized, kFreezing); },
                                 {"quant_a", "batch normalization"});
}

}  // namespace
}  // namespace octet::test::oscillation_test
