#include <octet/core/kernels/passes.h>
#include <octet/core/ops/activation.h>
#include <octet/core/ops/elementwise.h>
#include <octet/core/ops/gradients_internal.h>
#include <octet/core/ops/quantized_tensor.h>
#include <octet/core/quant/quant_params.h>
#include <octet/core/random.h>
#include <octet/core/tensor_internal.h>
#include <octet/tests/core/ops/op_testing.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace octet::test::elementwise_test {
namespace {

using namespace testing;

const Tensor kMixed = Tensor::from({7}, {-2.0F, -0.5F, -0.0F, 0.0F, 0.5F, 6.0F, 100.0F});

TEST(Elementwise, UnaryForwardMatchesTheStandardLibrary) {
  const Tensor x = random_tensor({3, 5}, 1, 0.1F, 3.0F);
  for (Index i = 0; i < x.size(); ++i) {
    const float v = x.data()[i];
    EXPECT_EQ(neg(x).data()[i], -v);
    EXPECT_EQ(exp(x).data()[i], std::exp(v));
    EXPECT_EQ(log(x).data()[i], std::log(v));
    EXPECT_EQ(sqrt(x).data()[i], std::sqrt(v));
    EXPECT_EQ(rsqrt(x).data()[i], 1.0F / std::sqrt(v));
    EXPECT_EQ(square(x).data()[i], v * v);
  }
}

TEST(Elementwise, SmoothUnaryGradients) {
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{7}, Shape{1, 5}, Shape{2, 3, 5}}) {
    const Tensor x = random_tensor(shape, 2);
    const Tensor positive = random_tensor(shape, 3, 0.5F, 3.0F);
    expect_gradient([](const auto& in) { return neg(in[0]); }, {x});
    expect_gradient([](const auto& in) { return exp(in[0]); }, {x});
    expect_gradient([](const auto& in) { return square(in[0]); }, {x});
    expect_gradient([](const auto& in) { return log(in[0]); }, {positive});
    expect_gradient([](const auto& in) { return sqrt(in[0]); }, {positive});
    expect_gradient([](const auto& in) { return rsqrt(in[0]); }, {positive});
    expect_gradient([](const auto& in) { return abs(in[0]); }, {positive});
    expect_gradient([](const auto& in) { return abs(-in[0]); }, {positive});
    expect_gradient([](const auto& in) { return clamp(in[0], 0.0F, 10.0F); }, {positive});
  }
}

TEST(Elementwise, BinaryGradientsOfEqualShapes) {
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{9}, Shape{1, 5}, Shape{3, 7}}) {
    const Tensor a = random_tensor(shape, 4);
    const Tensor b = random_tensor(shape, 5, 0.7F, 2.0F);
    expect_gradient([](const auto& in) { return in[0] + in[1]; }, {a, b});
    expect_gradient([](const auto& in) { return in[0] - in[1]; }, {a, b});
    expect_gradient([](const auto& in) { return in[0] * in[1]; }, {a, b});
    expect_gradient([](const auto& in) { return in[0] / in[1]; }, {a, b});
  }
}

TEST(Elementwise, ScalarOperandsOnEitherSide) {
  const Tensor x = Tensor::from({2}, {1.0F, 4.0F});
  expect_tensor(x + 2.0F, {2}, {3, 6});
  expect_tensor(2.0F + x, {2}, {3, 6});
  expect_tensor(x - 2.0F, {2}, {-1, 2});
  expect_tensor(2.0F - x, {2}, {1, -2});
  expect_tensor(x * 3.0F, {2}, {3, 12});
  expect_tensor(3.0F * x, {2}, {3, 12});
  expect_tensor(x / 2.0F, {2}, {0.5F, 2});
  expect_tensor(2.0F / x, {2}, {2, 0.5F});
  expect_tensor(-x, {2}, {-1, -4});
  expect_tensor(maximum(x, 2.0F), {2}, {2, 4});
  expect_tensor(minimum(x, 2.0F), {2}, {1, 2});
  expect_gradient([](const auto& in) { return 3.0F - (2.0F / in[0]) * 5.0F + in[0] / 4.0F; }, {x});
}

