#include <octet/core/error.h>
#include <octet/core/ops/elementwise.h>
#include <octet/tests/train/data/idx_files.h>
#include <octet/train/loss.h>

#include <array>
#include <cmath>
#include <limits>

namespace octet::test::loss_test {
namespace {

constexpr Index kRows = 5;
constexpr Index kClasses = 7;

Tensor logits() { return Tensor::normal({kRows, kClasses}, Random(3), 0.0F, 2.0F); }
const Labels kLabels = {6, 0, 3, 3, 1};

/// The mean of -sum target * log softmax, in double.
double naive_cross_entropy(const Tensor& x, double smoothing) {
  double total = 0.0;
  for (Index i = 0; i < kRows; ++i) {
    double sum = 0.0;
    for (Index j = 0; j < kClasses; ++j) sum += std::exp(static_cast<double>(x.at({i, j})));
    for (Index j = 0; j < kClasses; ++j) {
      const bool is_label = kLabels[static_cast<std::size_t>(i)] == j;
      const double target = (is_label ? 1.0 - smoothing : 0.0) + smoothing / kClasses;
      total -= target * (static_cast<double>(x.at({i, j})) - std::log(sum));
    }
  }
  return total / kRows;
}

TEST(Loss, CrossEntropyIsTheNaiveLoop) {
  const Tensor x = logits();
  EXPECT_NEAR(sparse_categorical_cross_entropy()(x, kLabels).item(), naive_cross_entropy(x, 0.0),
              1e-5);
  for (const float smoothing : {0.0F, 0.1F, 0.75F}) {
    EXPECT_NEAR(smoothed_cross_entropy(smoothing)(x, kLabels).item(),
                naive_cross_entropy(x, static_cast<double>(smoothing)), 1e-5);
  }
}

TEST(Loss, SmoothedGradientIsSoftmaxMinusTarget) {
  Tensor x = logits().set_requires_grad(true);
  smoothed_cross_entropy(0.2F)(x, kLabels).backward();
  for (Index i = 0; i < kRows; ++i) {
    double sum = 0.0;
    for (Index j = 0; j < kClasses; ++j) sum += std::exp(static_cast<double>(x.at({i, j})));
    for (Index j = 0; j < kClasses; ++j) {
      const bool is_label = kLabels[static_cast<std::size_t>(i)] == j;
      const double target = (is_label ? 0.8 : 0.0) + 0.2 / kClasses;
      EXPECT_NEAR(x.grad().at({i, j}),
                  (std::exp(static_cast<double>(x.at({i, j}))) / sum - target) / kRows, 1e-6);
    }
  }
}

TEST(Loss, MeanSquaredErrorIsTheNaiveLoop) {
  const Tensor x = logits();
  double total = 0.0;
  for (Index i = 0; i < kRows; ++i) {
    for (Index j = 0; j < kClasses; ++j) {
      const double error = static_cast<double>(x.at({i, j})) -
                           (kLabels[static_cast<std::size_t>(i)] == j ? 1.0 : 0.0);
      total += error * error;
    }
  }
  EXPECT_NEAR(one_hot_mean_squared_error()(x, kLabels).item(), total / (kRows * kClasses), 1e-5);
}

TEST(Loss, ArgumentsAreChecked) {
  for (const float smoothing : {-0.1F, 1.0F, std::nanf("")}) {
    EXPECT_THROW(smoothed_cross_entropy(smoothing), InvalidArgument);
  }
  const Tensor x = logits();
  for (const Loss& loss : {sparse_categorical_cross_entropy(), smoothed_cross_entropy(0.1F),
                           one_hot_mean_squared_error()}) {
    EXPECT_THROW(loss(x, Labels{6, 0, 3, 3, 7}), InvalidArgument);
    EXPECT_THROW(loss(x, Labels{-1, 0, 3, 3, 1}), InvalidArgument);
    EXPECT_THROW(loss(x, Labels{6, 0, 3}), InvalidArgument);
  }
}

TEST(OneHot, OnesAtLabelsAndErrorsThatNameTheRow) {
  const Tensor x = one_hot(Labels{2, 0}, 3);
  EXPECT_EQ(std::vector<float>(x.span().begin(), x.span().end()),
            (std::vector<float>{0, 0, 1, 1, 0, 0}));
  EXPECT_EQ(one_hot(Labels{}, 3).shape(), (Shape{0, 3}));
  expect_mentions(message_of<InvalidArgument>([] { one_hot(Labels{0, 3}, 3); }), "row 1");
  expect_mentions(message_of<InvalidArgument>([] { one_hot(Labels{-1}, 3); }), "found -1");
}

/// The value of a loss by hand, and that a wrong shape and a wrong kind are refused.
void expect_loss(const Loss& loss, const Tensor& output, const Tensor& target, double expected) {
  EXPECT_NEAR(loss(output, target).item(), expected, 1e-6);
  EXPECT_THROW(loss(output, Tensor::zeros({target.dim(0), 7})), InvalidArgument);
  EXPECT_THROW(loss(output, Tensor::zeros({target.dim(0) + 1, target.dim(1)})), InvalidArgument);
}

TEST(LossOnTensors, AgreesWithHandCounts) {
  const Tensor output = Tensor::from({2, 2}, {1.0F, -2.0F, 0.0F, 3.0F});
  const Tensor target = Tensor::from({2, 2}, {1.0F, 0.0F, 0.25F, 0.5F});
  expect_loss(mean_squared_error(), output, target, (0.0 + 4.0 + 0.0625 + 6.25) / 4.0);
  expect_loss(mean_absolute_error(), output, target, (0.0 + 2.0 + 0.25 + 2.5) / 4.0);
  const auto cross = [](double x, double t) {
    const double p = 1.0 / (1.0 + std::exp(-x));
    return -t * std::log(p) - (1.0 - t) * std::log(1.0 - p);
  };
  expect_loss(binary_cross_entropy(), output, target,
              (cross(1, 1) + cross(-2, 0) + cross(0, 0.25) + cross(3, 0.5)) / 4.0);
  const auto log_softmax = [](double x, double other) { return -std::log1p(std::exp(other - x)); };
  expect_loss(categorical_cross_entropy(), output, target,
              -(log_softmax(1, -2) + 0.25 * log_softmax(0, 3) + 0.5 * log_softmax(3, 0)) / 2.0);
  const double first = 1.0 / std::sqrt(5.0);
  const double second = 1.5 / (3.0 * std::sqrt(0.3125));
  expect_loss(cosine_distance(), output, target, 1.0 - (first + second) / 2.0);
}

TEST(LossOnTensors, RefusesLabelsAndShares) {
  const Tensor output = Tensor::zeros({2, 2});
  for (const Loss& loss : {mean_squared_error(), mean_absolute_error(), categorical_cross_entropy(),
                           cosine_distance()}) {
    expect_mentions(message_of<InvalidArgument>([&] {
                      loss(output, Labels{0, 1});
                    }),
                    "expected a tensor, found 2 class labels");
  }
  for (const Loss& loss : {sparse_categorical_cross_entropy(), smoothed_cross_entropy(0.1F),
                           one_hot_mean_squared_error()}) {
    expect_mentions(message_of<InvalidArgument>([&] { loss(output, output); }),
                    "expected class labels, found a tensor");
  }
  expect_mentions(
      message_of<InvalidArgument>([&] { mean_squared_error()(output, Tensor::zeros({2})); }),
      "does the model have one output per target?");
}

TEST(LossOnTensors, BinaryLabelsAreAColumn) {
  const Tensor output = Tensor::from({3, 1}, {0.5F, -1.0F, 2.0F});
  const Loss loss = binary_cross_entropy();
  EXPECT_EQ(loss(output, Labels{1, 0, 1}).item(),
            loss(output, Tensor::from({3, 1}, {1, 0, 1})).item());
  expect_mentions(message_of<InvalidArgument>([&] {
                    loss(output, Labels{0, 2, 1});
                  }),
                  "row 1: expected a label 0 or 1, found 2");
  expect_mentions(message_of<InvalidArgument>([&] {
                    loss(Tensor::zeros({3, 2}), Labels{0, 1, 1});
                  }),
                  "labels belong to a model of one output");
  expect_mentions(message_of<InvalidArgument>([&] {
                    loss(output, Tensor::from({3, 1}, {0, 1.5F, 1}));
                  }),
                  "expected targets in [0, 1], found 1.5");
  EXPECT_THROW(loss(output, Labels{0, 1}), InvalidArgument);
}

TEST(LossOnTensors, AFunctionSaysByItsArgumentsWhatItTakes) {
  const Loss by_label = [](const Tensor& output, std::span<const std::int32_t> labels) {
    return output * static_cast<float>(labels.size());
  };
  const Loss by_tensor = [](const Tensor& output, const Tensor& target) { return output * target; };
  EXPECT_EQ(by_label(Tensor::scalar(2.0F), Labels{4, 4, 4}).item(), 6.0F);
  EXPECT_EQ(by_tensor(Tensor::full({1}, 2.0F), Tensor::full({1}, 4.0F)).item(), 8.0F);
  EXPECT_THROW(by_tensor(Tensor::scalar(2.0F), Labels{4}), InvalidArgument);
}

TEST(LossOnTensors, CosineOfNothingIsFinite) {
  Tensor output = Tensor::zeros({1, 3});
  output.set_requires_grad(true);
  Tensor loss = cosine_distance()(output, Tensor::from({1, 3}, {1, 0, 0}));
  EXPECT_EQ(loss.item(), 1.0F);
  loss.backward();
  for (const float g : output.grad().span()) EXPECT_TRUE(std::isfinite(g));
}

}  // namespace
}  // namespace octet::test::loss_test
