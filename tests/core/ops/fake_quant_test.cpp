#include <octet/core/ops/fake_quant.h>
#include <octet/core/ops/ops.h>
#include <octet/tests/core/ops/op_testing.h>

// Gradients, errors and threads of fake quantization. Values are tested in core/quant.

namespace octet::test::fake_quant_test {
namespace {

constexpr Index kLong = 70001;  // several parallel chunks and a short last one

Tensor run_of_values(const Shape& shape) { return random_tensor(shape, 11, -8.0F, 8.0F); }

/// What backward(upstream) leaves in x, min and max.
struct Gradients {
  Tensor x, min, max;
};

template <class Op>
Gradients gradients_of(const Op& op, const Tensor& x, const Tensor& min, const Tensor& max,
                       const Tensor& upstream) {
  const Tensor leaf_x = leaf(x.clone());
  const Tensor leaf_min = leaf(min.clone());
  const Tensor leaf_max = leaf(max.clone());
  Tensor y = op(leaf_x, leaf_min, leaf_max);
  y.backward(upstream);
  return {leaf_x.grad(), leaf_min.grad(), leaf_max.grad()};
}

TEST(FakeQuantArgs, PassesTheGradientInsideTheNudgedRangeInclusive) {
  // Scale 1, zero point 100: nudged limits -100 and 155.
  const float below = std::nextafter(-100.0F, -1e9F);
  const float above = std::nextafter(155.0F, 1e9F);
  const Tensor x = Tensor::from({8}, {-100.0F, below, 155.0F, above, 0.3F, kInf, -kInf, kNan});
  Tensor in = leaf(x.clone());
  fake_quant_with_min_max_args(in, -100.0F, 155.0F)
      .backward(Tensor::from({8}, {1, 2, 3, 4, 5, 6, 7, 8}));
  expect_tensor(in.grad(), {8}, {1, 0, 3, 0, 5, 0, 0, 0});
}

TEST(FakeQuantVars, HasThreeGradients) {
  const Tensor x = Tensor::from({6}, {-101.0F, -150.0F, -100.0F, 155.0F, 156.0F, 3.0F});
  const Tensor upstream = Tensor::from({6}, {1, 2, 4, 8, 16, 32});
  const auto op = [](const Tensor& t, const Tensor& min, const Tensor& max) {
    return fake_quant_with_min_max_vars(t, min, max);
  };
  const Gradients g =
      gradients_of(op, x, Tensor::scalar(-100.0F), Tensor::scalar(155.0F), upstream);
  expect_tensor(g.x, {6}, {0, 0, 4, 8, 0, 32});
  expect_tensor(g.min, {}, {3});
  expect_tensor(g.max, {}, {16});
}

TEST(FakeQuantVars, OfTheZeroRangePassesEveryGradient) {
  const auto op = [](const Tensor& t, const Tensor& min, const Tensor& max) {
    return fake_quant_with_min_max_vars(t, min, max);
  };
  const Tensor x = Tensor::from({3}, {-1.0F, 0.0F, 2.0F});
  const Tensor zero = Tensor::scalar(0.0F);
  expect_tensor(op(x, zero, zero), {3}, {0, 0, 0});
  const Gradients g = gradients_of(op, x, zero, zero, Tensor::from({3}, {1, 2, 3}));
  expect_tensor(g.x, {3}, {1, 2, 3});
  expect_tensor(g.min, {}, {0});
  expect_tensor(g.max, {}, {0});
}

TEST(FakeQuantVars, GivesTheInputTheSameGradientWithAndWithoutThoseOfTheRange) {
  const Tensor x = run_of_values({kLong});
  const Tensor upstream = random_tensor({kLong}, 12);
  const Tensor min = Tensor::scalar(-3.0F);
  const Tensor max = Tensor::scalar(4.0F);
  const auto op = [](const Tensor& t, const Tensor& low, const Tensor& high) {
    return fake_quant_with_min_max_vars(t, low, high);
  };
  const Gradients g = gradients_of(op, x, min, max, upstream);
  Tensor in = leaf(x.clone());
  op(in, min, max).backward(upstream);
  expect_tensor(in.grad(), {kLong}, values_of(g.x));
  EXPECT_FALSE(min.grad().defined());
}

TEST(FakeQuantVars, IsTheSameOnAnyNumberOfThreads) {
  const Tensor x = run_of_values({kLong});
  expect_same_on_any_threads([&] {
    const Tensor min = leaf(Tensor::scalar(-3.0F));
    const Tensor max = leaf(Tensor::scalar(4.0F));
    Tensor in = leaf(x.clone());
    Tensor y = fake_quant_with_min_max_vars(in, min, max);
    const Tensor values = y.detach();
    y.backward(x);
    return std::vector<Tensor>{values, in.grad(), min.grad(), max.grad()};
  });
}

TEST(FakeQuantPerChannel, SumsTheGradientsOfEachChannelsRange) {
  // Channel 0: limits -100 to 155; channel 1: the zero range.
  const Tensor x = Tensor::from({3, 2}, {-200, 5, 200, -5, 1, 0});
  const Tensor upstream = Tensor::from({3, 2}, {1, 2, 4, 8, 16, 32});
  const auto op = [](const Tensor& t, const Tensor& min, const Tensor& max) {
    return fake_quant_with_min_max_vars_per_channel(t, min, max);
  };
  const Tensor min = Tensor::from({2}, {-100, 0});
  const Tensor max = Tensor::from({2}, {155, 0});
  const Gradients g = gradients_of(op, x, min, max, upstream);
  expect_tensor(g.x, {3, 2}, {0, 2, 0, 8, 16, 32});
  expect_tensor(g.min, {2}, {1, 0});
  expect_tensor(g.max, {2}, {4, 0});
  Tensor in = leaf(x.clone());
  op(in, min, max).backward(upstream);
  expect_tensor(in.grad(), {3, 2}, values_of(g.x));
}

TEST(FakeQuant, ErrorsNameTheTensor) {
  const Tensor x = Tensor::zeros({2, 3});
  const Tensor one = Tensor::scalar(1.0F);
  const Tensor nan = Tensor::scalar(kNan);
  expect_error([&] { fake_quant_with_min_max_args(x, 1, 1, 8, false, "dense/kernel"); },
               "dense/kernel: min has to be smaller than max, was: 1 >= 1");
  expect_error([&] { fake_quant_with_min_max_args(x, 0, 1, 1, false, "dense/kernel"); },
               "dense/kernel");
  EXPECT_THROW(fake_quant_with_min_max_args(x, kNan, 1.0F), NumericError);
  expect_error([&] { fake_quant_with_min_max_vars(x, one, one, 8, false, "act"); }, "act");
  expect_error([&] { fake_quant_with_min_max_vars(x, Tensor::zeros({1}), one, 8, false, "act"); },
               "act: `min` must be rank 0 but is rank 1");
  EXPECT_THROW(fake_quant_with_min_max_vars(x, nan, one), NumericError);
  EXPECT_THROW(fake_quant_with_min_max_vars(x, one, Tensor::scalar(kInf)), NumericError);
  expect_error([&] { fake_quant_with_min_max_vars_per_channel(x, one, one, 8, false, "kernel"); },
               "rank 1");
  expect_error(
      [&] {
        fake_quant_with_min_max_vars_per_channel(x, Tensor::zeros({2}), Tensor::zeros({3}), 8,
                                                 false, "kernel");
      },
      "kernel: min has incorrect size, expected 3 was 2");
  expect_error(
      [&] {
        fake_quant_with_min_max_vars_per_channel(Tensor::scalar(1.0F), Tensor::zeros({1}),
                                                 Tensor::zeros({1}));
      },
      "fake_quant_with_min_max_vars_per_channel");
}

TEST(FakeQuant, ARangeThatWantsNoGradientMayBeObservedAgainBeforeBackward) {
  for (const bool per_channel : {false, true}) {
    const Shape channels = per_channel ? Shape{3} : Shape{};
    Tensor min = Tensor::full(channels, -1.0F);
    Tensor max = Tensor::full(channels, 1.0F);
    Tensor x = leaf(Tensor::from({1, 3}, {-2.0F, 0.5F, 2.0F}));
    const auto run = [&] {
      return per_channel ? fake_quant_with_min_max_vars_per_channel(x, min, max)
                         : fake_quant_with_min_max_vars(x, min, max);
    };
    Tensor y = run();
    min.mutable_data()[0] = max.mutable_data()[0] = 0.0F;
    y.backward(Tensor::ones({1, 3}));
    expect_tensor(x.grad(), {1, 3}, {0, 1, 0});
    // A range that is learned is read again.
    max.mutable_data()[0] = 1.0F;
    max.set_requires_grad(true);
    Tensor learned = run();
    max.mutable_data()[0] = 3.0F;
    expect_error([&] { learned.backward(Tensor::ones({1, 3})); }, "expected input 2");
  }
}

}  // namespace
}  // namespace octet::test::fake_quant_test
