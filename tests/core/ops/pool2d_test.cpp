#include <octet/core/buffer.h>
#include <octet/core/ops/ops.h>
#include <octet/core/ops/quantized_tensor.h>
#include <octet/core/tensor_internal.h>
#include <octet/tests/core/kernels/kernel_testing.h>
#include <octet/tests/core/ops/conv_testing.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

namespace octet::test::pool2d_test {
namespace {

Pool2DOptions options_of(const ConvCase& c) {
  return {.size = {c.k.h, c.k.w}, .stride = c.stride, .padding = c.padding};
}

ConvCase random_pool_case(std::uint64_t seed) {
  ConvCase c = random_conv_case(seed);
  c.channels = c.groups * c.filters;
  c.groups = 1;
  c.dilation = {1, 1};
  const bool fits = c.k.h <= c.in.h && c.k.w <= c.in.w;
  if (fits && seed % 2 == 0) c.padding = Padding::valid;
  return c;
}

/// What the plain loop gives for x and the gradient g of the result.
struct PoolOutcome {
  std::vector<double> y, dx;
};

template <class Pool>
PoolOutcome naive_pool(const ConvCase& c, const Tensor& x, const Tensor& g, Pool&& pool) {
  const ConvAxis rows = conv_axis(c.in.h, c.k.h, c.stride[0], 1, c.padding);
  const ConvAxis columns = conv_axis(c.in.w, c.k.w, c.stride[1], 1, c.padding);
  PoolOutcome r;
  r.dx.resize(x.span().size());
  for (Index i = 0; i < c.in.n; ++i) {
    for (Index oy = 0; oy < rows.output; ++oy) {
      for (Index ox = 0; ox < columns.output; ++ox) {
        for (Index q = 0; q < c.channels; ++q) {
          std::vector<std::size_t> inside;
          for (Index t = 0; t < c.k.h * c.k.w; ++t) {
            const Index iy = oy * c.stride[0] - rows.before + t / c.k.w;
            const Index ix = ox * c.stride[1] - columns.before + t % c.k.w;
            if (iy < 0 || iy >= c.in.h || ix < 0 || ix >= c.in.w) continue;
            inside.push_back(
                static_cast<std::size_t>(((i * c.in.h + iy) * c.in.w + ix) * c.channels + q));
          }
          r.y.push_back(pool(inside, double{g.span()[r.y.size()]}, r.dx));
        }
      }
    }
  }
  return r;
}

PoolOutcome naive_max(const ConvCase& c, const Tensor& x, const Tensor& g) {
  return naive_pool(c, x, g, [&](const auto& inside, double upstream, auto& dx) {
    const auto at = *std::ranges::max_element(
        inside, [&](std::size_t a, std::size_t b) { return x.span()[a] < x.span()[b]; });
    dx[at] += upstream;
    return x.span()[at];
  });
}

PoolOutcome naive_mean(const ConvCase& c, const Tensor& x, const Tensor& g) {
  return naive_pool(c, x, g, [&](const auto& inside, double upstream, auto& dx) {
    double sum = 0.0;
    for (const std::size_t at : inside) sum += double{x.span()[at]};
    for (const std::size_t at : inside) dx[at] += upstream / static_cast<double>(inside.size());
    return sum / static_cast<double>(inside.size());
  });
}

using Pool = std::function<Tensor(const Tensor&)>;

/// {result, gradient of x} for the upstream gradient of seed 3.
std::vector<Tensor> run(const Pool& pool, const Tensor& x) {
  // A copy would carry no codes.
  Tensor a = x;
  a.set_requires_grad(true);
  a.zero_grad();
  Tensor y = pool(a);
  y.backward(random_tensor(y.shape(), 3));
  return {y.detach(), a.grad().clone()};
}

template <class Naive>
void expect_naive(const ConvCase& c, const Pool& pool, const Tensor& x, Naive naive) {
  const std::vector<Tensor> found = run(pool, x);
  const ConvAxis rows = conv_axis(c.in.h, c.k.h, c.stride[0], 1, c.padding);
  const ConvAxis columns = conv_axis(c.in.w, c.k.w, c.stride[1], 1, c.padding);
  const std::string what = c.to_string();
  ASSERT_EQ(found[0].shape(), (Shape{c.in.n, rows.output, columns.output, c.channels})) << what;
  const PoolOutcome expected = naive(c, x, random_tensor(found[0].shape(), 3));
  expect_near(found[0], expected.y, what, 1e-7);
  expect_near(found[1], expected.dx, what + ", gradient");
}

TEST(MaxPool2D, MatchesALoopOnRandomShapes) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const ConvCase c = random_pool_case(seed);
    // Whole numbers from -3 to 2: most windows have several largest values.
    Tensor x = random_tensor(c.input(), 1, -3.0F, 3.0F);
    for (float& value : x.mutable_span()) value = std::floor(value);
    expect_naive(
        c, [&](const Tensor& a) { return max_pool2d(a, options_of(c)); }, x, naive_max);
  }
}

