#include <octet/core/error.h>
#include <octet/tests/train/data/idx_files.h>
#include <octet/train/loss.h>

#include <array>
#include <cmath>
#include <limits>

namespace octet::test {
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

}  // namespace
}  // namespace octet::test
