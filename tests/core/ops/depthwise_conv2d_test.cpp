#include <octet/core/ops/depthwise_conv2d_internal.h>
#include <octet/core/ops/ops.h>
#include <octet/tests/core/kernels/kernel_testing.h>
#include <octet/tests/core/ops/conv_testing.h>

namespace octet::test::depthwise_conv2d_test {
namespace {

/// A depthwise convolution is one with as many groups as channels, whose kernel has another shape.
Shape depthwise_kernel(const ConvCase& c) { return {c.kh, c.kw, c.groups, c.filters}; }

ConvCase random_depthwise_case(std::uint64_t seed) {
  ConvCase c = random_conv_case(seed);
  c.groups *= c.channels;
  c.channels = 1;
  return c;
}

Tensor compute(const ConvCase& c, const Tensor& x, const Tensor& kernel) {
  return depthwise_conv2d(x, kernel,
                          {.stride = c.stride, .dilation = c.dilation, .padding = c.padding});
}

Gradients gradients_of_case(const ConvCase& c) {
  return gradients_of([&](const Tensor& a, const Tensor& b) { return compute(c, a, b); },
                      random_tensor(c.input(), 1), random_tensor(depthwise_kernel(c), 2), 3);
}

void expect_naive(const ConvCase& c) {
  const Gradients found = gradients_of_case(c);
  const Tensor g = random_tensor(found.y.shape(), 3);
  const ConvOutcome expected =
      naive_conv2d(c, random_tensor(c.input(), 1), random_tensor(depthwise_kernel(c), 2),
                   [&](std::size_t i) { return g.span()[i]; });
  const std::string what = c.to_string();
  ASSERT_EQ(found.y.shape(), expected.shape) << what;
  expect_near(found.y, expected.y, what);
  expect_near(found.x, expected.dx, what + ", gradient of x");
  expect_near(found.kernel, expected.dkernel, what + ", gradient of the kernel");
}

TEST(DepthwiseConv2D, HandComputedValues) {
  // Two channels, two filters each.
  const Tensor x = Tensor::from({1, 1, 2, 2}, {1, 2, 3, 4});
  const Tensor kernel = Tensor::from({1, 2, 2, 2}, {1, 2, 3, 4, 10, 20, 30, 40});
  expect_tensor(depthwise_conv2d(x, kernel), {1, 1, 1, 4}, {31, 62, 126, 168});
  expect_tensor(depthwise_conv2d(x, kernel, {.padding = Padding::same}), {1, 1, 2, 4},
                {31, 62, 126, 168, 3, 6, 12, 16});
}

TEST(DepthwiseConv2D, MatchesALoopOnRandomShapes) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) expect_naive(random_depthwise_case(seed));
}

TEST(DepthwiseConv2D, MatchesALoopInManyParts) {
  expect_naive({.n = 5, .h = 29, .w = 31, .kh = 3, .kw = 3, .groups = 7, .padding = Padding::same});
  expect_naive(
      {.n = 5, .h = 29, .w = 31, .kh = 3, .kw = 3, .groups = 7, .filters = 2, .stride = {2, 2}});
}

TEST(DepthwiseConv2D, IsConv2DWithAsManyGroupsAsChannels) {
  const Tensor x = random_tensor({2, 6, 5, 3}, 1);
  const Tensor kernel = random_tensor({3, 3, 3, 2}, 2);
  const Tensor y = depthwise_conv2d(x, kernel);
  expect_tensor(conv2d(x, kernel.reshape({3, 3, 1, 6}), {.groups = 3}), y.shape(), values_of(y));
}

class DepthwiseConv2DPaths : public KernelTest {};

TEST_P(DepthwiseConv2DPaths, MatchesALoopForVectorsOfEveryWidthAndThePortablePathToTheBit) {
  for (const Index channels : {1, 2, 3, 5, 7, 8, 16, 17, 33, 65}) {
    for (const auto stride : {std::array<Index, 2>{1, 1}, {2, 2}, {3, 1}, {1, 4}}) {
      for (const Index filters : {1, 3}) {
        const ConvCase c{.n = 3,
                         .h = 5,
                         .w = 9,
                         .kh = 3,
                         .kw = channels % 3 + 2,
                         .groups = channels,
                         .filters = filters,
                         .stride = stride,
                         .dilation = {1, channels % 2 + 1},
                         .padding = channels == 5 ? Padding::valid : Padding::same};
        const auto compute_on = [&](const KernelTable* table) {
          const Forced forced(table);
          const Gradients r = gradients_of_case(c);
          return std::vector{values_of(r.y), values_of(r.x), values_of(r.kernel)};
        };
        {
          const Forced forced(GetParam());
          expect_naive(c);
        }
        ASSERT_EQ(compute_on(GetParam()), compute_on(available_kernels().front())) << c.to_string();
      }
    }
  }
}