TEST(Elementwise, MaximumAndMinimumShareTheGradientOfATie) {
  const Tensor a = Tensor::from({3}, {1, 2, 5});
  const Tensor b = Tensor::from({3}, {3, 2, 4});
  expect_tensor(maximum(a, b), {3}, {3, 2, 5});
  expect_tensor(minimum(a, b), {3}, {1, 2, 4});
  expect_tensor(gradient_of([&](const Tensor& x) { return maximum(x, b); }, a), {3}, {0, 0.5F, 1});
  expect_tensor(gradient_of([&](const Tensor& x) { return maximum(a, x); }, b), {3}, {1, 0.5F, 0});
  expect_tensor(gradient_of([&](const Tensor& x) { return minimum(x, b); }, a), {3}, {1, 0.5F, 0});
  expect_tensor(gradient_of([&](const Tensor& x) { return minimum(a, x); }, b), {3}, {0, 0.5F, 1});
}

TEST(Elementwise, MaximumAndMinimumKeepNanFromEitherSide) {
  const Tensor a = Tensor::from({4}, {kNan, 1, kInf, -kInf});
  const Tensor b = Tensor::from({4}, {1, kNan, 2, 2});
  expect_tensor(maximum(a, b), {4}, {kNan, kNan, kInf, 2});
  expect_tensor(minimum(a, b), {4}, {kNan, kNan, 2, -kInf});
}

TEST(Elementwise, AbsHasNoGradientAtZero) {
  expect_tensor(abs(kMixed), {7}, {2, 0.5F, 0, 0, 0.5F, 6, 100});
  expect_tensor(gradient_of([](const Tensor& x) { return abs(x); }, kMixed), {7},
                {-1, -1, 0, 0, 1, 1, 1});
  expect_tensor(abs(Tensor::from({2}, {kNan, -kInf})), {2}, {kNan, kInf});
}

TEST(Elementwise, ClampPassesTheGradientAtItsEnds) {
  const Tensor x = Tensor::from({7}, {-3, -1, -0.5F, 2, 2.5F, kInf, kNan});
  expect_tensor(clamp(x, -1, 2), {7}, {-1, -1, -0.5F, 2, 2, 2, kNan});
  expect_tensor(gradient_of([](const Tensor& v) { return clamp(v, -1, 2); }, x), {7},
                {0, 1, 1, 1, 0, 0, 0});
  expect_tensor(clamp(x, 0, 0), {7}, {0, 0, 0, 0, 0, 0, kNan});
}

TEST(Elementwise, ClampRefusesCrossedAndNanLimits) {
  expect_error([] { clamp(kMixed, 2, 1); }, "clamp: expected lo <= hi, found lo = 2 and hi = 1");
  expect_error([] { clamp(kMixed, kNan, 1); }, "clamp: expected lo <= hi");
  expect_error([] { clamp(kMixed, 0, kNan); }, "clamp: expected lo <= hi");
}

TEST(Elementwise, EdgesOfTheDomain) {
  expect_tensor(log(Tensor::from({3}, {0, -1, kInf})), {3}, {-kInf, kNan, kInf});
  expect_tensor(sqrt(Tensor::from({3}, {0, -1, kInf})), {3}, {0, kNan, kInf});
  expect_tensor(exp(Tensor::from({4}, {-kInf, 0, 1000, kNan})), {4}, {0, 1, kInf, kNan});
  expect_tensor(Tensor::from({3}, {1, -1, 0}) / Tensor::zeros({3}), {3}, {kInf, -kInf, kNan});
  expect_tensor(gradient_of([](const Tensor& x) { return sqrt(x); }, Tensor::zeros({1})), {1},
                {kInf});
}

TEST(Elementwise, DivisionByHugeNumbersKeepsItsGradient) {
  // The textbook -g a / b^2 would overflow to 0 here.
  const Tensor a = Tensor::from({1}, {1e30F});
  const Tensor b = Tensor::from({1}, {1e20F});
  const Tensor grad = gradient_of([&](const Tensor& x) { return div(a, x); }, b);
  EXPECT_FLOAT_EQ(grad.item(), -1e-10F);
}

TEST(Elementwise, EmptyTensors) {
  const Tensor x = Tensor::zeros({0, 3});
  expect_tensor(x + x, {0, 3}, {});
  expect_tensor(x * Tensor::ones({3}), {0, 3}, {});
  expect_tensor(exp(x), {0, 3}, {});
  expect_tensor(gradient_of([&](const Tensor& row) { return x * row; }, Tensor::ones({3})), {3},
                {0, 0, 0});
}

TEST(Elementwise, UndefinedTensorIsAnError) {
  expect_error([] { add(Tensor(), Tensor::ones({1})); }, "default-made");
  expect_error([] { exp(Tensor()); }, "default-made");
}