class MaxPool2DPaths : public KernelTest {};

TEST_P(MaxPool2DPaths, WindowsSideBySideOfAnyNumberOfChannels) {
  const Forced forced(GetParam());
  for (const Index channels : {1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 15, 16, 17, 31, 40}) {
    for (const auto size : {std::array<Index, 2>{2, 2}, {3, 2}, {1, 3}, {2, 1}, {4, 5}}) {
      // The second image leaves pixels that are in no window.
      for (const Index more : {0, 1}) {
        const ConvCase c{.in = {2, 2 * size[0] + (size[0] > 1 ? more : 0),
                                3 * size[1] + (size[1] > 1 ? more : 0)},
                         .k = {size[0], size[1]},
                         .channels = channels,
                         .stride = size};
        Tensor x = random_tensor(c.input(), 1, -3.0F, 3.0F);
        for (float& value : x.mutable_span()) value = std::floor(value);
        expect_naive(
            c, [&](const Tensor& a) { return max_pool2d(a, options_of(c)); }, x, naive_max);
      }
    }
  }
}

/// Codes, few of them different, and the real values that they stand for.
Tensor tensor_of_random_codes(const Shape& shape, float scale) {
  const Tensor numbers = random_tensor(shape, 1, -3.0F, 3.0F);
  const auto size = static_cast<std::size_t>(shape.size());
  auto codes = allocate_array<std::int8_t>(size);
  for (std::size_t i = 0; i < size; ++i) {
    codes[static_cast<std::ptrdiff_t>(i)] = static_cast<std::int8_t>(std::floor(numbers.span()[i]));
  }
  codes[0] = -128;
  codes[static_cast<std::ptrdiff_t>(size) - 1] = 127;
  return quantized_tensor(
      shape, std::make_shared<const QuantParams>(QuantParams{{scale}, {2}, 0, -128, 127}),
      std::move(codes));
}

/// What the pool of a tensor that carries codes gives is that of its real values alone.
void expect_as_of_reals(const ConvCase& c, float scale) {
  const auto pool = [&](const Tensor& a) { return max_pool2d(a, options_of(c)); };
  const Tensor x = tensor_of_random_codes(c.input(), scale);
  ASSERT_NE(detail::TensorAccess::integers(x).as<std::int8_t>(), nullptr);
  const std::vector<Tensor> found = run(pool, x);
  EXPECT_NE(detail::TensorAccess::integers(found[0]).as<std::int8_t>(), nullptr);
  const std::vector<Tensor> expected = run(pool, x.clone());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(values_of(found[i]), values_of(expected[i])) << c.to_string() << ", tensor " << i;
  }
}

TEST_P(MaxPool2DPaths, OfCodesIsThatOfTheirReals) {
  const Forced forced(GetParam());
  for (const Index channels : {1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 15, 16, 17, 31, 40}) {
    for (const auto size : {std::array<Index, 2>{2, 2}, {3, 2}, {1, 3}}) {
      for (const Index more : {0, 1}) {
        const ConvCase c{.in = {2, 2 * size[0] + (size[0] > 1 ? more : 0), 3 * size[1] + more},
                         .k = {size[0], size[1]},
                         .channels = channels,
                         .stride = size};
        ASSERT_NO_FATAL_FAILURE(expect_as_of_reals(c, 0.37F));
      }
    }
  }
}

TEST(MaxPool2D, OfCodesIsThatOfTheirRealsOnRandomShapes) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    ASSERT_NO_FATAL_FAILURE(expect_as_of_reals(random_pool_case(seed), 0.37F));
  }
}

