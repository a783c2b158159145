#include <octet/core/ops/ops.h>
#include <octet/tests/core/kernels/kernel_testing.h>
#include <octet/tests/core/ops/conv_testing.h>

#include <cmath>

namespace octet::test::conv2d_test {
namespace {

Conv2DOptions options_of(const ConvCase& c) {
  return {.stride = c.stride, .dilation = c.dilation, .padding = c.padding, .groups = c.groups};
}

/// Checks result and gradients against the plain loop; the result to the bit where it is a chain.
void expect_naive(const ConvCase& c) {
  const Tensor x = random_tensor(c.input(), 1);
  const Tensor kernel = random_tensor(c.kernel(), 2);
  const Gradients found = gradients_of(
      [&](const Tensor& a, const Tensor& b) { return conv2d(a, b, options_of(c)); }, x, kernel, 3);
  const Tensor g = random_tensor(found.y.shape(), 3);
  const ConvOutcome expected =
      naive_conv2d(c, x, kernel, [&](std::size_t i) { return g.span()[i]; });
  const std::string what = c.to_string();
  ASSERT_EQ(found.y.shape(), expected.shape) << what;
  expect_near(found.y, expected.y, what);
  const bool depthwise = c.groups > 1 && c.channels == 1;
  EXPECT_TRUE(depthwise || values_of(found.y) == expected.chain) << what;
  expect_near(found.x, expected.dx, what + ", gradient of x");
  expect_near(found.kernel, expected.dkernel, what + ", gradient of the kernel");
}

TEST(Conv2D, HandComputedValues) {
  const Tensor x = Tensor::from({1, 3, 3, 1}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  const Tensor kernel = Tensor::from({2, 2, 1, 1}, {1, 10, 100, 1000});
  expect_tensor(conv2d(x, kernel), {1, 2, 2, 1}, {5421, 6532, 8754, 9865});
  // An even kernel is padded behind only.
  expect_tensor(conv2d(x, kernel, {.padding = Padding::same}), {1, 3, 3, 1},
                {5421, 6532, 603, 8754, 9865, 906, 87, 98, 9});
  expect_tensor(conv2d(x, kernel, {.stride = {2, 2}, .padding = Padding::same}), {1, 2, 2, 1},
                {5421, 603, 87, 9});
  expect_tensor(conv2d(x, kernel, {.dilation = {2, 2}}), {1, 1, 1, 1}, {9731});
}

TEST(Conv2D, GroupsReadTheirOwnChannels) {
  const Tensor x = Tensor::from({1, 1, 1, 4}, {1, 2, 3, 4});
  const Tensor kernel = Tensor::from({1, 1, 2, 2}, {1, 100, 10, 1000});
  expect_tensor(conv2d(x, kernel, {.groups = 2}), {1, 1, 1, 2}, {21, 4300});
}

TEST(Conv2D, MatchesALoopOnRandomShapes) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) expect_naive(random_conv_case(seed));
}

TEST(Conv2D, MatchesALoopInManyBlocks) {
  // Blocks of patches that begin inside an image, and sums of several parts.
  expect_naive({.n = 5,
                .h = 29,
                .w = 31,
                .kh = 3,
                .kw = 3,
                .channels = 3,
                .filters = 4,
                .padding = Padding::same});
  // 1 x 1: without patches.
  expect_naive({.n = 3, .h = 17, .w = 19, .kh = 1, .kw = 1, .channels = 33, .filters = 35});
  expect_naive(
      {.n = 3, .h = 17, .w = 19, .kh = 1, .kw = 1, .groups = 2, .channels = 9, .filters = 4});
  // Gradients of the kernel of two parts in three blocks each, and of one part in two blocks.
  expect_naive({.n = 2,
                .h = 17,
                .w = 17,
                .kh = 3,
                .kw = 3,
                .channels = 32,
                .filters = 5,
                .padding = Padding::same});
  expect_naive({.n = 2,
                .h = 6,
                .w = 7,
                .kh = 3,
                .kw = 3,
                .channels = 96,
                .filters = 80,
                .padding = Padding::same});
}

/// The gradients in the order that conv2d.h documents, of fewer outputs than are cut into parts.
struct GradientChains {
  std::vector<float> dx, dkernel;
};

GradientChains gradient_chains(const ConvCase& c, const Tensor& x, const Tensor& kernel,
                               const Tensor& g) {
  const ConvAxis rows = conv_axis(c.h, c.kh, c.stride[0], c.dilation[0], c.padding);
  const ConvAxis columns = conv_axis(c.w, c.kw, c.stride[1], c.dilation[1], c.padding);
  GradientChains r{std::vector<float>(x.span().size()), std::vector<float>(kernel.span().size())};
  for (Index o = 0; o < c.n * rows.output * columns.output; ++o) {
    const Index oy = o / columns.output % rows.output;
    for (Index t = 0; t < c.kh * c.kw; ++t) {
      const Index iy = oy * c.stride[0] - rows.before + t / c.kw * c.dilation[0];
      const Index ix = o % columns.output * c.stride[1] - columns.before + t % c.kw * c.dilation[1];
      if (iy < 0 || iy >= c.h || ix < 0 || ix >= c.w) continue;
      const Index pixel = (o / columns.output / rows.output * c.h + iy) * c.w + ix;
      for (Index q = 0; q < c.channels; ++q) {
        const auto at = static_cast<std::size_t>(pixel * c.channels + q);
        for (Index f = 0; f < c.filters; ++f) {
          const auto tap = static_cast<std::size_t>((t * c.channels + q) * c.filters + f);
          const float upstream = g.span()[static_cast<std::size_t>(o * c.filters + f)];
          r.dx[at] = std::fma(upstream, kernel.span()[tap], r.dx[at]);
          r.dkernel[tap] = std::fma(x.span()[at], upstream, r.dkernel[tap]);
        }
      }
    }
  }
  return r;
}

class Conv2DPaths : public KernelTest {};

TEST_P(Conv2DPaths, ResultAndGradientsAreChainsForTilesOfEveryWidth) {
  const Forced forced(GetParam());
  for (const Index filters : {1, 3, 6, 8, 9, 16, 17, 32, 44}) {
    for (const Index channels : {1, 3, 18}) {
      for (const auto stride : {std::array<Index, 2>{1, 1}, {2, 2}, {1, 3}}) {
        const ConvCase c{.n = 2,
                         .h = 6,
                         .w = 17,
                         .kh = 3,
                         .kw = 4,
                         .channels = channels,
                         .filters = filters,
                         .stride = stride,
                         .padding = filters % 2 == 0 ? Padding::valid : Padding::same};
        const Tensor x = random_tensor(c.input(), 1);
        const Tensor kernel = random_tensor(c.kernel(), 2);
        const Gradients found = gradients_of(
            [&](const Tensor& a, const Tensor& b) { return conv2d(a, b, options_of(c)); }, x,
            kernel, 3);
        const Tensor g = random_tensor(found.y.shape(), 3);
        const ConvOutcome expected = naive_conv2d(c, x, kernel, [](std::size_t) { return 0.0F; });
        const GradientChains gradients = gradient_chains(c, x, kernel, g);
        ASSERT_EQ(values_of(found.y), expected.chain) << c.to_string();
        ASSERT_EQ(values_of(found.x), gradients.dx) << c.to_string();
        ASSERT_EQ(values_of(found.kernel), gradients.dkernel) << c.to_string();
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, Conv2DPaths, ::testing::ValuesIn(available_kernels()), isa_name);

TEST(Conv2D, WithBiasAndClampIsWhatTheOpsGive) {
  const std::vector<std::pair<FusedActivation, std::function<Tensor(const Tensor&)>>> clamps = {
      {FusedActivation::none, [](const Tensor& v) { return v; }},
      {FusedActivation::relu, [](const Tensor& v) { return relu(v); }},
      {FusedActivation::relu6, [](const Tensor& v) { return relu6(v); }},
      {FusedActivation::relu_n1_to_1, [](const Tensor& v) { return clamp(v, -1.0F, 1.0F); }}};
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const ConvCase c = random_conv_case(seed);
    const FusedActivation activation = clamps[seed % clamps.size()].first;
    const auto& function = clamps[seed % clamps.size()].second;
    const auto all_of = [&](const auto& compute) {
      const Tensor x = leaf(random_tensor(c.input(), 1));
      const Tensor kernel = leaf(random_tensor(c.kernel(), 2));
      const Tensor bias = leaf(random_tensor({c.groups * c.filters}, 4));
      Tensor y = compute(x, kernel, bias);
      y.backward(random_tensor(y.shape(), 3));
      return std::vector<Tensor>{y.detach(), x.grad(), kernel.grad(), bias.grad()};
    };
    const auto fused = all_of([&](const Tensor& x, const Tensor& kernel, const Tensor& bias) {
      return conv2d(x, kernel, bias, activation, options_of(c));
    });
    const auto separate = all_of([&](const Tensor& x, const Tensor& kernel, const Tensor& bias) {
      return function(conv2d(x, kernel, options_of(c)) + bias);
    });
    for (std::size_t i = 0; i < 3; ++i) {
      ASSERT_EQ(values_of(fused[i]), values_of(separate[i])) << c.to_string() << ", " << i;
    }
    // Sums of another order.
    expect_close(fused[3], separate[3], 1e-5F);
  }
}

TEST(Conv2D, Gradients) {
  for (std::uint64_t seed = 300; seed < 312; ++seed) {
    const ConvCase c = random_conv_case(seed);
    expect_gradient(
        [&](const std::vector<Tensor>& in) { return conv2d(in[0], in[1], options_of(c)); },
        {random_tensor(c.input(), 1), random_tensor(c.kernel(), 2)});
  }
}

TEST(Conv2D, OneByOneIsTheProduct) {
  const Tensor x = random_tensor({2, 5, 7, 6}, 1);
  const Tensor kernel = random_tensor({1, 1, 6, 9}, 2);
  const Tensor product = matmul(x.reshape({70, 6}), kernel.reshape({6, 9}));
  expect_tensor(conv2d(x, kernel), {2, 5, 7, 9}, values_of(product));
}

TEST(Conv2D, SameBytesOnAnyNumberOfThreads) {
  const std::vector<ConvCase> cases = {
      {.n = 5,
       .h = 29,
       .w = 31,
       .kh = 3,
       .kw = 3,
       .channels = 3,
       .filters = 20,
       .padding = Padding::same},
      {.n = 5, .h = 29, .w = 31, .kh = 1, .kw = 1, .channels = 17, .filters = 20},
      {.n = 3,
       .h = 21,
       .w = 22,
       .kh = 3,
       .kw = 2,
       .groups = 2,
       .channels = 8,
       .filters = 12,
       .stride = {1, 2}},
      {.n = 4, .h = 9, .w = 7, .kh = 3, .kw = 3, .channels = 96, .filters = 80}};
  for (const ConvCase& c : cases) {
    expect_same_on_any_threads([&] {
      const Gradients r = gradients_of(
          [&](const Tensor& a, const Tensor& b) { return conv2d(a, b, options_of(c)); },
          random_tensor(c.input(), 1), random_tensor(c.kernel(), 2), 3);
      return std::vector<Tensor>{r.y, r.x, r.kernel};
    });
  }
}

TEST(Conv2D, NoImagesGiveNoOutputsAndAZeroGradient) {
  const Gradients r = gradients_of([](const Tensor& a, const Tensor& b) { return conv2d(a, b); },
                                   Tensor::ones({0, 4, 4, 2}), Tensor::ones({3, 3, 2, 1}), 1);
  EXPECT_EQ(r.y.shape(), (Shape{0, 2, 2, 1}));
  EXPECT_EQ(r.x.shape(), (Shape{0, 4, 4, 2}));
  expect_tensor(r.kernel, {3, 3, 2, 1}, std::vector<float>(18, 0.0F));
}

TEST(Conv2D, GradientsOnlyWhereTheyAreWanted) {
  const Tensor x = random_tensor({1, 4, 4, 1}, 1);
  const Tensor kernel = leaf(random_tensor({3, 3, 1, 2}, 2));
  Tensor y = conv2d(x, kernel);
  y.backward(Tensor::ones(y.shape()));
  EXPECT_FALSE(x.grad().defined());
  EXPECT_TRUE(kernel.grad().defined());
}

TEST(Conv2D, RefusesABiasOfAnotherShape) {
  expect_error(
      [] {
        conv2d(Tensor::ones({1, 4, 4, 2}), Tensor::ones({3, 3, 2, 5}), Tensor::ones({2}),
               FusedActivation::relu);
      },
      "expected a bias of shape [5]");
}

TEST(Conv2D, ErrorsNameShapesAndTheLikelyMistake) {
  const auto refuses = [](const Shape& x, const Shape& kernel, const Conv2DOptions& options,
                          const std::string& part) {
    expect_error([&] { conv2d(Tensor::ones(x), Tensor::ones(kernel), options); }, part);
  };
  refuses({5, 5, 1}, {3, 3, 1, 1}, {},
          "conv2d: expected images [n, h, w, c], found shape [5, 5, 1]; a single image");
  refuses({1, 5, 5, 0}, {3, 3, 0, 1}, {},
          "conv2d: expected images [n, h, w, c] with h, w and c between 1");
  refuses({1, 0, 5, 1}, {3, 3, 1, 1}, {}, "h, w and c between 1");
  refuses({1, 5, 5, 1}, {3, 3, 1}, {},
          "conv2d: expected a kernel [kh, kw, c / groups, filters] of extents of 1 or more, found "
          "shape [3, 3, 1]");
  refuses({1, 5, 5, 1}, {3, 3, 1, 0}, {}, "extents of 1 or more");
  refuses({1, 5, 5, 3}, {8, 3, 5, 7}, {}, "permute(kernel, {2, 3, 1, 0})");
  refuses({1, 3, 7, 8}, {5, 5, 3, 4}, {}, "permute(x, {0, 2, 3, 1})");
  refuses({1, 5, 5, 4}, {3, 3, 4, 4}, {.groups = 2}, "reads the channels of its group only");
  refuses({1, 5, 5, 4}, {3, 3, 2, 4}, {}, "groups left out?");
  refuses({1, 5, 5, 4}, {3, 3, 1, 4}, {.groups = 3},
          "conv2d: expected groups that divide the 4 channels of images [1, 5, 5, 4] and the 4 "
          "filters of kernel [3, 3, 1, 4], found 3");
  refuses({1, 5, 5, 4}, {3, 3, 2, 3}, {.groups = 2}, "the 3 filters");
  refuses({1, 5, 5, 4}, {3, 3, 4, 3}, {.groups = 0}, "found 0");
  refuses({1, 5, 2, 1}, {3, 3, 1, 1}, {}, "conv2d over the width of images [1, 5, 2, 1]: ");
  refuses({1, 5, 5, 1}, {3, 3, 1, 1}, {.dilation = {3, 1}}, "conv2d over the height");
  refuses({1, 5, 5, 1}, {3, 3, 1, 1}, {.stride = {1, 0}}, "a stride between 1");
}

}  // namespace
}  // namespace octet::test::conv2d_test