TEST(Elementwise, GradientsPassInsideAWindowInPiecesOfAnySize) {
  const Tensor x = random_tensor({257, 301}, 8, -2.0F, 2.0F);
  const Tensor g = random_tensor({257, 301}, 9);
  expect_same_on_any_threads([&] {
    const Tensor passed = inside_window(x, g, {-1.0F, 1.0F, -0.5F, 5.0F});
    for (Index i = 0; i < x.size(); ++i) {
      const float v = x.data()[i];
      EXPECT_EQ(passed.data()[i], v > -0.5F && v <= 1.0F ? g.data()[i] : 0.0F);
    }
    return std::vector<Tensor>{passed};
  });
}

/// Drawn int8 with a scale and a zero point.
Tensor drawn_codes(const Shape& shape, std::uint64_t seed, float scale, std::int32_t zero_point) {
  const auto size = static_cast<std::size_t>(shape.size());
  const auto codes = std::make_shared<std::int8_t[]>(size);
  const Random random(seed);
  std::int8_t* const to = codes.get();
  for (std::size_t i = 0; i < size; ++i) to[i] = static_cast<std::int8_t>(random.bits(i) >> 24U);
  const QuantParams grid = QuantParams::per_tensor(scale, zero_point);
  return quantized_tensor(shape, std::make_shared<const QuantParams>(grid), codes);
}

/// Stores the real values of x as floats.
Tensor as_floats(const Tensor& x) {
  Tensor real(x.shape());
  std::ranges::copy(x.span(), real.mutable_data());
  return real;
}

TEST(Elementwise, OpsOnInt8EqualThoseOnTheirRealValues) {
  using Op = std::function<Tensor(const Tensor&, const Tensor&)>;
  const std::vector<Op> ops = {
      [](const Tensor& a, const Tensor& b) { return a + b; },
      [](const Tensor& a, const Tensor& b) { return add(a, b, FusedActivation::relu6); },
      [](const Tensor& a, const Tensor& b) { return a - b; },
      [](const Tensor& a, const Tensor& b) { return a * b; },
      [](const Tensor& a, const Tensor& b) { return minimum(maximum(a, b), a); },
      [](const Tensor& a, const Tensor& b) { return a + as_floats(b); },
      [](const Tensor& a, const Tensor&) { return sigmoid(a); }};
  // Off and beyond the parts that loops read at once; the last is broadcast.
  const std::vector<std::pair<Shape, Shape>> shapes = {
      {{7}, {7}}, {{3, 1024}, {3, 1024}}, {{5, 7, 4003}, {5, 7, 4003}}, {{9, 301}, {301}}};
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const Tensor a = drawn_codes(shapes[i].first, 2 * i, 0.031F, -7);
    const Tensor b = drawn_codes(shapes[i].second, 2 * i + 1, 0.0173F + static_cast<float>(i), 12);
    const Tensor g = random_tensor(shapes[i].first, 50 + i);
    for (const Op& op : ops) {
      // A clamped sum takes no others.
      if (&op == &ops[1] && shapes[i].first != shapes[i].second) continue;
      const auto run = [&](const Tensor& left, const Tensor& right) {
        Tensor x = leaf(left.detach());
        Tensor y = leaf(right.detach());
        Tensor z = op(x, y);
        const MinMax limits = detail::TensorAccess::limits(z);
        const Tensor masked = inside_window(z, g, {-1.0F, 1.0F, -0.5F, 5.0F});
        z.backward(g.clone());
        Tensor of_y = y.grad().defined() ? y.grad() : Tensor::zeros(y.shape());
        return std::vector<Tensor>{Tensor::from({2}, {limits.min, limits.max}), masked, x.grad(),
                                   of_y, z.detach()};
      };
      expect_same_on_any_threads([&] {
        std::vector<Tensor> found = run(a, b);
        const std::vector<Tensor> expected = run(as_floats(a), as_floats(b));
        for (std::size_t n = 0; n < found.size(); ++n) {
          EXPECT_TRUE(std::ranges::equal(found[n].span(), expected[n].span())) << i << " " << n;
        }
        return found;
      });
    }
  }
}

TEST(Elementwise, PartsOfInt8AreReadWhereTheyBegin) {
  const Tensor a = drawn_codes({5, 301}, 1, 0.031F, -7);
  const Tensor b = drawn_codes({5, 301}, 2, 0.02F, 12);
  const Tensor found = a.slice(1, 3) - b.slice(2, 4);
  const Tensor expected = as_floats(a).slice(1, 3) - as_floats(b).slice(2, 4);
  EXPECT_TRUE(std::ranges::equal(found.span(), expected.span()));
}

