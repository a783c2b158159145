#include <octet/core/autograd.h>
#include <octet/core/ops/activation.h>
#include <octet/core/ops/elementwise.h>
#include <octet/core/ops/loss.h>
#include <octet/tests/core/ops/op_testing.h>

#include <cmath>

namespace octet::test::loss_test {
namespace {

using namespace testing;

Labels some_labels(Index rows, Index classes) {
  Labels labels;
  for (Index i = 0; i < rows; ++i) labels.push_back(static_cast<std::int32_t>(i * 3 % classes));
  return labels;
}

TEST(CrossEntropy, MatchesALoopInDouble) {
  const Tensor x = random_tensor({13, 7}, 1, -6, 6);
  const Labels labels = some_labels(13, 7);
  double total = 0.0;
  for (Index i = 0; i < 13; ++i) {
    double sum = 0.0;
    for (Index j = 0; j < 7; ++j) sum += std::exp(static_cast<double>(x.at({i, j})));
    total += std::log(sum) - static_cast<double>(x.at({i, labels[static_cast<std::size_t>(i)]}));
  }
  const Tensor loss = softmax_cross_entropy(x, labels);
  EXPECT_EQ(loss.rank(), 0);
  EXPECT_NEAR(loss.item(), total / 13.0, 1e-6);
  // With and without the tape, the same bits.
  EXPECT_EQ(softmax_cross_entropy(leaf(x.clone()), labels).item(), loss.item());
}

TEST(CrossEntropy, GradientsOfSparseLabels) {
  for (const Shape& shape : {Shape{1, 1}, Shape{1, 10}, Shape{5, 2}, Shape{7, 3}}) {
    const Labels labels = some_labels(shape[0], shape[1]);
    expect_gradient([&](const auto& in) { return softmax_cross_entropy(in[0], labels) * 5.0F; },
                    {random_tensor(shape, 2)});
  }
}

TEST(CrossEntropy, DenseLabelsEqualSparseOnesWhereOneHot) {
  const Tensor x = random_tensor({5, 4}, 3);
  const Labels labels = some_labels(5, 4);
  Tensor one_hot = Tensor::zeros({5, 4});
  for (Index i = 0; i < 5; ++i) one_hot.mutable_at({i, labels[static_cast<std::size_t>(i)]}) = 1.0F;
  EXPECT_NEAR(softmax_cross_entropy(x, one_hot).item(), softmax_cross_entropy(x, labels).item(),
              1e-6);
  expect_close(gradient_of([&](const Tensor& v) { return softmax_cross_entropy(v, one_hot); }, x),
               gradient_of([&](const Tensor& v) { return softmax_cross_entropy(v, labels); }, x));
}

TEST(CrossEntropy, GradientsOfDenseLabels) {
  for (const Shape& shape : {Shape{1, 3}, Shape{4, 1}, Shape{5, 7}}) {
    expect_gradient([](const auto& in) { return 5.0F * softmax_cross_entropy(in[0], in[1]); },
                    {random_tensor(shape, 4), random_tensor(shape, 5, 0, 1)});
  }
}

TEST(CrossEntropy, ConfidentAndWrongIsLargeNotInfinite) {
  const Tensor x = Tensor::from({1, 2}, {1000, -1000});
  EXPECT_EQ(softmax_cross_entropy(x, Labels{1}).item(), 2000.0F);
  EXPECT_EQ(softmax_cross_entropy(x, Labels{0}).item(), 0.0F);
  expect_tensor(gradient_of([](const Tensor& v) { return softmax_cross_entropy(v, Labels{1}); }, x),
                {1, 2}, {1, -1});
}

TEST(CrossEntropy, BadNumbersReachTheLoss) {
  for (const float bad : {kNan, kInf}) {
    Tensor x = Tensor::zeros({3, 2});
    x.mutable_at({1, 1}) = bad;
    EXPECT_TRUE(std::isnan(softmax_cross_entropy(x, Labels{0, 1, 0}).item()));
  }
}

TEST(CrossEntropy, Errors) {
  const Tensor x = Tensor::zeros({3, 10});
  expect_error(
      [&] {
        softmax_cross_entropy(x, Labels{1, 10, 3});
      },
      "softmax_cross_entropy: label 10 in row 1 is outside [0, 10)");
  expect_error([&] { softmax_cross_entropy(x, Labels{1, 2, -1}); }, "label -1 in row 2");
  expect_error(
      [&] {
        softmax_cross_entropy(x, Labels{1, 2});
      },
      "expected one label per row of logits [3, 10], found 2 labels");
  expect_error(
      [&] {
        softmax_cross_entropy(Tensor::zeros({3}), Labels{1, 2, 0});
      },
      "expected logits [rows, classes] of at least one element, found shape [3]");
  expect_error(
      [] {
        softmax_cross_entropy(Tensor::zeros({0, 10}), Labels{});
      },
      "found shape [0, 10]");
  expect_error(
      [&] {
        softmax_cross_entropy(x, Tensor::zeros({3, 9}));
      },
      "expected probabilities of the logits' shape [3, 10], found [3, 9]");
}

TEST(CrossEntropy, SameBytesOnAnyNumberOfThreads) {
  const Tensor x = random_tensor({2000, 10}, 6);
  const Labels labels = some_labels(2000, 10);
  expect_same_on_any_threads([&] {
    Tensor v = leaf(x.clone());
    Tensor loss = softmax_cross_entropy(v, labels);
    loss.backward();
    return std::vector<Tensor>{loss, v.grad()};
  });
}

TEST(SigmoidCrossEntropy, ValueAndGradients) {
  const Tensor x = random_tensor({5, 3}, 1, -6, 6);
  const Tensor t = random_tensor({5, 3}, 2, 0, 1);
  double total = 0.0;
  for (std::size_t i = 0; i < 15; ++i) {
    const double p = 1.0 / (1.0 + std::exp(-static_cast<double>(x.span()[i])));
    const double target = t.span()[i];
    total -= target * std::log(p) + (1.0 - target) * std::log(1.0 - p);
  }
  EXPECT_NEAR(sigmoid_cross_entropy(x, t).item(), total / 15.0, 1e-6);
  expect_gradient([&](const auto& in) { return sigmoid_cross_entropy(in[0], t) * 5.0F; }, {x});
}

TEST(SigmoidCrossEntropy, ConfidentAndWrongIsLargeNotInfinite) {
  const Tensor x = Tensor::from({4}, {1000, -1000, 1000, -1000});
  const Tensor t = Tensor::from({4}, {0, 1, 1, 0});
  EXPECT_EQ(sigmoid_cross_entropy(x, t).item(), 500.0F);
  expect_tensor(gradient_of([&](const Tensor& v) { return sigmoid_cross_entropy(v, t); }, x), {4},
                {0.25F, -0.25F, 0.0F, 0.0F});
  EXPECT_TRUE(
      std::isnan(sigmoid_cross_entropy(Tensor::full({1}, kNan), Tensor::zeros({1})).item()));
}

TEST(SigmoidCrossEntropy, Errors) {
  EXPECT_THROW(sigmoid_cross_entropy(Tensor::zeros({2, 1}), Tensor::zeros({2})), InvalidArgument);
  EXPECT_THROW(sigmoid_cross_entropy(Tensor::zeros({0}), Tensor::zeros({0})), InvalidArgument);
}

TEST(MeanSquaredError, ValueAndGradients) {
  const Tensor p = Tensor::from({2, 2}, {1, 2, 3, 4});
  const Tensor t = Tensor::from({2, 2}, {1, 0, 0, 0});
  EXPECT_EQ(mean_squared_error(p, t).item(), 29.0F / 4.0F);
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{3, 5}, Shape{2, 1, 3}}) {
    expect_gradient([](const auto& in) { return 5.0F * mean_squared_error(in[0], in[1]); },
                    {random_tensor(shape, 7), random_tensor(shape, 8)});
  }
  EXPECT_TRUE(std::isnan(mean_squared_error(Tensor::scalar(kNan), Tensor::scalar(0)).item()));
}

TEST(MeanSquaredError, Errors) {
  expect_error(
      [] {
        mean_squared_error(Tensor::zeros({4, 1}), Tensor::zeros({4}));
      },
      "mean_squared_error: expected operands of one shape, found [4, 1] and [4]");
  expect_error([] { mean_squared_error(Tensor::zeros({0}), Tensor::zeros({0})); },
               "mean_squared_error: expected at least one element, found shape [0]");
}

}  // namespace
}  // namespace octet::test::loss_test