TEST(MaxPool2D, OfCodesKeepsTheirGrid) {
  const Tensor x = tensor_of_random_codes({2, 4, 4, 3}, 0.5F);
  const Tensor y = max_pool2d(x);
  EXPECT_EQ(y.quantization(), x.quantization());
  ASSERT_NE(detail::TensorAccess::integers(y).as<std::int8_t>(), nullptr);
}

TEST(MaxPool2D, ScalesThatMergeCodesPoolTheReals) {
  // Reals of different codes could be the same, or infinite.
  for (const float scale : {1e-45F, 3e38F}) {
    const Tensor x = tensor_of_random_codes({2, 4, 4, 3}, scale);
    EXPECT_EQ(detail::TensorAccess::integers(max_pool2d(x)).as<std::int8_t>(), nullptr) << scale;
  }
}

TEST_P(MaxPool2DPaths, TheFirstNanTakesTheGradient) {
  const Forced forced(GetParam());
  for (const Index channels : {1, 6, 20}) {
    Tensor x = Tensor::ones({1, 2, 6, channels});
    x.mutable_at({0, 0, 3, channels - 1}) = kNan;
    x.mutable_at({0, 1, 2, channels - 1}) = kNan;
    const auto pool = [](const Tensor& a) { return max_pool2d(a); };
    const Tensor y = pool(x);
    EXPECT_TRUE(std::isnan(y.at({0, 0, 1, channels - 1})));
    EXPECT_EQ(y.at({0, 0, 0, channels - 1}), 1.0F);
    const Tensor dx = gradient_of(pool, x);
    EXPECT_EQ(dx.at({0, 0, 3, channels - 1}), 1.0F);
    EXPECT_EQ(dx.at({0, 0, 2, channels - 1}), 0.0F);
    EXPECT_EQ(dx.at({0, 1, 2, channels - 1}), 0.0F);
    EXPECT_EQ(dx.at({0, 0, 0, channels - 1}), 1.0F);
  }
}

INSTANTIATE_TEST_SUITE_P(, MaxPool2DPaths, ::testing::ValuesIn(available_kernels()), isa_name);

TEST(AveragePool2D, MatchesALoopOnRandomShapes) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const ConvCase c = random_pool_case(seed);
    expect_naive(
        c, [&](const Tensor& a) { return average_pool2d(a, options_of(c)); },
        random_tensor(c.input(), 1), naive_mean);
  }
}

TEST(MaxPool2D, GradientGoesToTheFirstMaximum) {
  const Tensor x = Tensor::from({1, 2, 3, 1}, {1, 7, 7, 7, 2, 7});
  const auto pool = [](const Tensor& a) {
    return max_pool2d(a, {.size = {2, 2}, .stride = {1, 1}});
  };
  expect_tensor(pool(x), {1, 1, 2, 1}, {7, 7});
  expect_tensor(gradient_of(pool, x), {1, 2, 3, 1}, {0, 2, 0, 0, 0, 0});
}

TEST(MaxPool2D, NanIsTheLargest) {
  const Tensor x = Tensor::from({1, 1, 5, 1}, {1, kNan, 9, kNan, kInf});
  const auto pool = [](const Tensor& a) { return max_pool2d(a, {.size = {1, 5}}); };
  expect_tensor(pool(x), {1, 1, 1, 1}, {kNan});
  expect_tensor(gradient_of(pool, x), {1, 1, 5, 1}, {0, 1, 0, 0, 0});
  expect_tensor(max_pool2d(Tensor::full({1, 1, 2, 1}, -kInf), {.size = {1, 2}}), {1, 1, 1, 1},
                {-kInf});
}

TEST(AveragePool2D, CountsPixelsInsideOnly) {
  const Tensor x = Tensor::from({1, 1, 3, 1}, {3, 6, 9});
  const auto pool = [](const Tensor& a) {
    return average_pool2d(a, {.size = {1, 2}, .padding = Padding::same});
  };
  expect_tensor(pool(x), {1, 1, 2, 1}, {4.5F, 9});
  expect_tensor(gradient_of(pool, x), {1, 1, 3, 1}, {0.5F, 0.5F, 1});
}