TEST(Elementwise, AllIsKnownToBeInsideWhereTheWindowPassesAll) {
  const Tensor x = random_tensor({3, 70}, 5, -1.0F, 1.0F);
  const Tensor g = Tensor::ones({3, 70});
  const std::vector<GradientWindow> windows = {
      {-1.0F, 1.0F, -kInf, kInf}, {-1.0F, 1.0F, -1.5F, 1.5F}, {-0.9F, 1.0F, -kInf, kInf},
      {-1.0F, 0.9F, -kInf, kInf}, {-1.0F, 1.0F, -0.9F, kInf}, {-1.0F, 1.0F, -kInf, 0.9F}};
  EXPECT_FALSE(is_known_inside(x, windows[0]));
  const MinMax limits = detail::TensorAccess::limits(x);
  for (GradientWindow window : windows) {
    for (const bool at_the_limits : {false, true}) {
      if (at_the_limits) window = {limits.min, limits.max, window.above, window.below};
      const Tensor passed = inside_window(x, g, window);
      EXPECT_EQ(is_known_inside(x, window), std::ranges::equal(passed.span(), g.span()));
    }
  }
  EXPECT_FALSE(is_known_inside(x.slice(0, 2), windows[0]));
  EXPECT_FALSE(is_known_inside(x, {-1.0F, 1.0F, limits.min, kInf}));
  EXPECT_FALSE(is_known_inside(x, {-1.0F, 1.0F, -kInf, limits.max}));
}

TEST(Elementwise, SumsOfInt8AreComputedWhereTheyAreRead) {
  const Tensor sum = drawn_codes({2, 3000}, 1, 0.031F, -7) + drawn_codes({2, 3000}, 2, 0.02F, 5);
  detail::TensorAccess::limits(sum);
  inside_window(sum, random_tensor({2, 3000}, 3), {-1.0F, 1.0F, -0.5F, 5.0F});
  EXPECT_NE(detail::TensorAccess::pending(sum), nullptr);
  sum.data();
  EXPECT_EQ(detail::TensorAccess::pending(sum), nullptr);
}

TEST(Elementwise, ATableIsThatOfTheParametersNotOfThoseBefore) {
  const std::vector<std::pair<float, std::int32_t>> grids = {
      {0.03F, 4}, {0.03F, 5}, {0.05F, 5}, {0.05F, 5}, {0.03F, 4}};
  for (const auto& [scale, zero_point] : grids) {
    const Tensor x = drawn_codes({5, 301}, 4, scale, zero_point);
    EXPECT_TRUE(std::ranges::equal(tanh(x).span(), tanh(as_floats(x)).span()));
  }
}

TEST(Elementwise, SameBytesOnAnyNumberOfThreads) {
  const Tensor a = random_tensor({257, 301}, 6);
  const Tensor row = random_tensor({301}, 7, 0.5F, 2.0F);
  expect_same_on_any_threads([&] {
    Tensor x = leaf(a.clone());
    Tensor r = leaf(row.clone());
    Tensor y = exp(x) * r / square(r) - maximum(x, r);
    y.backward(Tensor::ones(y.shape()));
    return std::vector<Tensor>{y, x.grad(), r.grad()};
  });
}

TEST(Elementwise, AClampedSumIsTheSumAndItsClamp) {
  using Clamp = std::function<Tensor(const Tensor&)>;
  const std::vector<std::pair<FusedActivation, Clamp>> clamps = {
      {FusedActivation::none, [](const Tensor& v) { return v; }},
      {FusedActivation::relu, [](const Tensor& v) { return relu(v); }},
      {FusedActivation::relu6, [](const Tensor& v) { return relu6(v); }}};
  const Tensor g = random_tensor({5, 9}, 3);
  for (const auto& [activation, clamp] : clamps) {
    const auto step = [&](const std::function<Tensor(const Tensor&, const Tensor&)>& f) {
      const Tensor a = leaf(random_tensor({5, 9}, 1, -5.0F, 5.0F));
      const Tensor b = leaf(random_tensor({5, 9}, 2, -5.0F, 5.0F));
      Tensor y = f(a, b);
      y.backward(g);
      return std::vector{values_of(y), values_of(a.grad()), values_of(b.grad())};
    };
    const FusedActivation fused = activation;
    const Clamp& alone = clamp;
    EXPECT_EQ(step([&](const Tensor& a, const Tensor& b) { return add(a, b, fused); }),
              step([&](const Tensor& a, const Tensor& b) { return alone(add(a, b)); }));
  }
}

}  // namespace
}  // namespace octet::test::elementwise_test
