#include <octet/core/ops/ops.h>
#include <octet/tests/core/kernels/kernel_testing.h>
#include <octet/tests/core/ops/conv_testing.h>

#include <cmath>

namespace octet::test::conv2d_test {
namespace {

/// The gradients in the order that conv2d.h documents, of fewer outputs than are cut into parts.
struct GradientChains {
  std::vector<float> dx, dkernel;
};

GradientChains gradient_chains(const ConvCase& c, const Tensor& x, const Tensor& kernel,
                               const Tensor& g) {
  const ConvAxis rows = conv_axis(c.in.h, c.k.h, c.stride[0], c.dilation[0], c.padding);
  const ConvAxis columns = conv_axis(c.in.w, c.k.w, c.stride[1], c.dilation[1], c.padding);
  GradientChains r{std::vector<float>(x.span().size()), std::vector<float>(kernel.span().size())};
  for (Index o = 0; o < c.in.n * rows.output * columns.output; ++o) {
    const Index oy = o / columns.output % rows.output;
    for (Index t = 0; t < c.k.h * c.k.w; ++t) {
      const Index iy = oy * c.stride[0] - rows.before + t / c.k.w * c.dilation[0];
      const Index ix =
          o % columns.output * c.stride[1] - columns.before + t % c.k.w * c.dilation[1];
      if (iy < 0 || iy >= c.in.h || ix < 0 || ix >= c.in.w) continue;
      const Index pixel = (o / columns.output / rows.output * c.in.h + iy) * c.in.w + ix;
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
  const ConvOp op = conv2d_op();
  for (const Index filters : {1, 3, 6, 8, 9, 16, 17, 32, 44}) {
    for (const Index channels : {1, 3, 18}) {
      for (const auto stride : {std::array<Index, 2>{1, 1}, {2, 2}, {1, 3}}) {
        const ConvCase c{.in = {2, 6, 17},
                         .k = {3, 4},
                         .channels = channels,
                         .filters = filters,
                         .stride = stride,
                         .padding = filters % 2 == 0 ? Padding::valid : Padding::same};
        const Gradients found = op.run(c);
        const Tensor x = op.x_of(c);
        const Tensor kernel = op.kernel_of(c);
        const Tensor g = op.upstream_of(found.y);
        const ConvOutcome expected = naive_conv2d(c, x, kernel, g);
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
    const Conv2DOptions options{c.stride, c.dilation, c.padding, c.groups};
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
      return conv2d(x, kernel, bias, activation, options);
    });
    const auto separate = all_of([&](const Tensor& x, const Tensor& kernel, const Tensor& bias) {
      return function(conv2d(x, kernel, options) + bias);
    });
    for (std::size_t i = 0; i < 3; ++i) {
      ASSERT_EQ(values_of(fused[i]), values_of(separate[i])) << c.to_string() << ", " << i;
    }
    // Sums of another order.
    expect_close(fused[3], separate[3], 1e-5F);
  }
}

TEST(Conv2D, OneByOneIsTheProduct) {
  const Tensor x = random_tensor({2, 5, 7, 6}, 1);
  const Tensor kernel = random_tensor({1, 1, 6, 9}, 2);
  const Tensor product = matmul(x.reshape({70, 6}), kernel.reshape({6, 9}));
  expect_tensor(conv2d(x, kernel), {2, 5, 7, 9}, values_of(product));
}

TEST(Conv2D, NoImagesGiveNoOutputsAndAZeroGradient) {
  const Gradients r = conv2d_op().run({.in = {0, 4, 4}, .k = {3, 3}, .channels = 2});
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

}  // namespace
}  // namespace octet::test::conv2d_test
