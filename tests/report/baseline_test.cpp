#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/report/baseline.h>

#include <cmath>
#include <vector>

namespace octet::test::baseline_test {
namespace {

constexpr double kZ = 1.959963984540054;

struct Case {
  const char* what;
  Baseline found;
  const char* score;
  double guessed;
  double integer;
  /// The deviation of the mean of what is gained.
  double deviation;
};

TEST(Baselines, AreWhatAGuessComesTo) {
  const Tensor flags = Tensor::from({4, 2}, {1, 0, 1, 0, 1, 1, 0, 0});
  const Tensor said = Tensor::from({4, 2}, {0.9F, 0.1F, 0.9F, 0.2F, 0.9F, 0.9F, 0.3F, 0.6F});
  const Tensor numbers = Tensor::from({3, 2}, {1, 10, 2, 20, 3, 30});
  const Tensor near = Tensor::from({3, 2}, {1, 10, 2, 20, 5, 30});
  for (const Case& one : std::vector<Case>{
           // Gains 0, 0, 1, -1.
           {"classes", commonest_class(Labels{0, 0, 1, 1}, Labels{0, 0, 1, 0}), "accuracy", 0.75,
            0.75, std::sqrt(2.0 / 3.0 / 4.0)},
           // Of two examples with two places each; the guess has 3/4 of class 0 and 0 of class 1.
           // Without the first, gains are 1 - 1/4, without the second, 1/2 - 1/2.
           {"places", commonest_of_places(Labels{0, 0, 1, 0}, Labels{0, 0, 1, 0}, 2), "iou", 0.375,
            1.0, std::sqrt(0.5 * 2.0 * 0.375 * 0.375)},
           // Class 2 has no label, and class 1 is never said. Without one of the examples, gains
           // are (1/2 - 2/4) / 2, (2/3 - 3/4) / 2 and (3/3 - 3/4) / 2: 0, -3/72 and 9/72.
           {"classes that are missed",
            commonest_of_places(Labels{0, 0, 0, 2, 2, 2}, Labels{0, 0, 0, 1, 0, 1}, 3), "iou",
            4.0 / 6.0 / 2.0, 3.0 / 4.0 / 2.0,
            std::sqrt(2.0 / 3.0 * (2.0 * 2.0 + 5.0 * 5.0 + 7.0 * 7.0)) / 72.0},
           // 1 and 0 are commonest of the columns; gains 0, 0, 1/2, 0 of the rows.
           {"labels", commonest_labels(said, flags, 0.5F), "binary_accuracy", 0.75, 0.875,
            std::sqrt((3.0 / 64.0 + 9.0 / 64.0) / 3.0 / 4.0)},
           // Errors of rows 0, 0, 2 against (1 + 100)/2, 0, (1 + 100)/2 of the means 2 and 20.
           {"numbers", mean_of_targets(near, numbers), "mean_squared_error", 101.0 / 3.0, 2.0 / 3.0,
            std::sqrt((17.5 * 17.5 + 33.0 * 33.0 + 15.5 * 15.5) / 2.0 / 3.0)},
           // 3 of 4 pairs are in order; Q1 = 3/5, Q2 = 9/14.
           {"anomalies", chance(std::vector<float>{0.1F, 0.4F, 0.3F, 0.9F}, Labels{0, 0, 1, 1}),
            "roc_auc", 0.5, 0.75,
            std::sqrt((0.1875 + (0.6 - 0.5625) + (9.0 / 14.0 - 0.5625)) / 4.0)}}) {
    SCOPED_TRACE(one.what);
    EXPECT_EQ(one.found.score, one.score);
    EXPECT_NEAR(one.found.guessed, one.guessed, 1e-9);
    EXPECT_NEAR(one.found.integer, one.integer, 1e-9);
    const double gain = std::abs(one.integer - one.guessed);
    EXPECT_NEAR(one.found.gain(), gain, 1e-9);
    EXPECT_NEAR(one.found.least_gain, gain - kZ * one.deviation, 1e-9);
  }
}

TEST(Baselines, RefuseWhatIsNotOfOneSize) {
  const Tensor one = Tensor::from({2, 1}, {0, 1});
  const Tensor other = Tensor::from({3, 1}, {0, 1, 0});
  EXPECT_THROW(commonest_class(Labels{0, 1}, Labels{0}), InvalidArgument);
  EXPECT_THROW(commonest_class({}, {}), InvalidArgument);
  EXPECT_THROW(commonest_of_places(Labels{0, 1}, Labels{0, 1}, 0), InvalidArgument);
  EXPECT_THROW(commonest_of_places(Labels{0, 1, 1}, Labels{0, 1, 0}, 2), InvalidArgument);
  EXPECT_THROW(commonest_labels(one, other, 0.5F), InvalidArgument);
  EXPECT_THROW(mean_of_targets(other, one), InvalidArgument);
  EXPECT_THROW(chance(std::vector<float>{1.0F}, Labels{0}), InvalidArgument);
}

}  // namespace
}  // namespace octet::test::baseline_test
