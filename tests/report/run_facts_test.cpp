#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/report/run_facts.h>

namespace octet::test::run_facts_test {
namespace {

using Fact = std::pair<std::string, std::string>;

TEST(RunFacts, AreWhatDecidesTheResult) {
  Report report;
  add_run_facts(
      R"({"seed": 3, "network": "mlp", "hidden": [64, 32], "per_channel": false, "mean": [], "threads": 2,
          "seconds": 1.5, "integer_accuracy": 0.9, "command": "mnist_qat --seed 3",
          "qat_lr": 0.5, "options": {"--qat-lr": "0.5"},
          "data": {"name": "digits", "train": 100}, "sha256": {"model": "ab"},
          "epochs": [{"epoch": 1, "phase": "float", "train_loss": 0.5, "seconds": 1.0,
                      "images_per_second": 2.0, "learning_rate": 0.001}],
          "ranges": [{"moment": "1", "layer": "dense", "min": -1.0, "max": 2.0}],
          "oscillations": [{"moment": "1", "layer": "dense", "share": 0.25, "frozen": 0.0}]})",
      report);
  EXPECT_EQ(report.facts, (std::vector<Fact>{{"hidden", "[64,32]"},
                                             {"network", "mlp"},
                                             {"per_channel", "no"},
                                             {"seed", "3"},
                                             {"data: name", "digits"},
                                             {"data: train", "100"},
                                             {"--qat-lr", "0.5"}}));
  EXPECT_EQ(report.hashes, (std::vector<Fact>{{"model", "ab"}}));
  EXPECT_EQ(report.command, "mnist_qat --seed 3");
  ASSERT_EQ(report.history.size(), 1U);
  EXPECT_EQ(report.history[0].train_loss, 0.5);
  ASSERT_EQ(report.ranges.size(), 1U);
  EXPECT_EQ(report.ranges[0].max, 2.0F);
  ASSERT_EQ(report.oscillations.size(), 1U);
  EXPECT_EQ(report.oscillations[0].share, 0.25);
  EXPECT_EQ(report.epochs_scored_on, "test");
  EXPECT_TRUE(report.scores.empty());
  add_run_facts(R"({"scores": {"f1": {"float": 0.5, "integer": 0.25}}, "outputs": [{"name": "a"},
                    {"name": "b", "scores": {"r2": {"float": 1.0, "integer": -1.0}},
                     "baseline": {"guess": "who naps", "score": "roc_auc", "guessed": 0.5,
                                  "integer": 0.75, "least_gain": 0.125}}]})",
                report);
  ASSERT_EQ(report.scores.size(), 2U);
  EXPECT_EQ(report.scores[0].name + report.scores[0].output, "f1");
  EXPECT_EQ(report.scores[1].name + report.scores[1].output, "r2b");
  EXPECT_EQ(report.scores[0].in_float, 0.5);
  EXPECT_EQ(report.scores[1].integer, -1.0);
  ASSERT_EQ(report.baselines.size(), 1U);
  EXPECT_EQ(report.baselines[0].output + report.baselines[0].guess, "bwho naps");
  EXPECT_EQ(report.baselines[0].gain(), 0.25);
  EXPECT_EQ(report.baselines[0].least_gain, 0.125);
  add_run_facts(R"({"data": {"name": "digits", "train": 100, "test": 9, "validation": 8}})",
                report);
  EXPECT_EQ(report.epochs_scored_on, "validation");
}

TEST(RunFacts, ReadBackWhatTheyWrite) {
  const std::string ranges = ranges_json({{"calibrated", "a\"b", -0.5F, 1.0F}});
  const std::string swings = oscillations_json({{"2", "a", 0.5, 0.25}});
  const std::string angles = gradient_angles_json({{3, "a\"b", {}, 0.1}, {4, "c", 2.5, {}}});
  Report report;
  add_run_facts("{\"ranges\": " + ranges + ", \"oscillations\": " + swings +
                    ", \"gradient_angles\": " + angles + "}",
                report);
  ASSERT_EQ(report.ranges.size(), 1U);
  EXPECT_EQ(report.ranges[0].layer, "a\"b");
  EXPECT_EQ(report.ranges[0].min, -0.5F);
  ASSERT_EQ(report.oscillations.size(), 1U);
  EXPECT_EQ(report.oscillations[0].frozen, 0.25);
  ASSERT_EQ(report.gradient_angles.size(), 2U);
  EXPECT_EQ(report.gradient_angles[0].step, 3U);
  EXPECT_EQ(report.gradient_angles[0].layer, "a\"b");
  EXPECT_EQ(report.gradient_angles[0].input, std::nullopt);
  EXPECT_EQ(report.gradient_angles[0].kernel, 0.1);
  EXPECT_EQ(report.gradient_angles[1].input, 2.5);
  EXPECT_EQ(report.gradient_angles[1].kernel, std::nullopt);
}

TEST(RunFacts, RefuseWhatIsNoMetrics) {
  for (const char* text : {"", "[]", "{\"epochs\": 3}", "{\"ranges\": [{}]}", "{\"command\": 1}",
                           "{\"sha256\"", "{\"scores\": {\"f1\": 1}}", "{\"outputs\": [{}]}",
                           "{\"baseline\": {}}", "{\"ranges\": [{\"moment\": 1}]}",
                           R"({"gradient_angles": [{"step": -1, "layer": "a"}]})"}) {
    Report report;
    EXPECT_THROW(add_run_facts(text, report), FormatError) << text;
  }
}

}  // namespace
}  // namespace octet::test::run_facts_test
