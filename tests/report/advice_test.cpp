// The rules on numbers; tried_advice_test.cpp has them on networks.

#include <gtest/gtest.h>
#include <octet/report/advice.h>

namespace octet::test::advice_test {
namespace {

/// Float has `only_float` examples right that the integers have wrong.
Report report_with(std::uint64_t only_float) {
  Report report;
  report.outcomes = {{.name = "float", .accuracy = wilson_interval(900, 1000)},
                     {.name = "integers",
                      .accuracy = wilson_interval(900 - only_float + 2, 1000),
                      .against_float = mcnemar_test(only_float, 2)}};
  report.layers.samples = 256;
  report.layers.sensitivity_samples = 1000;
  report.layers.trial_samples = 1000;
  report.layers.float_accuracy = 0.9;
  report.layers.quantized_accuracy = 0.87;
  return report;
}

Trial trial(const char* action, double accuracy, std::uint64_t lost, std::uint64_t won) {
  return {.rule = "rule",
          .layer = "conv2",
          .evidence = "evidence",
          .action = action,
          .accuracy = accuracy,
          .accuracy_without = 0.87,
          .against_quantized = mcnemar_test(lost, won)};
}

LayerFacts dead_layer() {
  LayerFacts layer;
  layer.name = "conv2";
  layer.weights = GridFacts{};
  layer.separable = true;
  layer.result_channels.channels = 64;
  layer.result_channels.dead = {3, 17};
  return layer;
}

TEST(Advice, HasNothingToSayWhereNothingIsLost) {
  EXPECT_TRUE(advice(Report{}).empty());
  // As likely as not; better than float.
  for (const auto& test : {mcnemar_test(6, 4), mcnemar_test(2, 12)}) {
    Report report = report_with(40);
    report.outcomes[1].against_float = test;
    report.layers.trials = {trial("a", 0.9, 0, 30)};
    report.layers.layers.emplace_back().oscillating = 0.5;
    EXPECT_TRUE(advice(report).empty());
  }
}

TEST(Advice, OfARemedyPromisesWhatItBrought) {
  Report report = report_with(40);
  report.layers.trials = {trial("a", 0.895, 3, 28)};
  const std::vector<Advice> all = advice(report);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].rule, "rule");
  EXPECT_EQ(all[0].layer, "conv2");
  EXPECT_EQ(all[0].evidence, "evidence");
  EXPECT_EQ(all[0].action, "a");
  EXPECT_EQ(all[0].promise,
            "without training that gives 89.50 % instead of 87.00 % on 1000 training examples");
  ASSERT_TRUE(all[0].gain);
  EXPECT_NEAR(*all[0].gain, 2.5, 1e-9);
}

TEST(Advice, IsNoRemedyThatAFewExamplesSpeakFor) {
  Report report = report_with(40);
  // One example of 1000, five alone, as many lost as won, and what is worse.
  report.layers.trials = {trial("one", 0.871, 0, 1), trial("five", 0.875, 0, 5),
                          trial("even", 0.87, 9, 9), trial("worse", 0.8, 70, 0)};
  const std::vector<Advice> all = advice(report);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].rule, "significant loss");
  EXPECT_EQ(all[0].evidence,
            "float alone has 40 examples right, the integers alone 2: p = 4.1e-10");
}

TEST(Advice, OfTrainingStandsBesideRemediesWhereTrainingHarmed) {
  Report report = report_with(40);
  report.layers.trials = {trial("a", 0.895, 3, 28)};
  for (const bool harmed : {false, true}) {
    Report trained = report;
    trained.outcomes.insert(trained.outcomes.begin() + 1,
                            {.name = "quantized after training",
                             .accuracy = wilson_interval(harmed ? 880 : 860, 1000)});
    EXPECT_EQ(advise_training(trained).size(), harmed ? 1U : 0U);
  }
}

