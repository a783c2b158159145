#include <octet/core/ops/batch_norm_internal.h>
#include <octet/core/ops/gradients_internal.h>
#include <octet/core/ops/ops.h>
#include <octet/core/tensor_internal.h>
#include <octet/tests/core/ops/op_testing.h>

#include <array>

namespace octet::test::fold_batch_norm_test {
namespace {

constexpr float kEpsilon = 1e-3F;

/// Everything that is folded, with `units` units along the last axes of the kernel.
struct Parts {
  Tensor kernel, bias, gamma, beta;
  ChannelStatistics statistics;

  Parts(const Shape& shape, Index units)
      : kernel(random_tensor(shape, 1)),
        bias(random_tensor({units}, 2)),
        gamma(random_tensor({units}, 3)),
        beta(random_tensor({units}, 4)),
        statistics{random_tensor({units}, 5), random_tensor({units}, 6, 0.2F, 3.0F)} {}
};

FoldedWeights fold(const Parts& p) {
  return fold_batch_norm(p.kernel, p.bias, p.gamma, p.beta, p.statistics, kEpsilon);
}

TEST(FoldBatchNorm, IsTheNormalizedLayer) {
  const std::array<std::pair<Shape, Index>, 4> cases = {
      {{{7, 5}, 5}, {{3, 2, 4, 6}, 6}, {{3, 3, 4, 2}, 8}, {{1, 1}, 1}}};
  for (const auto& [shape, units] : cases) {
    const Parts p(shape, units);
    const FoldedWeights folded = fold(p);
    ASSERT_EQ(folded.kernel.shape(), shape);
    ASSERT_EQ(folded.bias.shape(), (Shape{units}));
    for (Index i = 0; i < p.kernel.size(); ++i) {
      const Index c = i % units;
      const double m =
          p.gamma.data()[c] / std::sqrt(double{p.statistics.variance.data()[c]} + double{kEpsilon});
      EXPECT_NEAR(folded.kernel.data()[i], p.kernel.data()[i] * m, 1e-6);
      EXPECT_NEAR(folded.bias.data()[c],
                  (p.bias.data()[c] - p.statistics.mean.data()[c]) * m + p.beta.data()[c], 2e-6);
    }
  }
}

TEST(FoldBatchNorm, RoundsInOneOrder) {
  // Export and training share the bits: m = float(gamma * inverse), then one product, one sum.
  const Parts p({5, 3}, 3);
  const FoldedWeights folded = fold(p);
  for (std::size_t c = 0; c < 3; ++c) {
    const auto inverse = static_cast<float>(
        1.0 / std::sqrt(double{p.statistics.variance.span()[c]} + double{kEpsilon}));
    const volatile float m = p.gamma.span()[c] * inverse;
    const volatile float centered = p.bias.span()[c] - p.statistics.mean.span()[c];
    const volatile float product = centered * m;
    EXPECT_EQ(folded.bias.span()[c], product + p.beta.span()[c]);
    for (std::size_t i = 0; i < 5; ++i) {
      EXPECT_EQ(folded.kernel.span()[i * 3 + c], p.kernel.span()[i * 3 + c] * m);
    }
  }
}

TEST(FoldBatchNorm, GammaZeroLeavesBeta) {
  Parts p({4, 2}, 2);
  p.gamma = Tensor::from({2}, {0.0F, -2.0F});
  const FoldedWeights folded = fold(p);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(folded.kernel.span()[2 * i], 0.0F);
  EXPECT_EQ(folded.bias.span()[0], p.beta.span()[0]);
  EXPECT_LT(folded.kernel.span()[1] * p.kernel.span()[1], 0.0F);
}

TEST(FoldBatchNorm, Gradients) {
  for (const auto& [shape, units] : std::array<std::pair<Shape, Index>, 3>{
           {{{6, 3}, 3}, {{2, 2, 3, 4}, 4}, {{2, 2, 3, 2}, 6}}}) {
    const Parts p(shape, units);
    expect_gradient(
        [&p](const std::vector<Tensor>& in) {
          return fold_batch_norm(in[0], {}, in[1], p.beta, p.statistics, kEpsilon).kernel;
        },
        {p.kernel, p.gamma});
    expect_gradient(
        [&p](const std::vector<Tensor>& in) {
          return fold_batch_norm(p.kernel, in[0], in[1], in[2], p.statistics, kEpsilon).bias;
        },
        {p.bias, p.gamma, p.beta});
    expect_gradient(
        [&p](const std::vector<Tensor>& in) {
          return fold_batch_norm(p.kernel, {}, in[0], in[1], p.statistics, kEpsilon).bias;
        },
        {p.gamma, p.beta});
  }
}

TEST(FoldBatchNorm, GradientsAreThoseOfTheUnfoldedLayer) {
  const Parts p({6, 3}, 3);
  const Tensor x = random_tensor({9, 6}, 7);
  const Tensor upstream = random_tensor({9, 3}, 8);
  const auto gradients = [&](bool folded) {
    const std::vector<Tensor> in = {leaf(x.clone()), leaf(p.kernel.clone()), leaf(p.bias.clone()),
                                    leaf(p.gamma.clone()), leaf(p.beta.clone())};
    Tensor y;
    if (folded) {
      const auto [kernel, bias] =
          fold_batch_norm(in[1], in[2], in[3], in[4], p.statistics, kEpsilon);
      y = linear(in[0], kernel, bias);
    } else {
      y = batch_norm_inference(linear(in[0], in[1], in[2]), in[3], in[4], p.statistics, kEpsilon);
    }
    y.backward(upstream);
    std::vector<Tensor> all = {y.detach()};
    for (const Tensor& tensor : in) all.push_back(tensor.grad());
    return all;
  };
  const auto expected = gradients(false);
  const auto found = gradients(true);
  for (std::size_t i = 0; i < expected.size(); ++i) expect_close(found[i], expected[i], 2e-5F);
}

TEST(FoldBatchNorm, KernelIsNotWrittenToMemoryUnlessItIsAskedFor) {
  Parts p({300, 24}, 24);
  const Tensor folded =
      detail::fold_batch_norm_on_demand(p.kernel, p.bias, p.gamma, p.beta, p.statistics, kEpsilon)
          .kernel;
  const std::vector<float> in_memory = values_of(fold(p).kernel);
  const auto row_of = [&](Index row) {
    std::vector<float> found(24);
    TensorRows(folded, 24).read(row, row + 1, found.data());
    return found;
  };
  const std::vector<float> row = row_of(299);
  EXPECT_TRUE(std::ranges::equal(std::span(in_memory).last(24), row));
  EXPECT_NE(detail::TensorAccess::pending(folded), nullptr);
  // What was folded stays as it was when its kernel changes, as in a step of an optimizer.
  std::ranges::fill(p.kernel.mutable_span(), 0.0F);
  EXPECT_EQ(detail::TensorAccess::pending(folded), nullptr);
  EXPECT_TRUE(std::ranges::equal(folded.span().last(24), row));
}

TEST(FoldBatchNorm, AGradientThatOthersHoldIsNotWrittenOver) {
  const Parts p({70, 3}, 3);
  const Tensor upstream = random_tensor({70, 3}, 8);
  const std::vector<float> before = values_of(upstream);
  const Tensor kernel = leaf(p.kernel.clone());
  const Tensor gamma = leaf(p.gamma.clone());
  Tensor folded = fold_batch_norm(kernel, {}, gamma, p.beta, p.statistics, kEpsilon).kernel;
  folded.backward(upstream);
  EXPECT_EQ(values_of(upstream), before);
  EXPECT_NE(values_of(kernel.grad()), before);
}

TEST(FoldBatchNorm, RowsOfManyBlocksGiveTheGradientOfGamma) {
  for (const Shape& shape : {Shape{700, 5}, Shape{3, 3, 40, 130}}) {
    const Index units = shape[shape.rank() - 1];
    const Parts p(shape, units);
    const Tensor upstream = random_tensor(shape, 8);
    const Tensor kernel = leaf(p.kernel.clone());
    const Tensor gamma = leaf(p.gamma.clone());
    Tensor folded = fold_batch_norm(kernel, {}, gamma, p.beta, p.statistics, kEpsilon).kernel;
    folded.backward(upstream);
    for (Index c = 0; c < units; ++c) {
      const double inverse =
          1.0 / std::sqrt(double{p.statistics.variance.data()[c]} + double{kEpsilon});
      double sum = 0.0;
      for (Index i = c; i < shape.size(); i += units) {
        sum += double{p.kernel.data()[i]} * double{upstream.data()[i]};
        EXPECT_NEAR(kernel.grad().data()[i],
                    double{upstream.data()[i]} * double{p.gamma.data()[c]} * inverse, 1e-5);
      }
      EXPECT_NEAR(gamma.grad().data()[c], sum * inverse, 1e-3);
    }
  }
}

TEST(FoldBatchNorm, SameBytesOnAnyNumberOfThreads) {
  const Parts p({40, 30, 17}, 17);
  expect_same_on_any_threads([&] {
    const std::vector<Tensor> in = {leaf(p.kernel.clone()), leaf(p.gamma.clone()),
                                    leaf(p.beta.clone())};
    Tensor kernel = fold_batch_norm(in[0], {}, in[1], in[2], p.statistics, kEpsilon).kernel;
    kernel.backward(random_tensor(kernel.shape(), 4));
    return std::vector<Tensor>{kernel.detach(), in[0].grad(), in[1].grad()};
  });
}

TEST(FoldBatchNorm, ErrorsNameTheOperationAndWhatWasFound) {
  const Parts p({4, 3}, 3);
  expect_error([&] { fold_batch_norm(p.kernel, {}, p.gamma, Tensor::ones({2}), p.statistics, 1); },
               "fold_batch_norm: expected beta of shape [3], one per channel, found [2]");
  expect_error(
      [&] { fold_batch_norm(p.kernel, Tensor::ones({4}), p.gamma, p.beta, p.statistics, 1); },
      "expected a bias of shape [3]");
  for (const Shape& shape : {Shape{3, 4}, Shape{4}, Shape{}, Shape{2, 6}}) {
    expect_error(
        [&] { fold_batch_norm(Tensor::ones(shape), {}, p.gamma, p.beta, p.statistics, 1); },
        "expected a kernel whose last axes hold the 3 channels, found " + shape.to_string());
  }
  expect_error([&] { fold_batch_norm(p.kernel, {}, p.gamma, p.beta, p.statistics, 0.0F); },
               "fold_batch_norm: expected a finite epsilon above 0");
  expect_error(
      [&] {
        fold_batch_norm(p.kernel, {}, p.gamma, p.beta, {p.beta, {}}, 1);
      },
      "expected a variance of shape [3], one per channel, found an undefined tensor");
  expect_error(
      [] {
        channel_statistics(Tensor::zeros({0, 3}));
      },
      "channel_statistics: expected an input [..., channels] with at least one row");
}

}  // namespace
}  // namespace octet::test::fold_batch_norm_test
