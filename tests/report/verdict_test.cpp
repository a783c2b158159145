#include <gtest/gtest.h>
#include <octet/report/verdict.h>
#include <octet/tests/train/data/idx_files.h>

#include <tuple>
#include <vector>

namespace octet::test::verdict_test {
namespace {

/// Accuracies of 1000 examples in two classes; `only_float` are right in float alone.
Report report_of(std::uint64_t float_right, std::uint64_t integers_right, std::uint64_t only_float,
                 std::uint64_t only_integers) {
  Report report;
  report.outcomes = {{.name = "float", .accuracy = wilson_interval(float_right, 1000)},
                     {.name = "calibrated",
                      .accuracy = wilson_interval(integers_right, 1000),
                      .against_float = mcnemar_test(only_float, only_integers)}};
  report.files = {"mnist_int8.tflite", "mnist_int8.c"};
  report.class_names = {"cat", "dog"};
  report.confusion = {{integers_right - 400, 1100 - integers_right}, {100, 400}};
  report.confusion[0][1] = 500 - report.confusion[0][0];
  return report;
}

struct Case {
  const char* what;
  Report report;
  Decision decision;
  const char* reason;
  const char* next;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  all.push_back({"as good", report_of(900, 898, 6, 4), Decision::ship, "right in 898 of 1000",
                 "octet verify mnist_int8.tflite mnist_int8.c"});
  all.push_back({"a little worse", report_of(900, 895, 7, 0), Decision::caution,
                 "89.50 % instead of 90.00 %", "octet quantize FILE --data DATA --epochs 2"});
  all.push_back({"worse", report_of(900, 850, 60, 10), Decision::hold, "worse than float",
                 "octet quantize FILE --data DATA --epochs 2"});
  Report few = report_of(900, 898, 0, 0);
  few.outcomes[1].accuracy = wilson_interval(45, 50);
  few.confusion.clear();
  all.push_back({"few examples", few, Decision::caution, "50 test examples are few",
                 "octet eval mnist_int8.tflite --data DATA"});
  for (const auto& [baseline, decision, reason] :
       std::vector<std::tuple<Baseline, Decision, const char*>>{
           {{.guess = "who naps", .score = "accuracy", .guessed = 0.5, .integer = 0.5},
            Decision::hold,
            "no better than who naps: accuracy 50.00 % against 50.00 %."},
           {{.guess = "who naps",
           .score = "accuracy",
           .guessed = 0.5,
           .integer = 0.51,
           .least_gain = -0.01},
            Decision::caution,
            "not surely better than who naps: accuracy 51.00 %"},
           {{.guess = "who naps",
           .score = "mean_squared_error",
           .guessed = 2.0,
           .integer = 9.0,
           .least_gain = -8.0},
            Decision::hold,
            "no better than who naps: mean squared error 9 against 2."},
           {{.output = "b",
           .guess = "who naps",
           .score = "roc_auc",
           .guessed = 0.5,
           .integer = 0.625,
           .least_gain = -0.25},
            Decision::caution,
            "b: The integers are not surely better than who naps: roc auc 0.625"},
           {{.guess = "who naps",
           .score = "iou",
           .guessed = 0.4,
           .integer = 0.3,
           .least_gain = -0.2},
            Decision::hold,
            "no better than who naps: mean IoU 30.00 % against 40.00 %."},
           {{.score = "iou", .guessed = 1.0, .integer = 1.0},
            Decision::hold,
            "All test targets are the same"},
           {{.score = "binary_accuracy", .guessed = 1.0, .integer = 1.0},
            Decision::hold,
            "All test targets are the same"}}) {
    Report guesses = report_of(900, 898, 6, 4);
    guesses.baselines = {baseline};
    // The weightiest of equal ones, too.
    guesses.outcomes[1].accuracy = wilson_interval(45, 50);
    all.push_back({"guesses", guesses, decision, reason, "octet train --data DATA"});
  }
  Report learned = report_of(900, 898, 6, 4);
  learned.baselines = {
      {.score = "mean_squared_error", .guessed = 9.0, .integer = 2.0, .least_gain = 1.0}};
  all.push_back({"more than a guess", learned, Decision::ship, "right in 898", ""});
  Report unknown = report_of(900, 898, 6, 4);
  unknown.scores = {{.name = "mean_squared_error"}};
  all.push_back({"no anomaly", unknown, Decision::caution, "to be an anomaly", "--test-data"});
  unknown.scores.push_back({.name = "roc_auc"});
  all.push_back({"anomalies", unknown, Decision::ship, "right in 898", ""});
  Report misses = report_of(900, 898, 6, 4);
  misses.confusion = {{500, 0, 0}, {50, 398, 0}, {20, 32, 0}};
  misses.class_names.clear();
  all.push_back(
      {"misses a class", misses, Decision::caution, "Never recognized: 2.", "--class-weights"});
  Report seen = report_of(900, 898, 6, 4);
  seen.scored_on_training = true;
  all.push_back({"training examples", seen, Decision::caution, "trained on", "--split 0.8"});
  Report refused = report_of(900, 898, 6, 4);
  refused.warnings = {"TFLite Micro has no GELU"};
  all.push_back({"refused", refused, Decision::caution, "no GELU", ""});
  Report numbers;
  numbers.outcomes = {{.name = "float", .accuracy = {}, .mean_absolute_error = 1.0},
                      {.name = "calibrated", .accuracy = {}, .mean_absolute_error = 1.05}};
  all.push_back(
      {"numbers", numbers, Decision::ship, "mean absolute error is 1.05, that of float 1.", ""});
  numbers.files = {"m_int8.tflite"};
  all.push_back({"no C source", numbers, Decision::ship, "mean absolute error is 1.05",
                 "octet inspect m_int8.tflite"});
  Report masks = numbers;
  masks.scores = {{.name = "iou", .in_float = 0.75, .integer = 0.5}};
  masks.baselines = {{.score = "iou", .guessed = 0.1, .integer = 0.5, .least_gain = 0.2}};
  all.push_back({"the score of the task", masks, Decision::ship,
                 "The integers' mean IoU is 50.00 %, that of float 75.00 %.", ""});
  numbers.outcomes[1].mean_absolute_error = 1.2;
  all.push_back({"worse numbers", numbers, Decision::hold, "that of float 1",
                 "octet quantize FILE --data DATA"});
  all.push_back({"nothing", Report{}, Decision::hold, "Nothing was measured",
                 "octet report RUN --data DATA"});
  return all;
}

TEST(VerdictOfReport, IsTheWorstOfItsReasons) {
  for (const Case& one : cases()) {
    const Verdict verdict = judge(one.report);
    EXPECT_EQ(to_string(verdict.decision), to_string(one.decision)) << one.what;
    ASSERT_FALSE(verdict.reasons.empty()) << one.what;
    expect_mentions(verdict.reasons.front(), one.reason);
    expect_mentions(verdict.next, one.next);
  }
}

/// What comes next after the run of a command with two epochs of each phase.
std::string next_of(Report report, const std::string& command) {
  report.command = command;
  for (const char* phase : {"float", "float", "qat", "qat"}) {
    report.history.emplace_back().phase = phase;
  }
  return judge(report).next;
}

TEST(VerdictOfReport, TheNextCommandIsTheRunWithAnotherOption) {
  Report seen = report_of(900, 898, 6, 4);
  seen.scored_on_training = true;
  const Report worse = report_of(900, 850, 60, 10);
  Report guesses = report_of(510, 500, 6, 4);
  guesses.baselines = {{.score = "accuracy"}};
  Report misses = report_of(900, 898, 6, 4);
  misses.confusion = {{500, 0, 0}, {50, 398, 0}, {20, 32, 0}};
  const std::string train = "octet train --data 'a b.csv' --out o";
  for (const auto& [report, command, next] :
       std::vector<std::tuple<Report, std::string, std::string>>{
           {seen, train, train + " --split 0.8"},
           {seen, "octet train n.onnx --data a.npz --out o",
            "octet train n.onnx --data a.npz --out o --split 0.8"},
           {worse, train + " --qat-epochs 2 --seed 3", train + " --qat-epochs 4 --seed 3"},
           {worse, train + " --qat-epochs=2 --resume", train + " --qat-epochs 4"},
           {worse, "octet quantize n.onnx --epochs 2", "octet quantize n.onnx --epochs 4"},
           {worse, "octet quantize n.onnx", "octet quantize n.onnx --qat-epochs 4"},
           {guesses, "mnist_qat --out o", "mnist_qat --out o --epochs 4"},
           {guesses, "mnist_qat --epochs 9 --patience 2", "mnist_qat --epochs 18 --patience 2"},
           {misses, train, train + " --class-weights balanced"},
           {misses, train + " --class-weights 1,2",
            "octet train --data DATA --out o --class-weights 1,2"}}) {
    EXPECT_EQ(next_of(report, command), next);
  }
}

TEST(VerdictOfReport, SaysTheWeightiestReasonFirst) {
  Report report = report_of(900, 850, 60, 10);
  report.scored_on_training = true;
  report.outcomes.insert(report.outcomes.begin() + 1, report.outcomes.front());
  const Verdict verdict = judge(report);
  ASSERT_EQ(verdict.reasons.size(), 2U);
  expect_mentions(verdict.reasons[0], "worse than float");
  expect_mentions(verdict.reasons[1], "trained on");
}

}  // namespace
}  // namespace octet::test::verdict_test
