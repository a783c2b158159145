#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/ops/ops.h>
#include <octet/core/parallel.h>
#include <octet/core/tensor_internal.h>
#include <octet/tests/train/training.h>
#include <octet/train/optimizer.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace octet::test::optimizer_test {
namespace {

using detail::TensorAccess;

constexpr int kSteps = 6;
/// More than one chunk of a parallel loop, and no multiple of a vector.
constexpr std::size_t kSize = (1U << 14) + 37;

struct Reference {
  std::vector<double> w;
  std::vector<double> a;  ///< velocity, or m
  std::vector<double> v;
};

float slope(int step, std::size_t i) {
  return Random(5).fork(static_cast<std::uint64_t>(step)).normal(i) * (i % 3 == 0 ? 1e-3F : 2.0F);
}

void set_gradient(Tensor& tensor, int step) {
  Tensor gradient(tensor.shape());
  for (std::size_t i = 0; i < kSize; ++i) gradient.mutable_span()[i] = slope(step, i);
  TensorAccess::mutable_grad(tensor) = gradient;
}

/// Runs kSteps steps with a rate that changes, and `naive` beside them on each element.
template <class Naive>
void compare(Optimizer& optimizer, Naive&& naive) {
  Tensor w = Tensor::normal({static_cast<Index>(kSize)}, Random(4)).set_requires_grad(true);
  Reference reference{
      {w.span().begin(), w.span().end()}, std::vector<double>(kSize), std::vector<double>(kSize)};
  for (int step = 1; step <= kSteps; ++step) {
    const float rate = 0.1F / static_cast<float>(step);
    set_gradient(w, step);
    optimizer.step({{"w", w}}, rate);
    for (std::size_t i = 0; i < kSize; ++i) {
      naive(reference.w[i], reference.a[i], reference.v[i], static_cast<double>(slope(step, i)),
            static_cast<double>(rate), step);
    }
  }
  double worst = 0.0;
  for (std::size_t i = 0; i < kSize; ++i) {
    worst = std::max(worst, std::abs(static_cast<double>(w.span()[i]) - reference.w[i]));
  }
  EXPECT_LT(worst, 1e-5);
}

TEST(Optimizer, SgdIsTheNaiveLoop) {
  for (const bool nesterov : {false, true}) {
    for (const double momentum : {0.0, 0.9}) {
      for (const double decay : {0.0, 0.3}) {
        Sgd sgd({.momentum = static_cast<float>(momentum),
                 .nesterov = nesterov,
                 .weight_decay = static_cast<float>(decay)});
        compare(sgd, [&](double& w, double& velocity, double&, double g, double rate, int) {
          g += decay * w;
          velocity = momentum * velocity + g;
          w -= rate * (nesterov ? g + momentum * velocity : velocity);
        });
      }
    }
  }
}

TEST(Optimizer, AdamIsTheNaiveLoop) {
  for (const double decay : {0.0, 0.3}) {
    for (const double epsilon : {1e-8, 0.5}) {
      Adam adam({.beta1 = 0.8F,
                 .beta2 = 0.95F,
                 .epsilon = static_cast<float>(epsilon),
                 .weight_decay = static_cast<float>(decay)});
      compare(adam, [&](double& w, double& m, double& v, double g, double rate, int step) {
        g += decay * w;
        m = 0.8 * m + 0.2 * g;
        v = 0.95 * v + 0.05 * g * g;
        w -= rate * (m / (1.0 - std::pow(0.8, step))) /
             (std::sqrt(v / (1.0 - std::pow(0.95, step))) + epsilon);
      });
    }
  }
}

TEST(Optimizer, AdamWDecaysApartFromTheMoments) {
  AdamW adam({.epsilon = 1e-7F, .weight_decay = 0.3F});
  compare(adam, [&](double& w, double& m, double& v, double g, double rate, int step) {
    m = 0.9 * m + 0.1 * g;
    v = 0.999 * v + 0.001 * g * g;
    w -= rate * 0.3 * w + rate * (m / (1.0 - std::pow(0.9, step))) /
                              (std::sqrt(v / (1.0 - std::pow(0.999, step))) + 1e-7);
  });
}

TEST(Optimizer, AdamMovesByTheRateAtFirstAndNotAtAllWithoutSlope) {
  Tensor w = Tensor::from({3}, {1.0F, 1.0F, 1.0F}).set_requires_grad(true);
  TensorAccess::mutable_grad(w) = Tensor::from({3}, {1e-3F, -50.0F, 0.0F});
  Adam adam({.epsilon = 1e-8F});
  adam.step({{"w", w}}, 0.25F);
  EXPECT_NEAR(w.data()[0], 0.75F, 1e-5);
  EXPECT_NEAR(w.data()[1], 1.25F, 1e-5);
  EXPECT_EQ(w.data()[2], 1.0F);
}

TEST(Optimizer, AdamMakesNoSubnormals) {
  for (const float beta2 : {0.0F, 0.95F, 0.999F, 0.999999F}) {
    // From gradients whose squares are nothing to such as are certainly seen.
    std::vector<float> slopes(273);
    for (std::size_t i = 0; i < slopes.size(); ++i) {
      slopes[i] = 1e-22F * std::pow(1.07F, static_cast<float>(i));
    }
    const auto size = static_cast<Index>(slopes.size());
    Tensor w = Tensor::zeros({size}).set_requires_grad(true);
    TensorAccess::mutable_grad(w) = Tensor::from({size}, slopes);
    Adam adam({.beta2 = beta2});
    adam.step({{"w", w}}, 1e-3F);
    const Tensor v = adam.state()[2].tensor;
    for (std::size_t i = 0; i < slopes.size(); ++i) {
      const float square = v.span()[i];
      const double exact = (1.0 - static_cast<double>(beta2)) * std::pow(slopes[i], 2.0);
      EXPECT_TRUE(square == 0.0F || std::isnormal(square)) << slopes[i];
      EXPECT_EQ(square == 0.0F, exact < 0x1.01p-126) << slopes[i] << " " << beta2;
      EXPECT_LT(w.span()[i], 0.0F) << slopes[i];
    }
  }
}

std::vector<std::string> names_of(const std::vector<NamedTensor>& tensors) {
  std::vector<std::string> names;
  names.reserve(tensors.size());
  for (const auto& [name, tensor] : tensors) names.push_back(name);
  return names;
}

TEST(Optimizer, StateHasNamesShapesAndSteps) {
  const auto parameters = two_parameters();
  Sgd sgd({.momentum = 0.5F});
  EXPECT_EQ(names_of(sgd.state()), std::vector<std::string>{"steps"});
  sgd.step(parameters, 0.5F);
  sgd.step(parameters, 0.5F);
  const auto state = sgd.state();
  EXPECT_EQ(names_of(state), (std::vector<std::string>{"steps", "velocity/a", "velocity/b"}));
  EXPECT_EQ(state[0].tensor.item(), 2.0F);
  EXPECT_EQ(state[1].tensor.shape(), (Shape{2, 3}));
  EXPECT_EQ(state[2].tensor.data()[0], 3.0F);

  AdamW adam;
  adam.build(parameters);
  EXPECT_EQ(names_of(adam.state()),
            (std::vector<std::string>{"steps", "m/a", "m/b", "v/a", "v/b"}));
  EXPECT_EQ(adam.type(), "AdamW");
  EXPECT_EQ(Adam().type(), "Adam");
  EXPECT_EQ(sgd.type(), "Sgd");
}

TEST(Optimizer, ACloneSharesNothing) {
  const auto parameters = two_parameters();
  Adam adam;
  adam.step(parameters, 0.1F);
  const auto copy = adam.clone();
  const Bytes before = bytes_of(adam.state());
  EXPECT_EQ(bytes_of(copy->state()), before);
  copy->step(parameters, 0.1F);
  EXPECT_NE(bytes_of(copy->state()), before);
  EXPECT_EQ(bytes_of(adam.state()), before);
}

TEST(Optimizer, OtherParametersAreAnError) {
  Adam adam;
  auto parameters = two_parameters();
  adam.step(parameters, 0.1F);
  const Bytes before = bytes_of(adam.state());
  auto renamed = two_parameters();
  renamed[1].name = "c";
  auto resized = two_parameters();
  resized[1].tensor = Tensor::ones({4});
  for (const auto& wrong : {std::vector<NamedTensor>{}, {parameters[0]}, renamed, resized}) {
    expect_mentions(message_of<InvalidArgument>([&] { adam.step(wrong, 0.1F); }),
                    "Adam: the parameters are others");
  }
  EXPECT_EQ(bytes_of(adam.state()), before);
  EXPECT_NO_THROW(adam.step(parameters, 0.1F));
}

TEST(Optimizer, ParametersWithoutGradientStay) {
  auto parameters = two_parameters();
  parameters[0].tensor = Tensor::ones({2, 3}).set_requires_grad(true);
  Sgd sgd;
  sgd.step(parameters, 0.5F);
  EXPECT_EQ(parameters[0].tensor.data()[0], 1.0F);
  EXPECT_EQ(parameters[1].tensor.data()[0], 0.0F);
}

/// Leaves of these sizes, the second without a gradient.
std::vector<NamedTensor> several_parameters() {
  std::vector<NamedTensor> parameters;
  for (const std::size_t size : {kSize, std::size_t{9}, 2 * kSize, std::size_t{5}}) {
    const std::size_t at = parameters.size();
    Tensor w = Tensor::normal({static_cast<Index>(size)}, Random(at)).set_requires_grad(true);
    if (at != 1) TensorAccess::mutable_grad(w) = Tensor::normal(w.shape(), Random(100 + at));
    parameters.push_back({std::to_string(at), w});
  }
  return parameters;
}

TEST(Optimizer, StepsEachOfManyParametersAsIfItWereAlone) {
  const KeepThreads keep;
  for (const int threads : {1, 3}) {
    set_num_threads(threads);
    const auto together = several_parameters();
    const auto alone = several_parameters();
    Adam adam;
    adam.step(together, 0.1F);
    for (const NamedTensor& parameter : alone) Adam().step({parameter}, 0.1F);
    EXPECT_EQ(bytes_of(together), bytes_of(alone)) << threads;
    EXPECT_NE(bytes_of(together), bytes_of(several_parameters()));
  }
}

/// The example in optimizer.h, as a user writes it.
class SignSgd : public Optimizer {
 public:
  SignSgd() : Optimizer({}) {}
  std::string_view type() const override { return "SignSgd"; }
  std::unique_ptr<Optimizer> clone() const override { return std::make_unique<SignSgd>(*this); }