TEST(Pool2D, StrideIsTheSizeUnlessGiven) {
  const Tensor x = Tensor::arange(36).reshape({1, 6, 6, 1});
  EXPECT_EQ(max_pool2d(x, {.size = {3, 2}}).shape(), (Shape{1, 2, 3, 1}));
  EXPECT_EQ(average_pool2d(x).shape(), (Shape{1, 3, 3, 1}));
  EXPECT_EQ(max_pool2d(x, {.size = {3, 2}, .stride = {1, 1}}).shape(), (Shape{1, 4, 5, 1}));
}

TEST(GlobalPool2D, ReducesEachChannel) {
  const Tensor x = Tensor::from({2, 1, 2, 2}, {1, 2, 3, 8, -1, -2, -5, -6});
  expect_tensor(global_average_pool2d(x), {2, 2}, {2, 5, -3, -4});
  expect_tensor(global_max_pool2d(x), {2, 2}, {3, 8, -1, -2});
  const Tensor random = random_tensor({3, 7, 5, 4}, 1);
  expect_tensor(global_average_pool2d(random), {3, 4}, values_of(mean(random, {1, 2})));
  expect_tensor(global_max_pool2d(random), {3, 4}, values_of(max(random, {1, 2})));
}

TEST(Pool2D, Gradients) {
  // Steps of 0.25 in random order: no two values are as close as gradcheck's step.
  const std::vector<std::uint32_t> order = Random(1).permutation(120);
  Tensor distinct({2, 5, 4, 3});
  for (std::size_t i = 0; i < order.size(); ++i) {
    distinct.mutable_span()[i] = 0.25F * static_cast<float>(order[i]) - 15.0F;
  }
  const std::vector<Pool2DOptions> all = {
      {},
      {.size = {3, 3}, .stride = {1, 2}},
      {.size = {2, 5}, .stride = {3, 1}, .padding = Padding::same}};
  for (const Pool2DOptions& options : all) {
    expect_gradient([&](const auto& in) { return max_pool2d(in[0], options); }, {distinct});
    expect_gradient([&](const auto& in) { return average_pool2d(in[0], options); },
                    {random_tensor({2, 5, 6, 3}, 2)});
  }
  expect_gradient([](const auto& in) { return global_max_pool2d(in[0]); }, {distinct});
  expect_gradient([](const auto& in) { return global_average_pool2d(in[0]); }, {distinct});
}

TEST(Pool2D, SameBytesOnAnyNumberOfThreads) {
  const Tensor x = random_tensor({5, 29, 31, 9}, 1);
  const Pool2DOptions overlapping{.size = {3, 3}, .stride = {1, 1}, .padding = Padding::same};
  expect_same_on_any_threads([&] {
    std::vector<Tensor> results =
        run([&](const Tensor& a) { return max_pool2d(a, overlapping); }, x);
    for (const Pool& pool : {Pool([&](const Tensor& a) { return average_pool2d(a, overlapping); }),
                             Pool([&](const Tensor& a) { return global_average_pool2d(a); })}) {
      for (const Tensor& t : run(pool, x)) results.push_back(t);
    }
    return results;
  });
}

TEST(Pool2D, NoImagesGiveNoOutputs) {
  EXPECT_EQ(max_pool2d(Tensor::ones({0, 4, 4, 2})).shape(), (Shape{0, 2, 2, 2}));
  EXPECT_EQ(global_average_pool2d(Tensor::ones({0, 4, 4, 2})).shape(), (Shape{0, 2}));
}

TEST(Pool2D, ErrorsNameTheOperationAndTheShape) {
  expect_error(
      [] {
        max_pool2d(Tensor::ones({4, 4, 1}));
      },
      "max_pool2d: expected images [n, h, w, c], found shape [4, 4, 1]");
  expect_error(
      [] {
        average_pool2d(Tensor::ones({1, 1, 4, 1}));
      },
      "average_pool2d over the height of images [1, 1, 4, 1]: ");
  expect_error(
      [] {
        max_pool2d(Tensor::ones({1, 4, 4, 1}), {.size = {2, 0}});
      },
      "max_pool2d over the width");
  expect_error([] { global_max_pool2d(Tensor::ones({2, 3})); }, "global_max_pool2d: expected");
  expect_error(
      [] {
        global_average_pool2d(Tensor::ones({2, 0, 3, 1}));
      },
      "global_average_pool2d: expected");
}

}  // namespace
}  // namespace octet::test::pool2d_test
