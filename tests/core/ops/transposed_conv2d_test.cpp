#include <octet/core/ops/ops.h>
#include <octet/tests/core/ops/conv_testing.h>

namespace octet::test::transposed_conv2d_test {
namespace {

/// `c.h` and `c.w` are those of x, `c.channels` its channels.
Shape transposed_kernel(const ConvCase& c) { return {c.kh, c.kw, c.filters, c.channels}; }

ConvCase random_transposed_case(std::uint64_t seed) {
  ConvCase c = random_conv_case(seed);
  c.groups = 1;
  c.dilation = {1, 1};
  c.padding = seed % 2 == 0 ? Padding::valid : Padding::same;
  return c;
}

Tensor compute(const ConvCase& c, const Tensor& x, const Tensor& kernel) {
  return transposed_conv2d(x, kernel, {.stride = c.stride, .padding = c.padding});
}

/// Extents as Keras has them; every pixel adds its share to the result.
ConvOutcome naive(const ConvCase& c, const Tensor& x, const Tensor& kernel,
                  const std::function<float(std::size_t)>& g) {
  const auto extent = [&](Index in, Index k, Index stride) {
    return c.padding == Padding::same ? in * stride : in * stride + std::max<Index>(k - stride, 0);
  };
  ConvOutcome r;
  const Index oh = extent(c.h, c.kh, c.stride[0]);
  const Index ow = extent(c.w, c.kw, c.stride[1]);
  const Index before_y = conv_axis(oh, c.kh, c.stride[0], 1, c.padding).before;
  const Index before_x = conv_axis(ow, c.kw, c.stride[1], 1, c.padding).before;
  r.shape = {c.n, oh, ow, c.filters};
  r.y.resize(static_cast<std::size_t>(r.shape.size()));
  r.dx.resize(x.span().size());
  r.dkernel.resize(kernel.span().size());
  for (std::size_t p = 0; p < x.span().size(); ++p) {
    const auto pixel = static_cast<Index>(p) / c.channels;
    const Index q = static_cast<Index>(p) % c.channels;
    const Index iy = pixel / c.w % c.h;
    const Index ix = pixel % c.w;
    for (std::size_t k = 0; k < kernel.span().size(); ++k) {
      const auto tap = static_cast<Index>(k) / c.channels / c.filters;
      if (static_cast<Index>(k) % c.channels != q) continue;
      const Index f = static_cast<Index>(k) / c.channels % c.filters;
      const Index oy = iy * c.stride[0] - before_y + tap / c.kw;
      const Index ox = ix * c.stride[1] - before_x + tap % c.kw;
      if (oy < 0 || oy >= oh || ox < 0 || ox >= ow) continue;
      const auto to =
          static_cast<std::size_t>(((pixel / c.w / c.h * oh + oy) * ow + ox) * c.filters + f);
      r.y[to] += double{x.span()[p]} * kernel.span()[k];
      r.dx[p] += double{g(to)} * kernel.span()[k];
      r.dkernel[k] += double{g(to)} * x.span()[p];
    }
  }
  return r;
}

void expect_naive(const ConvCase& c) {
  const Tensor x = random_tensor(c.input(), 1);
  const Tensor kernel = random_tensor(transposed_kernel(c), 2);
  const Gradients found = gradients_of(
      [&](const Tensor& a, const Tensor& b) { return compute(c, a, b); }, x, kernel, 3);
  const Tensor g = random_tensor(found.y.shape(), 3);
  const ConvOutcome expected = naive(c, x, kernel, [&](std::size_t i) { return g.span()[i]; });
  const std::string what = c.to_string();
  ASSERT_EQ(found.y.shape(), expected.shape) << what;
  expect_near(found.y, expected.y, what);
  expect_near(found.x, expected.dx, what + ", gradient of x");
  expect_near(found.kernel, expected.dkernel, what + ", gradient of the kernel");
}

TEST(TransposedConv2D, HandComputedValues) {
  const Tensor x = Tensor::from({1, 1, 2, 2}, {1, 2, 3, 4});
  // Two filters over two channels.
  const Tensor kernel = Tensor::from({1, 3, 2, 2}, {1, 0, 0, 1, 10, 0, 0, 10, 100, 0, 0, 100});
  expect_tensor(transposed_conv2d(x, kernel), {1, 1, 4, 2}, {1, 2, 13, 24, 130, 240, 300, 400});
  expect_tensor(transposed_conv2d(x, kernel, {.padding = Padding::same}), {1, 1, 2, 2},
                {13, 24, 130, 240});
  expect_tensor(transposed_conv2d(x, kernel, {.stride = {1, 2}, .padding = Padding::same}),
                {1, 1, 4, 2}, {1, 2, 10, 20, 103, 204, 30, 40});
  // Rows and columns that no pixel reaches are 0.
  expect_tensor(transposed_conv2d(x, kernel, {.stride = {2, 4}}), {1, 2, 8, 2},
                {1, 2, 10, 20, 100, 200, 0, 0, 3, 4, 30, 40, 300, 400, 0, 0,
                 0, 0, 0,  0,  0,   0,   0, 0, 0, 0, 0,  0,  0,   0,   0, 0});
}

TEST(TransposedConv2D, MatchesALoopOnRandomShapes) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) expect_naive(random_transposed_case(seed));
}

