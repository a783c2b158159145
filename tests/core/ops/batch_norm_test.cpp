#include <octet/core/autograd.h>
#include <octet/core/ops/batch_norm_internal.h>
#include <octet/core/ops/gradients_internal.h>
#include <octet/core/ops/ops.h>
#include <octet/tests/core/kernels/kernel_testing.h>
#include <octet/tests/core/ops/op_testing.h>

#include <algorithm>

namespace octet::test::batch_norm_test {
namespace {

constexpr float kEpsilon = 1e-3F;

Tensor ones(Index channels) { return Tensor::ones({channels}); }
Tensor zeros(Index channels) { return Tensor::zeros({channels}); }

/// Values for a parameter or a statistic of `channels`.
Tensor positive(Index channels, std::uint64_t seed) {
  return random_tensor({channels}, seed, 0.5F, 2.0F);
}

TEST(BatchNorm, NormalizesByTheStatisticsOfTheBatch) {
  // Channel 0: mean 2, variance 1; channel 1: mean -1, variance 9.
  const Tensor x = Tensor::from({4, 2}, {1, -4, 3, 2, 1, -4, 3, 2});
  const Tensor gamma = Tensor::from({2}, {2, -3});
  const Tensor beta = Tensor::from({2}, {10, 20});
  // In both channels, variance + epsilon is a square.
  const BatchNormResult r = batch_norm_training(x, gamma, beta, 1.25F * 1.25F - 1.0F);
  expect_tensor(r.statistics.mean, {2}, {2, -1});
  expect_tensor(r.statistics.variance, {2}, {1, 9});
  const float deviation = std::sqrt(9.0F + 1.25F * 1.25F - 1.0F);
  const float far = 9.0F / deviation;
  expect_close(r.y, Tensor::from({4, 2}, {8.4F, 20 + far, 11.6F, 20 - far, 8.4F, 20 + far, 11.6F,
                                          20 - far}));
}

TEST(BatchNorm, TheLastAxisOfAnyRankHoldsTheChannels) {
  const Tensor x = random_tensor({2, 3, 4, 5}, 1);
  const Tensor gamma = positive(5, 2);
  const Tensor beta = random_tensor({5}, 3);
  const Tensor y = batch_norm_training(x, gamma, beta, kEpsilon).y;
  EXPECT_EQ(y.shape(), x.shape());
  const Tensor rows = batch_norm_training(x.reshape({24, 5}), gamma, beta, kEpsilon).y;
  EXPECT_EQ(values_of(y), values_of(rows));
  // gamma 1 and beta 0 give mean 0 and variance 1 per channel, up to epsilon.
  const Tensor plain = batch_norm_training(x, ones(5), zeros(5), 1e-12F).y;
  expect_close(mean(plain, {0, 1, 2}), zeros(5));
  expect_close(mean(square(plain), {0, 1, 2}), ones(5));
}

TEST(BatchNorm, InferenceUsesTheStatisticsGiven) {
  const Tensor x = Tensor::from({2, 2}, {5, -1, 1, 7});
  const ChannelStatistics statistics{Tensor::from({2}, {1, 3}), Tensor::from({2}, {3, 15})};
  const Tensor y = batch_norm_inference(x, Tensor::from({2}, {4, 8}), Tensor::from({2}, {-1, 100}),
                                        statistics, 1.0F);
  expect_tensor(y, {2, 2}, {7, 92, -1, 108});
  EXPECT_EQ(
      batch_norm_inference(Tensor::zeros({0, 2}), ones(2), zeros(2), statistics, 1.0F).shape(),
      (Shape{0, 2}));
}

TEST(BatchNorm, ALargeMeanDoesNotDrownTheVariance) {
  Tensor x = random_tensor({1000, 3}, 1, -1.0F, 1.0F);
  for (float& value : x.mutable_span()) value += 4096.0F;
  const Tensor variance = batch_norm_training(x, ones(3), zeros(3), kEpsilon).statistics.variance;
  // The mean of the squares less the square of the mean would be off by more than 1 in float32.
  for (const float found : variance.span()) EXPECT_NEAR(found, 1.0F / 3.0F, 0.03F);
}

TEST(BatchNorm, OneRowIsItsOwnMean) {
  const BatchNormResult r = batch_norm_training(Tensor::from({1, 2}, {5, -7}), ones(2),
                                                Tensor::from({2}, {1, 2}), kEpsilon);
  expect_tensor(r.y, {1, 2}, {1, 2});
  expect_tensor(r.statistics.variance, {2}, {0, 0});
}

TEST(BatchNorm, Gradients) {
  for (const Shape& shape : {Shape{6, 3}, {2, 3, 2, 4}, {7, 1}}) {
    const Index channels = shape[shape.rank() - 1];
    const std::vector<Tensor> inputs = {random_tensor(shape, 1), positive(channels, 2),
                                        random_tensor({channels}, 3)};
    const ChannelStatistics statistics{random_tensor({channels}, 4), positive(channels, 5)};
    expect_gradient([](const auto& in) { return batch_norm_training(in[0], in[1], in[2], 0.1F).y; },
                    inputs);
    expect_gradient(
        [&](const auto& in) { return batch_norm_inference(in[0], in[1], in[2], statistics, 0.1F); },
        inputs);
  }
}

TEST(BatchNorm, GradientsOfOneInputAlone) {
  const Tensor x = random_tensor({6, 3}, 1);
  const Tensor gamma = positive(3, 2);
  const Tensor beta = random_tensor({3}, 3);
  expect_gradient([&](const auto& in) { return batch_norm_training(in[0], gamma, beta, 0.1F).y; },
                  {x});
  expect_gradient([&](const auto& in) { return batch_norm_training(x, in[0], beta, 0.1F).y; },
                  {gamma});
  expect_gradient([&](const auto& in) { return batch_norm_training(x, gamma, in[0], 0.1F).y; },
                  {beta});
}

/// A training step of batch normalization in doubles, one plain loop after the other.
struct NaiveNorm {
  std::vector<double> y, dx, dgamma, dbeta;

