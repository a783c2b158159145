#include <octet/core/autograd.h>
#include <octet/tests/layers/quantize/quantize_testing.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

// LSQ, LSQ+ and PACT: their grids, their gradients, and what an optimizer may do to them.

namespace octet::test::learned_quantizers_test {
namespace {

constexpr QuantSpec kSigned4{.num_bits = 4, .symmetric = true};
constexpr QuantSpec kFromZero4{.num_bits = 4};

/// A built quantizer that has seen values from -1 to 1, or one per channel.
template <class Q>
std::unique_ptr<Q> started(const QuantSpec& spec, const Shape& shape) {
  auto quantizer = std::make_unique<Q>(std::make_unique<LastValueQuantizer>(spec));
  quantizer->build("layer/tensor", "t_", shape, Quantizer::ZeroPoint::hidden);
  Tensor seen(shape);
  for (Index i = 0; i < seen.size(); ++i) seen.mutable_data()[i] = i % 2 == 0 ? 1.0F : -1.0F;
  quantizer->observe(seen);
  return quantizer;
}

Tensor parameter(const Quantizer& quantizer, std::string_view name) {
  return tensor_named(quantizer.parameters(), name);
}

TEST(Lsq, TheWorkedExample) {
  const auto lsq = started<LsqQuantizer>(kSigned4, {4});
  fill(parameter(*lsq, "t_step"), {0.1F});
  EXPECT_EQ(lsq->params(), QuantParams::per_tensor(0.1F, 0, -8, 7));
  Tensor w = Tensor::from({4}, {0.26F, -0.04F, 0.95F, -1.2F}).set_requires_grad(true);
  const Tensor upstream = Tensor::from({4}, {0.5F, -1.0F, 0.2F, 0.3F});
  Tensor y = lsq->fake_quant(w);
  EXPECT_TRUE(std::ranges::equal(y.span(), std::array{3 * 0.1F, 0.0F, 7 * 0.1F, -8 * 0.1F}));
  y.backward(upstream);
  EXPECT_TRUE(std::ranges::equal(w.grad().span(), std::array{0.5F, -1.0F, 0.0F, 0.0F}));
  // sum = 0.2 - 0.4 + 1.4 - 2.4, times 1 / sqrt(4 * 7).
  EXPECT_NEAR(parameter(*lsq, "t_step").grad().item(), -0.22678F, 5e-6F);
}

TEST(Lsq, TheWorkedExampleOnIntegers) {
  auto config = std::make_shared<CustomConfig>();
  config->kernel = [] {
    return std::make_unique<LsqQuantizer>(std::make_unique<LastValueQuantizer>(kSigned4));
  };
  config->activation = fixed(-100.0F, 100.0F);
  QuantizeWrapper wrapper(std::make_unique<Dense>(1, Activation::none, "d"), config);
  wrapper.build({4}, Random(1));
  fill(wrapper.weights()->kernel, {0.26F, -0.04F, 0.95F, -1.2F});
  wrapper.kernel_quantizer()->observe(wrapper.weights()->kernel);
  fill(tensor_named(wrapper.parameters(), "kernel_step"), {0.1F});
  // The gradient of the kernel of x k is x where that of the result is 1.
  Tensor x = Tensor::from({1, 4}, {0.5F, -1.0F, 0.2F, 0.3F});
  auto grid = std::make_shared<const QuantParams>(QuantParams::per_tensor(0.1F, 0));
  detail::TensorAccess::set_quantization(x, grid);
  wrapper.forward(x, {}).backward(Tensor::ones({1, 1}));
  const Tensor kernel = wrapper.weights()->kernel;
  const std::vector<float> expected = {0.5F, -1.0F, 0.0F, 0.0F};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(kernel.grad().span()[i], expected[i], 1e-6F);
  }
  EXPECT_NEAR(tensor_named(wrapper.parameters(), "kernel_step").grad().item(), -0.22678F, 5e-6F);
}

TEST(Lsq, GridsBeginAtZeroUnlessTheyAreSymmetric) {
  const auto lsq = started<LsqQuantizer>(kFromZero4, {4});
  fill(parameter(*lsq, "t_step"), {0.5F});
  EXPECT_EQ(lsq->params(), QuantParams::per_tensor(0.5F, -8, -8, 7));
  const QuantSpec codes_from_zero{.num_bits = 3, .is_signed = false};
  EXPECT_EQ(started<LsqQuantizer>(codes_from_zero, {4})->params(),
            QuantParams::per_tensor(1.0F / 7.0F, 0, 0, 7));
}

/// What a quantizer computes if rounding did not jump: its distance from the code is held.
struct Smooth {
  double x, upstream;
  /// round(v) - v where the quantizer is, in steps from its zero point.
  double distance;
};

double central_difference(const std::function<double(double)>& f, double at) {
  const double h = 1e-6 * std::abs(at);
  return (f(at + h) - f(at - h)) / (2.0 * h);
}

/// Values of which some are clamped on each side, none within 0.01 steps of a jump, or close enough
/// to an end of the grid [lo, hi] to be rounded to it.
std::vector<Smooth> smooth_values(double step, double offset, double lo, double hi,
                                  std::size_t count) {
  const Random random(9);
  std::vector<Smooth> values;
  for (std::uint64_t i = 0; values.size() < count; ++i) {
    const double x = -3.0 + 6.0 * random.uniform(2 * i);
    const double v = (double{static_cast<float>(x)} - offset) / step;
    const double distance = std::round(v) - v;
    if (std::abs(std::abs(distance) - 0.5) < 0.01) continue;
    if (std::abs(v - lo) < 0.51 || std::abs(v - hi) < 0.51) continue;
    values.push_back({double{static_cast<float>(x)},
                      double{static_cast<float>(random.uniform(2 * i + 1) - 0.5)}, distance});
  }
  return values;
}

struct Backward {
  std::vector<float> x_gradient;
  std::map<std::string, float> gradients;
};

Backward gradients_of(const Quantizer& quantizer, const std::vector<Smooth>& values) {
  Tensor x({static_cast<Index>(values.size())});
  Tensor upstream(x.shape());
  for (std::size_t i = 0; i < values.size(); ++i) {
    x.mutable_data()[i] = static_cast<float>(values[i].x);
    upstream.mutable_data()[i] = static_cast<float>(values[i].upstream);
  }
  x.set_requires_grad(true);
  quantizer.fake_quant(x).backward(upstream);
  Backward run{{x.grad().span().begin(), x.grad().span().end()}, {}};
  for (auto& [name, tensor] : quantizer.parameters()) run.gradients[name] = tensor.grad().item();
  return run;
}

double total(const std::vector<Smooth>& values, const std::function<double(const Smooth&)>& f) {
  double sum = 0.0;
  for (const Smooth& each : values) sum += each.upstream * f(each);
  return sum;
}

void expect_gradients_of_smooth_part(const QuantSpec& spec, std::size_t count) {
  const auto lsq = started<LsqQuantizer>(spec, {static_cast<Index>(count)});
  const float step = 0.13F;
  fill(parameter(*lsq, "t_step"), {step});
  const double lo = spec.symmetric ? -8.0 : 0.0;
  const double hi = spec.symmetric ? 7.0 : 15.0;
  const std::vector<Smooth> values = smooth_values(double{step}, 0.0, lo, hi, count);
  const auto y = [&](double x, double s, double distance) {
    return s * std::clamp(x / s + distance, lo, hi);
  };
  const Backward run = gradients_of(*lsq, values);
  const double slope = central_difference(
      [&](double s) {
        return total(values, [&](const Smooth& each) { return y(each.x, s, each.distance); });
      },
      double{step});
  EXPECT_NEAR(run.gradients.at("t_step"), slope / std::sqrt(static_cast<double>(count) * hi), 2e-4);
  std::size_t clamped = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto [x, upstream, distance] = values[i];
    const double passes =
        central_difference([&, d = distance](double at) { return y(at, double{step}, d); }, x);
    clamped += std::abs(passes) < 0.5 ? 1 : 0;
    EXPECT_NEAR(run.x_gradient[i], upstream * passes, 1e-5) << x;
  }
  EXPECT_GT(clamped, 100U);
}