TEST(Advice, OfTrainingLooksAtEveryOutput) {
  // The first of three outputs loses, the second does not, the third has no classes.
  Report report = report_with(40);
  for (Outcome& one : report.outcomes) one.output = "kind";
  std::vector<Outcome> others = report_with(2).outcomes;
  for (Outcome& one : others) one.output = "sign";
  report.outcomes.insert(report.outcomes.end(), others.begin(), others.end());
  for (const char* name : {"float", "integers"}) {
    report.outcomes.push_back(
        {.name = name, .accuracy = {}, .output = "size", .mean_absolute_error = 0.5});
  }
  EXPECT_TRUE(loses_significantly(report));
  const std::vector<Advice> all = advise_training(report);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_NE(all[0].evidence.find("float alone has 40 examples right, the integers alone 2"),
            std::string::npos);
  report.outcomes.erase(report.outcomes.begin(), report.outcomes.begin() + 2);
  EXPECT_FALSE(loses_significantly(report));
}

TEST(Advice, IsTheBestOfTheRemediesForOneIll) {
  Report report = report_with(40);
  report.layers.trials = {trial("a", 0.88, 0, 10), trial("b", 0.89, 0, 20),
                          trial("c", 0.885, 0, 15)};
  report.layers.trials.push_back(trial("d", 0.895, 0, 25));
  report.layers.trials.back().layer = "other";
  const std::vector<Advice> all = advice(report);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].action, "d");
  EXPECT_EQ(all[1].action, "b");
}

TEST(Advice, OfDeadChannels) {
  Report report;
  report.layers.samples = 256;
  report.layers.layers = {dead_layer()};
  const std::vector<Advice> all = advice(report);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].rule, "dead channels");
  EXPECT_EQ(all[0].evidence,
            "2 of 64 channels have one value in float too, on all 256 samples: 3, 17");
  EXPECT_NE(all[0].action.find("with 62 units"), std::string::npos);
  EXPECT_FALSE(all[0].gain);
  // An input's border is dark; what a sum reads cannot go alone; few codes are no death.
  const auto changed = [&](auto&& change) {
    Report other = report;
    change(other.layers.layers[0]);
    return advice(other);
  };
  EXPECT_TRUE(changed([](LayerFacts& layer) { layer.weights.reset(); }).empty());
  EXPECT_TRUE(changed([](LayerFacts& layer) { layer.separable = false; }).empty());
  EXPECT_TRUE(changed([](LayerFacts& layer) {
                layer.result_channels.dead.clear();
                layer.result_channels.starved = 5;
              }).empty());
}

TEST(Advice, OfConstantUnits) {
  Report report;
  EXPECT_TRUE(advice(report).empty());
  report.constant_units = {{.layer = "conv", .units = 256, .constant = 229, .unread = 5}};
  const std::vector<Advice> all = advice(report);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].rule, "constant units");
  EXPECT_EQ(all[0].layer, "conv");
  EXPECT_EQ(all[0].evidence,
            "229 of 256 units give one integer for every input, and 5 are read with weights of 0 "
            "alone");
  EXPECT_NE(all[0].action.find("with 22 units"), std::string::npos);
}

TEST(Advice, OfOscillatingWeights) {
  Report report = report_with(40);
  report.layers.trials = {trial("a", 0.9, 0, 30)};
  report.layers.layers.emplace_back().oscillating = 0.02;
  report.history.resize(2);
  for (EpochRecord& epoch : report.history) epoch.learning_rate = 0.01F;
  EXPECT_EQ(advise_oscillation(report).size(), 1U);
  report.layers.layers[0].oscillating = 0.0199;
  EXPECT_TRUE(advise_oscillation(report).empty());
  report.layers.layers[0].oscillating = 0.02;
  report.history[1].learning_rate = 0.005F;
  EXPECT_TRUE(advise_oscillation(report).empty());
  report.history.pop_back();
  EXPECT_TRUE(advise_oscillation(report).empty());
}

}  // namespace
}  // namespace octet::test::advice_test