  NaiveNorm(const Tensor& x, const Tensor& gamma, const Tensor& beta, const Tensor& g,
            const RealLimits& limits)
      : y(x.span().size()), dx(y.size()), dgamma(gamma.span().size()), dbeta(dgamma.size()) {
    const std::size_t channels = dgamma.size();
    const auto rows = static_cast<double>(y.size()) / static_cast<double>(channels);
    for (std::size_t c = 0; c < channels; ++c) {
      double mean = 0.0;
      double variance = 0.0;
      for (std::size_t i = c; i < y.size(); i += channels) mean += double{x.span()[i]} / rows;
      for (std::size_t i = c; i < y.size(); i += channels) {
        variance += std::pow(double{x.span()[i]} - mean, 2.0) / rows;
      }
      const double inverse = 1.0 / std::sqrt(variance + double{kEpsilon});
      const auto passed = [&](std::size_t i) {
        return y[i] > double{limits.lo} && y[i] < double{limits.hi} ? double{g.span()[i]} : 0.0;
      };
      const auto normalized = [&](std::size_t i) { return (double{x.span()[i]} - mean) * inverse; };
      for (std::size_t i = c; i < y.size(); i += channels) {
        y[i] = std::clamp(normalized(i) * double{gamma.span()[c]} + double{beta.span()[c]},
                          double{limits.lo}, double{limits.hi});
        dgamma[c] += passed(i) * normalized(i);
        dbeta[c] += passed(i);
      }
      for (std::size_t i = c; i < y.size(); i += channels) {
        dx[i] = double{gamma.span()[c]} * inverse *
                (passed(i) - dbeta[c] / rows - normalized(i) * dgamma[c] / rows);
      }
    }
  }
};

void expect_near(const Tensor& found, const std::vector<double>& expected) {
  double largest = 1.0;
  for (const double value : expected) largest = std::max(largest, std::fabs(value));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(found.span()[i], expected[i], 3e-6 * largest) << "element " << i;
  }
}

class BatchNormPaths : public KernelTest {};

TEST_P(BatchNormPaths, MatchesALoopForAnyNumberOfChannelsAndThePortablePathToTheBit) {
  for (const Index channels : {1, 3, 7, 8, 17, 33, 64, 70, 150}) {
    for (const Index rows : {1, 2, 63, 65, 700}) {
      for (const auto activation :
           {FusedActivation::none, FusedActivation::relu, FusedActivation::relu6}) {
        const Tensor x = random_tensor({rows, channels}, 1, -1.0F, 3.0F);
        const Tensor gamma = random_tensor({channels}, 2, -4.0F, 5.0F);
        const Tensor beta = random_tensor({channels}, 3);
        const Tensor g = random_tensor(x.shape(), 4);
        const auto compute_on = [&](const KernelTable* table) {
          const Forced forced(table);
          const std::vector<Tensor> in = {leaf(x.clone()), leaf(gamma.clone()), leaf(beta.clone())};
          Tensor y = detail::batch_norm_training(in[0], in[1], in[2], kEpsilon, activation).y;
          y.backward(g);
          return std::vector{y.detach(), in[0].grad(), in[1].grad(), in[2].grad()};
        };
        const std::vector<Tensor> found = compute_on(GetParam());
        const NaiveNorm expected(x, gamma, beta, g, real_limits(activation));
        expect_near(found[0], expected.y);
        expect_near(found[1], expected.dx);
        expect_near(found[2], expected.dgamma);
        expect_near(found[3], expected.dbeta);
        const std::vector<Tensor> plain = compute_on(available_kernels().front());
        for (std::size_t i = 0; i < found.size(); ++i) {
          ASSERT_EQ(values_of(found[i]), values_of(plain[i])) << rows << " * " << channels;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, BatchNormPaths, ::testing::ValuesIn(available_kernels()), isa_name);

TEST(BatchNorm, AClampIsWhatTheOpGives) {
  const Tensor x = random_tensor({300, 5}, 1);
  const Tensor gamma = random_tensor({5}, 2, -9.0F, 9.0F);
  const Tensor beta = random_tensor({5}, 3);
  const Tensor g = random_tensor(x.shape(), 4);
  const auto gradients = [&](const std::function<Tensor(const std::vector<Tensor>&)>& f) {
    const std::vector<Tensor> in = {leaf(x.clone()), leaf(gamma.clone()), leaf(beta.clone())};
    Tensor y = f(in);
    y.backward(g);
    return std::vector{values_of(y), values_of(in[0].grad()), values_of(in[1].grad()),
                       values_of(in[2].grad())};
  };
  const auto of = [&](FusedActivation activation) {
    return gradients([&](const std::vector<Tensor>& in) {
      return detail::batch_norm_training(in[0], in[1], in[2], kEpsilon, activation).y;
    });
  };
  const auto plain = [](const std::vector<Tensor>& in) {
    return batch_norm_training(in[0], in[1], in[2], kEpsilon).y;
  };
  EXPECT_EQ(of(FusedActivation::relu), gradients([&](const auto& in) { return relu(plain(in)); }));
  EXPECT_EQ(of(FusedActivation::relu6),
            gradients([&](const auto& in) { return relu6(plain(in)); }));
}

/// Multipliers of both signs, and one whose square is below epsilon by far.
TEST(BatchNorm, OfMultiplesItIsThatOfWhatTheyAreMultiplesOf) {
  const Tensor x = random_tensor({70, 3, 2, 5}, 1, -1.0F, 3.0F);
  const Tensor m = Tensor::from({5}, {2.0F, -0.25F, 0.001F, -40.0F, 1.0F});
  const Tensor multiples = x * m;
  const Tensor gamma = random_tensor({5}, 2);
  const Tensor beta = random_tensor({5}, 3);
  const Tensor upstream = random_tensor(x.shape(), 4);
  const auto all_of = [&](const Tensor& of, const Tensor& multipliers) {
    const std::vector<Tensor> in = {leaf(of.clone()), leaf(gamma.clone()), leaf(beta.clone())};
    const detail::TrainingNorm norm(in[0], in[1], in[2], kEpsilon, FusedActivation::relu,
                                    multipliers);
    Tensor y = norm.result();
    const ChannelStatistics& statistics = norm.statistics();
    y.backward(upstream);
    const Tensor dx = multipliers.defined() ? in[0].grad() * multipliers : in[0].grad();
    return std::vector{y.detach(), statistics.mean, statistics.variance,
                       dx,         in[1].grad(),    in[2].grad()};
  };
  const std::vector<Tensor> found = all_of(multiples, m);
  const std::vector<Tensor> expected = all_of(x, {});
  for (std::size_t i = 0; i < found.size(); ++i) expect_close(found[i], expected[i], 1e-4F);
  // A channel of zeros gives beta and no gradient that is not a number.
  const std::vector<Tensor> still = all_of(Tensor::zeros(x.shape()), m);
  EXPECT_EQ(values_of(still[0]), values_of(relu(Tensor::zeros(x.shape()) + beta)));
  for (const Tensor& tensor : still) {
    EXPECT_TRUE(std::ranges::all_of(tensor.span(), [](float v) { return std::isfinite(v); }));
  }
}

/// Channel 0 holds -0.8 and 0.8, which lie on the limits of some windows.
TEST(BatchNorm, QuantizedItPassesTheGradientThatAWindowOfItsOwnPasses) {
  const Tensor x = Tensor::from({4, 2}, {1, -4, 3, 2, 1, -4, 3, 2});
  const Tensor upstream = random_tensor({4, 2}, 4);
  for (const RealLimits& passes : {RealLimits{-0.8F, 0.8F}, RealLimits{-0.5F, 1.5F},
                                   RealLimits{-2.0F, 0.999F}, RealLimits{1.0F, 2.0F}}) {
    for (const auto activation : {FusedActivation::none, FusedActivation::relu_n1_to_1}) {
      const auto gradients = [&](bool fused) {
        const std::vector<Tensor> in = {leaf(x.clone()), leaf(ones(2)), leaf(zeros(2))};
        const detail::TrainingNorm norm(in[0], in[1], in[2], 1.25F * 1.25F - 1.0F, activation);
        Tensor y = norm.result();
        const GradientWindow window{passes.lo, passes.hi, -kUnbounded, kUnbounded};
        Tensor z = fused ? norm.quantized(y.detach(), passes)
                         : record("window", y.detach(), {y}, [y, window](const Tensor& g) {
                             return std::vector<Tensor>{inside_window(y, g, window)};
                           });
        z.backward(upstream);
        return std::vector{values_of(in[0].grad()), values_of(in[1].grad()),
                           values_of(in[2].grad())};
      };
      EXPECT_EQ(gradients(true), gradients(false)) << passes.lo;
    }
  }
}

TEST(BatchNorm, WritesToNoGradientThatSomebodyHolds) {
  const Tensor g = random_tensor({6, 3}, 1);
  const auto gradient = [&](Tensor* held) {
    Tensor x = leaf(random_tensor({6, 3}, 2));
    const Tensor y = batch_norm_training(x, positive(3, 3), zeros(3), 0.1F).y;
    Tensor z = record("double", no_grad([&] { return 2.0F * y; }), {y}, [held](const Tensor& of_z) {
      const Tensor of_y = 2.0F * of_z;
      if (held != nullptr) *held = of_y;
      return std::vector<Tensor>{of_y};
    });
    z.backward(g);
    return values_of(x.grad());
  };
  Tensor held;
  EXPECT_EQ(gradient(&held), gradient(nullptr));
  EXPECT_EQ(values_of(held), values_of(2.0F * g));
  auto memory = std::shared_ptr<float[]>(new float[18]);
  std::ranges::copy(g.span(), memory.get());
  Tensor x = leaf(random_tensor({6, 3}, 2));
  const Tensor y = batch_norm_training(x, positive(3, 3), zeros(3), 0.1F).y;
  record("same", y.clone(), {y}, [&](const Tensor&) {
    return std::vector<Tensor>{Tensor::from_memory({6, 3}, memory)};
  }).backward(g);
  EXPECT_TRUE(std::equal(g.span().begin(), g.span().end(), memory.get()));
}

TEST(BatchNorm, ANanStaysNanThroughAClamp) {
  const Tensor x = Tensor::from({2, 2}, {1, kNan, 2, 3});
  const Tensor y =
      detail::batch_norm_training(x, ones(2), zeros(2), kEpsilon, FusedActivation::relu).y;
  EXPECT_FALSE(std::isnan(y.at({1, 0})));
  EXPECT_TRUE(std::isnan(y.at({0, 1})) && std::isnan(y.at({1, 1})));
}

TEST(BatchNorm, SameBytesOnAnyNumberOfThreads) {
  // Enough rows for several parts.
  const Tensor x = random_tensor({9, 20, 30, 17}, 1);
  const Tensor upstream = random_tensor(x.shape(), 2);
  expect_same_on_any_threads([&] {
    const std::vector<Tensor> in = {leaf(x.clone()), leaf(positive(17, 3)), leaf(zeros(17))};
    BatchNormResult r = batch_norm_training(in[0], in[1], in[2], kEpsilon);
    r.y.backward(upstream);
    return std::vector<Tensor>{r.y.detach(), r.statistics.mean, r.statistics.variance,
                               in[0].grad(), in[1].grad(),      in[2].grad()};
  });
}

TEST(BatchNorm, ErrorsNameTheOperationAndWhatWasFound) {
  const Tensor x = Tensor::ones({4, 3});
  const auto train = [&](const Tensor& in, Index gamma, Index beta, float epsilon = kEpsilon) {
    return [=] { batch_norm_training(in, ones(gamma), zeros(beta), epsilon); };
  };
  expect_error(train(x, 2, 3),
               "batch_norm_training: expected gamma of shape [3], one per channel, found [2]");
  expect_error(
      [&] { detail::TrainingNorm(x, ones(3), zeros(3), kEpsilon, FusedActivation::none, ones(4)); },
      "batch_norm_training: expected multipliers of shape [3], one per channel, found [4]");
  expect_error(train(x, 3, 4), "expected beta of shape [3], one per channel, found [4]");
  expect_error(train(Tensor::scalar(1.0F), 1, 1), "expected an input [..., channels]");
  expect_error(train(Tensor::zeros({0, 3}), 3, 3), "at least one row, found [0, 3]");
  for (const float epsilon : {0.0F, -1.0F, kNan, kInf}) {
    expect_error(train(x, 3, 3, epsilon), "expected a finite epsilon above 0");
  }
  const auto infer = [&](Index means, Index variances) {
    return [=] {
      batch_norm_inference(x, ones(3), zeros(3), {zeros(means), ones(variances)}, kEpsilon);
    };
  };
  expect_error(infer(1, 3), "batch_norm_inference: expected a mean of shape [3]");
  expect_error(infer(3, 1), "expected a variance of shape [3]");
}

}  // namespace
}  // namespace octet::test::batch_norm_test