TEST(Lsq, GradientsAreThoseOfItsSmoothPart) {
  // The second is summed in several parts, whose last row is not full.
  for (const std::size_t count : {700U, 33000U}) {
    for (const QuantSpec& spec : {kSigned4, kFromZero4}) {
      expect_gradients_of_smooth_part(spec, count);
    }
  }
}

TEST(Lsq, GradientsAtTheJumps) {
  // v = -8.5, -8, -7.5, -0.5, 0.5, 6.5, 7, 7.5 in steps of 0.25, which are exact.
  const std::vector<float> steps = {-8.5F, -8.0F, -7.5F, -0.5F, 0.5F, 6.5F, 7.0F, 7.5F};
  const std::vector<float> of_step = {-8.0F, -8.0F, -0.5F, -0.5F, 0.5F, 0.5F, 7.0F, 7.0F};
  const std::vector<float> of_x = {0, 0, 1, 1, 1, 1, 0, 0};
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto lsq = started<LsqQuantizer>(kSigned4, {1});
    fill(parameter(*lsq, "t_step"), {0.25F});
    Tensor x = Tensor::from({1}, {0.25F * steps[i]}).set_requires_grad(true);
    lsq->fake_quant(x).backward(Tensor::ones({1}));
    EXPECT_EQ(x.grad().item(), of_x[i]) << steps[i];
    EXPECT_FLOAT_EQ(parameter(*lsq, "t_step").grad().item(), of_step[i] / std::sqrt(7.0F))
        << steps[i];
  }
}