TEST_P(DepthwiseConv2DPaths, MatchesALoopWhereLinesFillTilesAndWhereTheyDoNot) {
  for (const Index lines : {3, 8, 13, 23}) {
    for (const Index width : {1, 3, 5, 6, 7}) {
      for (const Index channels : {3, 20}) {
        const ConvCase c{.n = 2,
                         .h = lines,
                         .w = width,
                         .kh = 3,
                         .kw = 3,
                         .groups = channels,
                         .padding = Padding::same};
        const Forced forced(GetParam());
        expect_naive(c);
        const Gradients found = gradients_of_case(c);
        const Forced portable(available_kernels().front());
        const Gradients expected = gradients_of_case(c);
        ASSERT_EQ(values_of(found.y), values_of(expected.y)) << c.to_string();
        ASSERT_EQ(values_of(found.x), values_of(expected.x)) << c.to_string();
        ASSERT_EQ(values_of(found.kernel), values_of(expected.kernel)) << c.to_string();
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, DepthwiseConv2DPaths, ::testing::ValuesIn(available_kernels()),
                         isa_name);

TEST(DepthwiseConv2D, StridesAndPaddingBeyondTheImage) {
  for (const Index size : {1, 2, 3}) {
    for (const Index kernel : {1, 2, 5, 7}) {
      for (const Index stride : {1, 2, 5}) {
        expect_naive({.n = 2,
                      .h = size,
                      .w = 4 - size,
                      .kh = kernel,
                      .kw = 8 - kernel,
                      .groups = 9,
                      .stride = {stride, 6 - stride},
                      .padding = Padding::same});
      }
    }
  }
}

TEST(DepthwiseConv2D, ABiasIsWhereSumsStart) {
  const Tensor x = random_tensor({2, 6, 5, 3}, 1);
  const Tensor kernel = random_tensor({3, 3, 3, 2}, 2);
  const Tensor bias = random_tensor({6}, 3);
  expect_close(depthwise_conv2d(x, kernel, bias, {}), depthwise_conv2d(x, kernel) + bias);
  expect_gradient(
      [&](const std::vector<Tensor>& in) { return depthwise_conv2d(in[0], in[1], in[2], {}); },
      {x, kernel, bias});
  expect_error([&] { depthwise_conv2d(x, kernel, Tensor::zeros({3}), {}); },
               "depthwise_conv2d: expected a bias of shape [6], one per filter, found [3]");
}

TEST(DepthwiseConv2D, Gradients) {
  for (std::uint64_t seed = 300; seed < 312; ++seed) {
    const ConvCase c = random_depthwise_case(seed);
    expect_gradient([&](const std::vector<Tensor>& in) { return compute(c, in[0], in[1]); },
                    {random_tensor(c.input(), 1), random_tensor(depthwise_kernel(c), 2)});
  }
}

TEST(DepthwiseConv2D, SameBytesOnAnyNumberOfThreads) {
  const std::vector<ConvCase> cases = {
      {.n = 5, .h = 29, .w = 31, .kh = 3, .kw = 3, .groups = 24, .padding = Padding::same},
      {.n = 3, .h = 21, .w = 22, .kh = 3, .kw = 2, .groups = 8, .filters = 3, .stride = {1, 2}}};
  for (const ConvCase& c : cases) {
    expect_same_on_any_threads([&] {
      const Gradients r = gradients_of_case(c);
      return std::vector<Tensor>{r.y, r.x, r.kernel};
    });
  }
}

TEST(DepthwiseConv2D, ErrorsNameShapesAndTheLikelyMistake) {
  const auto refuses = [](const Shape& x, const Shape& kernel, const std::string& part) {
    expect_error([&] { depthwise_conv2d(Tensor::ones(x), Tensor::ones(kernel)); }, part);
  };
  refuses({5, 5}, {3, 3, 1, 1}, "depthwise_conv2d: expected images [n, h, w, c]");
  refuses({1, 5, 5, 3}, {3, 3, 4, 1},
          "depthwise_conv2d: expected a kernel [kh, kw, 3, multiplier] for images [1, 5, 5, 3], "
          "found shape [3, 3, 4, 1]");
  refuses({1, 5, 5, 3}, {3, 3, 3, 0}, "expected a kernel");
  refuses({1, 5, 5, 3}, {3, 3, 1, 6}, "a kernel of conv2d with groups?");
  refuses({1, 3, 5, 5}, {3, 3, 3, 1}, "permute(x, {0, 2, 3, 1})");
  refuses({1, 2, 5, 3}, {3, 3, 3, 1}, "depthwise_conv2d over the height of images [1, 2, 5, 3]: ");
}

}  // namespace
}  // namespace octet::test::depthwise_conv2d_test
