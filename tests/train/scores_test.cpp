#include <fmt/core.h>
#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/core/random.h>
#include <octet/tests/train/data/idx_files.h>
#include <octet/train/scores.h>

#include <algorithm>
#include <cmath>

namespace octet::test::scores_test {
namespace {

/// Outputs of few distinct values, so that many are equal, and labels.
struct Drawn {
  Tensor outputs;
  Labels labels;
};

Drawn drawn(Index classes, std::size_t rows = 200) {
  const Random random(static_cast<std::uint64_t>(classes));
  Drawn result{Tensor({static_cast<Index>(rows), classes}), Labels(rows)};
  std::uint64_t at = 0;
  for (float& value : result.outputs.mutable_span()) {
    value = std::round(10.0F * random.uniform(at++)) / 10.0F;
  }
  for (std::int32_t& label : result.labels) {
    label = static_cast<std::int32_t>(
        random.below(at++, static_cast<std::uint32_t>(std::max<Index>(classes, 2))));
  }
  return result;
}

TEST(Scores, ReconstructionErrorsAreMeansOfSquares) {
  const Tensor outputs = Tensor::from({2, 2, 1}, std::vector<float>{1, 2, 3, 4});
  const Tensor targets = Tensor::from({2, 2}, std::vector<float>{0, 2, 3, 1});
  EXPECT_EQ(reconstruction_errors(outputs, targets), (std::vector<float>{0.5F, 4.5F}));
  EXPECT_THROW(reconstruction_errors(outputs, Tensor({2, 3})), InvalidArgument);
  EXPECT_THROW(reconstruction_errors(outputs, Tensor({4, 1})), InvalidArgument);
}

TEST(Scores, OfClassesAreThoseOfNaiveCounts) {
  const Drawn data = drawn(4);
  double precision = 0;
  double recall = 0;
  double f1 = 0;
  double iou = 0;
  std::size_t right = 0;
  for (std::int32_t label = 0; label < 4; ++label) {
    double tp = 0;
    double fp = 0;
    double fn = 0;
    for (std::size_t i = 0; i < data.labels.size(); ++i) {
      const auto row = data.outputs.span().subspan(4 * i, 4);
      const auto said = static_cast<std::int32_t>(std::ranges::max_element(row) - row.begin());
      tp += said == label && data.labels[i] == label ? 1 : 0;
      fp += said == label && data.labels[i] != label ? 1 : 0;
      fn += said != label && data.labels[i] == label ? 1 : 0;
    }
    right += static_cast<std::size_t>(tp);
    precision += tp / (tp + fp) / 4;
    recall += tp / (tp + fn) / 4;
    f1 += 2 / ((tp + fp) / tp + (tp + fn) / tp) / 4;
    iou += tp / (tp + fp + fn) / 4;
  }
  const Targets labels(data.labels);
  EXPECT_DOUBLE_EQ(score("accuracy", data.outputs, labels), static_cast<double>(right) / 200);
  EXPECT_DOUBLE_EQ(score("top_1", data.outputs, labels), static_cast<double>(right) / 200);
  EXPECT_DOUBLE_EQ(score("precision", data.outputs, labels), precision);
  EXPECT_DOUBLE_EQ(score("recall", data.outputs, labels), recall);
  EXPECT_DOUBLE_EQ(score("f1", data.outputs, labels), f1);
  EXPECT_DOUBLE_EQ(score("dice", data.outputs, labels), f1);
  EXPECT_DOUBLE_EQ(score("iou", data.outputs, labels), iou);
  // Targets as one-hot rows, each pixel of an image one.
  const Tensor hot = one_hot(data.labels, 4).reshape({2, 10, 10, 4});
  EXPECT_DOUBLE_EQ(score("iou", data.outputs.reshape({2, 10, 10, 4}), Targets(hot)), iou);
}

TEST(Scores, CountClassesThatHaveNoExampleAsNone) {
  const Tensor outputs = Tensor::from({2, 3}, {1, 0, 0, 0, 0, 1});
  EXPECT_DOUBLE_EQ(score("recall", outputs, Targets(Labels{0, 0})), 0.5);
  const ConfusionMatrix counts = confusion_matrix(Labels{0, 2}, Labels{0, 0}, 3);
  EXPECT_EQ(counts, (ConfusionMatrix{{1, 0, 1}, {0, 0, 0}, {0, 0, 0}}));
  EXPECT_EQ(precision_of(counts, 1), 0.0);
  EXPECT_EQ(iou_of(counts, 1), 0.0);
}

TEST(Scores, OfManyClassesNeedNoMatrix) {
  constexpr Index kClasses = 200000;
  Tensor outputs({2, kClasses});
  outputs.mutable_at({0, 7}) = 1.0F;
  outputs.mutable_at({1, kClasses - 1}) = 1.0F;
  const Targets labels(Labels{7, 8});
  EXPECT_DOUBLE_EQ(score("accuracy", outputs, labels), 0.5);
  EXPECT_DOUBLE_EQ(score("recall", outputs, labels), 0.5);
}

TEST(Scores, TopKIsARankInAStableOrder) {
  const Drawn data = drawn(6);
  for (int k = 1; k <= 6; ++k) {
    std::size_t right = 0;
    for (std::size_t i = 0; i < data.labels.size(); ++i) {
      const auto row = data.outputs.span().subspan(6 * i, 6);
      std::vector<std::int32_t> order = {0, 1, 2, 3, 4, 5};
      std::ranges::stable_sort(order, [&](auto a, auto b) {
        return row[static_cast<std::size_t>(a)] > row[static_cast<std::size_t>(b)];
      });
      right +=
          std::ranges::find(order.begin(), order.begin() + k, data.labels[i]) != order.begin() + k
              ? 1U
              : 0U;
    }
    EXPECT_DOUBLE_EQ(top_k_accuracy(data.outputs, data.labels, k),
                     static_cast<double>(right) / 200);
  }
}

TEST(Scores, AreaUnderTheCurveIsTheShareOfPairsInOrder) {
  const Drawn data = drawn(1);
  double pairs = 0;
  double right = 0;
  for (std::size_t i = 0; i < data.labels.size(); ++i) {
    for (std::size_t j = 0; j < data.labels.size(); ++j) {
      if (data.labels[i] != 1 || data.labels[j] != 0) continue;
      const float a = data.outputs.span()[i];
      const float b = data.outputs.span()[j];
      pairs += 1;
      right += a > b ? 1 : a == b ? 0.5 : 0;
    }
  }
  EXPECT_DOUBLE_EQ(score("roc_auc", data.outputs, Targets(data.labels)), right / pairs);
  EXPECT_DOUBLE_EQ(roc_auc(std::vector<float>{1, 2, 3}, Labels{0, 1, 1}), 1.0);
  EXPECT_DOUBLE_EQ(roc_auc(std::vector<float>{3, 2, 1}, Labels{0, 1, 1}), 0.0);
  const Tensor three = Tensor::from({3, 3}, {1, 0, 0, 0, 1, 0, 0, 0, 1});
  EXPECT_DOUBLE_EQ(score("roc_auc", three, Targets(Labels{0, 1, 2})), 1.0);
  // Two logits go by their difference.
  const Tensor logits = Tensor::from({3, 2}, {5, 6, 0, 2, 9, 8});
  EXPECT_DOUBLE_EQ(score("roc_auc", logits, Targets(Labels{0, 1, 0})), 1.0);
  // Differences of 1 and 1 - 1e-8, which a float does not tell apart.
  const Tensor close = Tensor::from({2, 2}, {1e-8F, 1, 0, 1});
  EXPECT_DOUBLE_EQ(score("roc_auc", close, Targets(Labels{0, 1})), 1.0);
}

TEST(Scores, OfNumbersAreErrorsAndExplainedVariance) {
  const Tensor outputs = Tensor::from({4, 1}, {1, 2, 3, 5});
  const Tensor targets = Tensor::from({4, 1}, {1, 2, 3, 4});
  EXPECT_DOUBLE_EQ(score("mean_absolute_error", outputs, Targets(targets)), 0.25);
  EXPECT_DOUBLE_EQ(score("r2", outputs, Targets(targets)), 1.0 - 1.0 / 5.0);
  EXPECT_DOUBLE_EQ(score("r2", Tensor::full({4, 1}, 2.5F), Targets(targets)), 0.0);
}

TEST(Scores, SayWhatTheyCannotMeasure) {
  const Tensor outputs = Tensor::from({2, 2}, {1, 0, 0, 1});
  const Targets labels(Labels{0, 1});
  const auto refused = [](const auto& call, std::string_view words) {
    expect_mentions(message_of<InvalidArgument>(call), words);
  };
  refused([&] { score("top_0", outputs, labels); }, "expected one of accuracy, top_K, precision");
  refused([&] { score("auc", outputs, labels); }, "found \"auc\"");
  refused([&] { score("r2", outputs, labels); }, "expected targets that are tensors");
  refused(
      [&] {
        score("f1", outputs, Targets(Tensor::ones({2, 3})));
      },
      "the outputs' shape [2, 2]");
  refused([&] { score("roc_auc", outputs, Targets(Labels{1, 1})); }, "0 of 0 and 2 of 1");
  refused(
      [&] {
        score("roc_auc", Tensor::ones({2, 3}), labels);
      },
      "examples of class 2 and of others, found 0 and 2");
  for (const char* name : {"precision", "accuracy", "roc_auc", "top_1"}) {
    refused(
        [&] {
          score(name, outputs, Targets(Tensor::from({2, 2}, {1, 0, 0, 1.5F})));
        },
        fmt::format("{}: expected targets of classes, from 0 to 1, found 1.5", name));
  }
  refused([&] { confusion_matrix(Labels{0}, Labels{0}, kMostConfusedClasses + 1); },
          "expected at most 4096 classes, found 4097");
  refused([&] { score("accuracy", outputs, Targets(Labels{1})); }, "found 2 and 1");
  refused([&] { score("accuracy", outputs, Targets(Labels{1, 2})); }, "expected classes in [0, 2)");
}

}  // namespace
}  // namespace octet::test::scores_test