TEST(LsqPlus, GradientsAreThoseOfItsSmoothPart) {
  constexpr std::size_t kCount = 700;
  const auto lsq = started<LsqPlusQuantizer>(kFromZero4, {kCount});
  const float step = 0.21F;
  fill(parameter(*lsq, "t_step"), {step});
  // Six steps below 0, and not quite.
  fill(parameter(*lsq, "t_offset"), {-6.3F * step});
  EXPECT_EQ(lsq->params(), QuantParams::per_tensor(step, -2, -8, 7));
  const double offset = -6.0 * double{step};
  const std::vector<Smooth> values = smooth_values(double{step}, offset, 0.0, 15.0, kCount);
  const auto y = [&](const Smooth& each, double s, double b) {
    return s * std::clamp((each.x - b) / s + each.distance, 0.0, 15.0) + b;
  };
  const Backward run = gradients_of(*lsq, values);
  const double scale = 1.0 / std::sqrt(kCount * 15.0);
  const double of_step = central_difference(
      [&](double s) {
        return total(values, [&](const Smooth& each) { return y(each, s, offset); });
      },
      double{step});
  const double of_offset = central_difference(
      [&](double b) {
        return total(values, [&](const Smooth& each) { return y(each, double{step}, b); });
      },
      offset);
  EXPECT_NEAR(run.gradients.at("t_step"), of_step * scale, 2e-4);
  EXPECT_NEAR(run.gradients.at("t_offset"), of_offset * scale, 2e-4);
}

TEST(LsqPlus, GradientsAtTheJumps) {
  // Codes -8 to 7 in steps of 0.25, zero at code -2: real values -1.5 to 2.25.
  const std::vector<float> x = {-1.75F, -1.5F, -1.375F, 0.125F, 2.125F, 2.25F, 2.5F};
  const std::vector<float> of_step = {0, 0, -0.5F, 0.5F, 0.5F, 15, 15};
  const std::vector<float> of_offset = {1, 1, 0, 0, 0, 1, 1};
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto lsq = started<LsqPlusQuantizer>(kFromZero4, {1});
    fill(parameter(*lsq, "t_step"), {0.25F});
    fill(parameter(*lsq, "t_offset"), {-1.5F});
    Tensor at = Tensor::from({1}, {x[i]}).set_requires_grad(true);
    lsq->fake_quant(at).backward(Tensor::ones({1}));
    const float scale = 1.0F / std::sqrt(15.0F);
    EXPECT_EQ(at.grad().item(), 1.0F - of_offset[i]) << x[i];
    EXPECT_FLOAT_EQ(parameter(*lsq, "t_step").grad().item(), of_step[i] * scale) << x[i];
    EXPECT_FLOAT_EQ(parameter(*lsq, "t_offset").grad().item(), of_offset[i] * scale) << x[i];
  }
}

TEST(LsqPlus, ZeroIsAlwaysACode) {
  const auto lsq = started<LsqPlusQuantizer>(kFromZero4, {4});
  fill(parameter(*lsq, "t_step"), {0.5F});
  for (const auto& [offset, zero_point] : {std::pair{1.0F, -8}, {-1e30F, 7}, {-1.74F, -5}}) {
    fill(parameter(*lsq, "t_offset"), {offset});
    EXPECT_EQ(lsq->params().zero_point(), zero_point) << offset;
  }
}