TEST(TransposedConv2D, MatchesALoopInManyParts) {
  expect_naive({.n = 5, .h = 14, .w = 9, .kh = 3, .kw = 3, .channels = 7, .filters = 9});
  expect_naive({.n = 2,
                .h = 15,
                .w = 16,
                .kh = 4,
                .kw = 3,
                .channels = 24,
                .filters = 5,
                .stride = {2, 2},
                .padding = Padding::same});
}

TEST(TransposedConv2D, Gradients) {
  for (std::uint64_t seed = 300; seed < 316; ++seed) {
    const ConvCase c = random_transposed_case(seed);
    expect_gradient([&](const std::vector<Tensor>& in) { return compute(c, in[0], in[1]); },
                    {random_tensor(c.input(), 1), random_tensor(transposed_kernel(c), 2)});
  }
}

TEST(TransposedConv2D, SameBytesOnAnyNumberOfThreads) {
  const std::vector<ConvCase> cases = {
      {.n = 5, .h = 14, .w = 15, .kh = 3, .kw = 3, .channels = 24, .filters = 16},
      {.n = 3,
       .h = 11,
       .w = 12,
       .kh = 3,
       .kw = 2,
       .channels = 8,
       .filters = 32,
       .stride = {2, 3},
       .padding = Padding::same}};
  for (const ConvCase& c : cases) {
    expect_same_on_any_threads([&] {
      const Gradients r =
          gradients_of([&](const Tensor& a, const Tensor& b) { return compute(c, a, b); },
                       random_tensor(c.input(), 1), random_tensor(transposed_kernel(c), 2), 3);
      return std::vector<Tensor>{r.y, r.x, r.kernel};
    });
  }
}

TEST(TransposedConv2D, ErrorsNameShapesAndTheLikelyMistake) {
  const auto refuses = [](const Shape& x, const Shape& kernel, const std::string& part,
                          const TransposedConv2DOptions& options = {}) {
    expect_error([&] { transposed_conv2d(Tensor::zeros(x), Tensor::zeros(kernel), options); },
                 part);
  };
  refuses({5, 5}, {3, 3, 1, 1}, "transposed_conv2d: expected images [n, h, w, c]");
  refuses({1, 5, 5, 3}, {3, 3, 2, 4},
          "transposed_conv2d: expected a kernel [kh, kw, filters, 3] of extents of 1 or more for "
          "images [1, 5, 5, 3], found shape [3, 3, 2, 4]");
  refuses({1, 5, 5, 3}, {3, 3, 0, 3}, "expected a kernel");
  refuses({1, 5, 5, 3}, {3, 3, 3, 4}, "a kernel of conv2d? permute(kernel, {0, 1, 3, 2})");
  refuses({1, 3, 5, 5}, {3, 3, 2, 3}, "permute(x, {0, 2, 3, 1})");
  refuses({1, 5, 5, 3}, {3, 3, 2, 3}, "expected a stride between 1 and", {.stride = {0, 1}});
  refuses({1, 5, 5, 3}, {3, 3, 2, 3}, "over the width", {.stride = {1, Index{1} << 40}});
  refuses({1, 5, 5, 3}, {3, 3, 2, 3}, "expected a result of a height of at most 2147483647",
          {.stride = {(Index{1} << 31) - 1, 1}});
}

}  // namespace
}  // namespace octet::test::transposed_conv2d_test