 protected:
  void begin_step(float learning_rate, double /*step*/) override { rate_ = learning_rate; }
  void update(const ParameterPart& part) const override {
    for (std::size_t i = 0; i < part.parameter.size(); ++i) {
      const float g = part.gradient[i];
      part.parameter[i] -= rate_ * static_cast<float>((g > 0.0F) - (g < 0.0F));
    }
  }

 private:
  float rate_ = 0.0F;
};

TEST(Optimizer, OfAUserIsMeasuredToo) {
  Tensor w = Tensor::from({4}, {1.0F, -2.0F, 0.5F, 0.0F}).set_requires_grad(true);
  sum(w * Tensor::from({4}, {3.0F, 1.0F, -0.1F, 0.0F})).backward();
  (void)TensorAccess::limits(w);
  SignSgd().step({{"w", w}}, 0.5F);
  const std::vector<float> expected = {0.5F, -2.5F, 1.0F, 0.0F};
  EXPECT_TRUE(std::ranges::equal(w.span(), expected));
  ASSERT_TRUE(TensorAccess::has_limits(w));
  EXPECT_EQ(TensorAccess::limits(w).min, -2.5F);
  EXPECT_EQ(TensorAccess::limits(w).max, 1.0F);
}

TEST(Optimizer, TheRateIsChecked) {
  const auto parameters = two_parameters();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const Bytes before = bytes_of(parameters);
  Sgd sgd;
  for (const float rate : {-1e-3F, -kInfinity, kInfinity, std::nanf("")}) {
    expect_mentions(message_of<InvalidArgument>([&] { sgd.step(parameters, rate); }),
                    fmt::format("found {}", static_cast<double>(rate)));
  }
  EXPECT_EQ(bytes_of(parameters), before);
  EXPECT_EQ(sgd.state()[0].tensor.item(), 0.0F);
  // A schedule may end at 0.
  sgd.step(parameters, 0.0F);
  EXPECT_EQ(bytes_of(parameters), before);
  sgd.step(parameters, 1e30F);
  EXPECT_EQ(parameters[1].tensor.data()[0], -2e30F);
}

TEST(Optimizer, OptionsAreChecked) {
  const float nan = std::nanf("");
  EXPECT_THROW(Sgd({.momentum = 1.0F}), InvalidArgument);
  EXPECT_THROW(Sgd({.momentum = -0.1F}), InvalidArgument);
  EXPECT_THROW(Sgd({.momentum = nan}), InvalidArgument);
  EXPECT_THROW(Sgd({.weight_decay = -1.0F}), InvalidArgument);
  EXPECT_THROW(Adam({.beta1 = 1.0F}), InvalidArgument);
  EXPECT_THROW(Adam({.beta2 = nan}), InvalidArgument);
  EXPECT_THROW(Adam({.epsilon = 0.0F}), InvalidArgument);
  EXPECT_THROW(AdamW({.weight_decay = nan}), InvalidArgument);
}

/// Makes a gradient that is computed on demand. Expects that blocks are whole rows, and that
/// compute() is told of as many elements of the parameter and of each moment, which are read next.
Tensor pending_gradient(const Tensor& gradient, std::size_t grain) {
  const auto compute = [=](std::size_t begin, std::size_t end, float* out, MemoryParts prefetch) {
    EXPECT_EQ(begin % grain, 0U);
    EXPECT_GE(prefetch.size(), 2U);
    for (const auto& part : prefetch) EXPECT_EQ(part.size(), end - begin);
    std::copy_n(gradient.data() + begin, end - begin, out);
  };
  return TensorAccess::lazy(gradient.shape(), {grain, compute});
}

TEST(Optimizer, PendingGradientsAreUsedBlockByBlockAndUsedUp) {
  const Shape shape{Index{97}, Index{5}};
  const Tensor start = Tensor::normal(shape, Random(4));
  const auto train = [&](bool pending, int threads) {
    set_num_threads(threads);
    Tensor w = start.clone().set_requires_grad(true);
    Adam adam;
    for (int step = 0; step < 3; ++step) {
      const Tensor gradient = Tensor::normal(shape, Random(5).fork(static_cast<unsigned>(step)));
      TensorAccess::mutable_grad(w) = pending ? pending_gradient(gradient, 15) : gradient;
      adam.step({{"w", w}}, 0.01F);
      EXPECT_EQ(w.grad().defined(), !pending);
    }
    return std::vector<float>(w.span().begin(), w.span().end());
  };
  const KeepThreads keep;
  const std::vector<float> expected = train(false, 1);
  for (const int threads : {1, 3}) EXPECT_EQ(train(true, threads), expected);
}

TEST(Optimizer, KeepsTheLimitsThatSomebodyAskedFor) {
  // In several pieces, or in one of which a part at a time is moved and measured.
  for (const bool pending : {false, true}) {
    Tensor w = Tensor::normal({300, 170}, Random(4)).set_requires_grad(true);
    Tensor expected = w.clone();
    Sgd sgd;
    const auto step = [&] {
      Tensor gradient = Tensor::normal(w.shape(), Random(6));
      // The limits lie in different pieces.
      gradient.mutable_span().front() = 100.0F;
      gradient.mutable_span().back() = -100.0F;
      for (Index i = 0; i < w.size(); ++i) expected.mutable_data()[i] -= 0.5F * gradient.data()[i];
      TensorAccess::mutable_grad(w) =
          pending ? pending_gradient(gradient, static_cast<std::size_t>(w.size())) : gradient;
      sgd.step({{"w", w}}, 0.5F);
    };
    step();
    EXPECT_FALSE(TensorAccess::has_limits(w));
    EXPECT_GT(TensorAccess::limits(w).max, 1.0F);
    step();
    ASSERT_TRUE(TensorAccess::has_limits(w));
    const MinMax kept = TensorAccess::limits(w);
    const MinMax measured = min_max(expected.span());
    EXPECT_EQ(kept.min, measured.min);
    EXPECT_EQ(kept.max, measured.max);
    EXPECT_TRUE(std::ranges::equal(w.span(), expected.span()));
  }
}

TEST(Optimizer, AdamKeepsTheLimitsOfWhatItMoved) {
  const KeepThreads keep;
  for (const float offset : {0.0F, 9.0F, -9.0F}) {
    for (const int threads : {1, 3}) {
      set_num_threads(threads);
      Tensor w = Tensor::normal({300, 170}, Random(4), offset).set_requires_grad(true);
      TensorAccess::limits(w);
      Adam adam;
      for (std::uint64_t seed = 0; seed < 3; ++seed) {
        TensorAccess::mutable_grad(w) = Tensor::normal(w.shape(), Random(seed));
        adam.step({{"w", w}}, 0.5F);
        ASSERT_TRUE(TensorAccess::has_limits(w));
        const auto [least, largest] = std::ranges::minmax(w.span());
        EXPECT_EQ(TensorAccess::limits(w).min, least);
        EXPECT_EQ(TensorAccess::limits(w).max, largest);
      }
    }
  }
}

}  // namespace
}  // namespace octet::test::optimizer_test