TEST(Pact, GradientsAreThoseOfItsSmoothPartAndOfTheJumps) {
  const auto pact = started<PactQuantizer>(kFromZero4, {5});
  fill(parameter(*pact, "t_clip"), {1.5F});
  EXPECT_EQ(pact->params(), QuantParams::per_tensor(1.5F / 15.0F, -8, -8, 7));
  // Below 0, at 0, inside, at the clip, above.
  Tensor x = Tensor::from({5}, {-1.0F, 0.0F, 0.77F, 1.5F, 9.0F}).set_requires_grad(true);
  Tensor y = pact->fake_quant(x);
  EXPECT_FLOAT_EQ(y.span()[2], 0.8F);
  EXPECT_FLOAT_EQ(y.span()[4], 1.5F);
  y.backward(Tensor::from({5}, {1, 2, 4, 8, 16}));
  EXPECT_TRUE(std::ranges::equal(x.grad().span(), std::array{0.0F, 0.0F, 4.0F, 0.0F, 0.0F}));
  EXPECT_EQ(parameter(*pact, "t_clip").grad().item(), 24.0F);
}

TEST(LearnedQuantizers, StartAtWhatIsObservedUntilAnOptimizerMovesThem) {
  LsqQuantizer lsq(std::make_unique<LastValueQuantizer>(kSigned4));
  lsq.build("layer/tensor", "t_", {2}, Quantizer::ZeroPoint::hidden);
  EXPECT_FALSE(lsq.has_range());
  expect_throws<InvalidArgument>([&] { lsq.params(); }, {"layer/tensor", "no range"});
  for (const float largest : {1.4F, 0.7F}) {
    lsq.observe(Tensor::from({2}, {largest, -0.1F}));
    EXPECT_FLOAT_EQ(lsq.params().scale(), largest / 7.0F);
  }
  parameter(lsq, "t_step").mutable_data()[0] = 0.3F;
  lsq.observe(Tensor::from({2}, {99.0F, -99.0F}));
  EXPECT_EQ(lsq.params().scale(), 0.3F);
  EXPECT_EQ(lsq.max().item(), 0.7F);
}

TEST(LearnedQuantizers, StartPerChannel) {
  const QuantSpec spec{.num_bits = 4, .narrow_range = true, .symmetric = true, .axis = 1};
  LsqQuantizer lsq(std::make_unique<LastValueQuantizer>(spec));
  lsq.build("layer/kernel", "kernel_", {2, 3}, Quantizer::ZeroPoint::hidden);
  lsq.observe(Tensor::from({2, 3}, {0.7F, -1.4F, 0.0F, -0.1F, 0.2F, 2.8F}));
  const QuantParams grid = lsq.params();
  ASSERT_EQ(grid.channels(), 3U);
  EXPECT_FLOAT_EQ(grid.scale(0), 0.1F);
  EXPECT_FLOAT_EQ(grid.scale(1), 0.2F);
  EXPECT_FLOAT_EQ(grid.scale(2), 0.4F);
  EXPECT_EQ(parameter(lsq, "kernel_step").shape(), Shape{3});
}

TEST(LearnedQuantizers, TheStartOfThePaper) {
  const QuantSpec per_channel{.num_bits = 4, .symmetric = true, .axis = 1};
  MeanMagnitudeQuantizer mean(per_channel);
  mean.build("layer/kernel", "kernel_", {2, 2}, Quantizer::ZeroPoint::hidden);
  mean.observe(Tensor::from({2, 2}, {0.5F, 3.0F, -1.5F, 0.0F}));
  EXPECT_FLOAT_EQ(mean.params().scale(0), 2.0F * 1.0F / std::sqrt(7.0F));
  EXPECT_FLOAT_EQ(mean.params().scale(1), 2.0F * 1.5F / std::sqrt(7.0F));
  LsqQuantizer lsq(std::make_unique<MeanMagnitudeQuantizer>(kFromZero4));
  lsq.build("layer/out", "t_", {2}, Quantizer::ZeroPoint::hidden);
  lsq.observe(Tensor::from({2}, {0.0F, 3.0F}));
  EXPECT_FLOAT_EQ(lsq.params().scale(), 2.0F * 1.5F / std::sqrt(15.0F));
}

TEST(LearnedQuantizers, AStepBelowTheLeastIsPutRight) {
  for (const float driven : {-3.0F, 0.0F, 1e-30F}) {
    const auto lsq = started<LsqQuantizer>(kSigned4, {4});
    const float least = 0x1p-10F * parameter(*lsq, "t_step").item();
    ASSERT_GT(least, 0.0F);
    parameter(*lsq, "t_step").mutable_data()[0] = driven;
    // Before it is used, and in the parameter when training goes on.
    EXPECT_EQ(lsq->params().scale(), least);
    EXPECT_EQ(parameter(*lsq, "t_step").item(), driven);
    lsq->observe(Tensor::ones({4}));
    EXPECT_EQ(parameter(*lsq, "t_step").item(), least);
  }
}

TEST(LearnedQuantizers, RefuseNumbersThatAreNotFinite) {
  for (const float driven : {kNan, std::numeric_limits<float>::infinity(), 3e38F}) {
    const auto lsq = started<LsqQuantizer>(kSigned4, {4});
    parameter(*lsq, "t_step").mutable_data()[0] = driven;
    expect_throws<NumericError>([&] { lsq->params(); }, {"layer/tensor", "learning rate"});
    EXPECT_THROW(lsq->observe(Tensor::ones({4})), NumericError);
    EXPECT_THROW(lsq->fake_quant(Tensor::ones({4})), NumericError);
  }
  const auto plus = started<LsqPlusQuantizer>(kFromZero4, {4});
  parameter(*plus, "t_offset").mutable_data()[0] = kNan;
  expect_throws<NumericError>([&] { plus->params(); }, {"layer/tensor", "t_offset"});
  const auto lsq = started<LsqQuantizer>(kSigned4, {4});
  parameter(*lsq, "t_step").mutable_data()[0] = 0.5F;
  expect_throws<NumericError>([&] { lsq->observe(Tensor::full({4}, kNan)); },
                              {"layer/tensor", "NaN"});
}

TEST(LearnedQuantizers, RefuseAStartThatTheyCannotTake) {
  EXPECT_THROW(LsqQuantizer(nullptr), InvalidArgument);
  expect_throws<InvalidArgument>(
      [] {
        LsqQuantizer(
            std::make_unique<LsqQuantizer>(std::make_unique<LastValueQuantizer>(kSigned4)));
      },
      {"observed range", "Lsq"});
  const QuantSpec per_channel{.axis = 0};
  expect_throws<InvalidArgument>(
      [&] { PactQuantizer(std::make_unique<LastValueQuantizer>(per_channel)); },
      {"Pact", "per channel", "LsqQuantizer"});
  expect_throws<InvalidArgument>(
      [&] { LsqPlusQuantizer(std::make_unique<LastValueQuantizer>(kSigned4)); },
      {"LsqPlus", "symmetric"});
}

TEST(LearnedQuantizers, ChannelsOnAnyAxis) {
  const Tensor x = random_tensor({3, 5, 2}, 3, -2.0F, 2.0F);
  const Tensor upstream = random_tensor(x.shape(), 4);
  for (int axis = 0; axis < 3; ++axis) {
    QuantSpec spec = kSigned4;
    spec.axis = axis;
    LsqQuantizer all(std::make_unique<LastValueQuantizer>(spec));
    all.build("layer/tensor", "t_", x.shape(), Quantizer::ZeroPoint::hidden);
    all.observe(x);
    for (float& step : parameter(all, "t_step").mutable_span()) step *= 0.7F;
    Tensor from = x.clone().set_requires_grad(true);
    Tensor y = all.fake_quant(from);
    y.backward(upstream);
    const Index inner = axis == 2 ? 1 : axis == 1 ? 2 : 10;
    for (Index channel = 0; channel < x.dim(axis); ++channel) {
      std::vector<float> values, expected, gradient;
      for (Index i = 0; i < x.size(); ++i) {
        if (i / inner % x.dim(axis) != channel) continue;
        const auto at = static_cast<std::size_t>(i);
        values.push_back(x.span()[at]);
        gradient.push_back(upstream.span()[at]);
        expected.push_back(y.span()[at]);
      }
      const auto count = static_cast<Index>(values.size());
      const auto alone = started<LsqQuantizer>(kSigned4, {count});
      const auto c = static_cast<std::size_t>(channel);
      fill(parameter(*alone, "t_step"), {parameter(all, "t_step").span()[c]});
      Tensor of_channel = alone->fake_quant(Tensor::from({count}, values));
      EXPECT_TRUE(std::ranges::equal(of_channel.span(), expected)) << axis;
      of_channel.backward(Tensor::from({count}, gradient));
      EXPECT_FLOAT_EQ(parameter(*alone, "t_step").grad().item(),
                      parameter(all, "t_step").grad().span()[c])
          << axis;
    }
  }
}

}  // namespace
}  // namespace octet::test::learned_quantizers_test
