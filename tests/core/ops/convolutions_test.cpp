#include <octet/tests/core/ops/conv_testing.h>

// What holds for every convolution: each is a row of conv_ops().

namespace octet::test::convolutions_test {
namespace {

constexpr Padding kSame = Padding::same;

/// Extents as Keras has them; every pixel adds its share to the result.
ConvOutcome naive_transposed_conv2d(const ConvCase& c, const Tensor& x, const Tensor& kernel,
                                    const Tensor& g) {
  const auto extent = [&](Index in, Index k, Index stride) {
    return c.padding == Padding::same ? in * stride : in * stride + std::max<Index>(k - stride, 0);
  };
  ConvOutcome r;
  const Index oh = extent(c.in.h, c.k.h, c.stride[0]);
  const Index ow = extent(c.in.w, c.k.w, c.stride[1]);
  const Index before_y = conv_axis(oh, c.k.h, c.stride[0], 1, c.padding).before;
  const Index before_x = conv_axis(ow, c.k.w, c.stride[1], 1, c.padding).before;
  r.shape = {c.in.n, oh, ow, c.filters};
  r.y.resize(static_cast<std::size_t>(r.shape.size()));
  r.dx.resize(x.span().size());
  r.dkernel.resize(kernel.span().size());
  for (std::size_t p = 0; p < x.span().size(); ++p) {
    const auto pixel = static_cast<Index>(p) / c.channels;
    const Index q = static_cast<Index>(p) % c.channels;
    const Index iy = pixel / c.in.w % c.in.h;
    const Index ix = pixel % c.in.w;
    for (std::size_t k = 0; k < kernel.span().size(); ++k) {
      const auto tap = static_cast<Index>(k) / c.channels / c.filters;
      if (static_cast<Index>(k) % c.channels != q) continue;
      const Index f = static_cast<Index>(k) / c.channels % c.filters;
      const Index oy = iy * c.stride[0] - before_y + tap / c.k.w;
      const Index ox = ix * c.stride[1] - before_x + tap % c.k.w;
      if (oy < 0 || oy >= oh || ox < 0 || ox >= ow) continue;
      const auto to =
          static_cast<std::size_t>(((pixel / c.in.w / c.in.h * oh + oy) * ow + ox) * c.filters + f);
      r.y[to] += double{x.span()[p]} * kernel.span()[k];
      r.dx[p] += double{g.span()[to]} * kernel.span()[k];
      r.dkernel[k] += double{g.span()[to]} * x.span()[p];
    }
  }
  return r;
}

/// `in.h` and `in.w` are those of x, `channels` its channels.
ConvOp transposed_conv2d_op() {
  return {.name = "transposed_conv2d",
          .draw =
              [](std::uint64_t seed) {
                ConvCase c = random_conv_case(seed);
                c.groups = 1;
                c.dilation = {1, 1};
                c.padding = seed % 2 == 0 ? Padding::valid : Padding::same;
                return c;
              },
          .kernel =
              [](const ConvCase& c) {
                return Shape{c.k.h, c.k.w, c.filters, c.channels};
              },
          .compute =
              [](const ConvCase& c, const Tensor& x, const Tensor& kernel) {
                return transposed_conv2d(x, kernel, {c.stride, c.padding});
              },
          .naive = naive_transposed_conv2d};
}

std::vector<ConvOp> conv_ops() {
  return {conv2d_op(), depthwise_conv2d_op(), transposed_conv2d_op()};
}

class Convolutions : public ::testing::TestWithParam<ConvOp> {};

TEST_P(Convolutions, MatchALoopOnRandomShapes) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) expect_naive(GetParam(), GetParam().draw(seed));
}

TEST_P(Convolutions, HaveTheGradientsOfFiniteDifferences) {
  const ConvOp& op = GetParam();
  for (std::uint64_t seed = 300; seed < 316; ++seed) {
    const ConvCase c = op.draw(seed);
    expect_gradient([&](const auto& in) { return op.compute(c, in[0], in[1]); },
                    {op.x_of(c), op.kernel_of(c)});
  }
}

INSTANTIATE_TEST_SUITE_P(, Convolutions, ::testing::ValuesIn(conv_ops()),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(Conv2D, MatchesALoopInManyBlocks) {
  for (const ConvCase& c : std::vector<ConvCase>{
           // Blocks of patches that begin inside an image, and sums of several parts.
           {.in = {5, 29, 31}, .k = {3, 3}, .channels = 3, .filters = 4, .padding = kSame},
           // 1 x 1: without patches.
           {.in = {3, 17, 19}, .k = {1, 1}, .channels = 33, .filters = 35},
           {.in = {3, 17, 19}, .k = {1, 1}, .groups = 2, .channels = 9, .filters = 4},
           // Gradients of the kernel of two parts in three blocks each, of one part in two blocks.
           {.in = {2, 17, 17}, .k = {3, 3}, .channels = 32, .filters = 5, .padding = kSame},
           {.in = {2, 6, 7}, .k = {3, 3}, .channels = 96, .filters = 80, .padding = kSame}}) {
    expect_naive(conv2d_op(), c);
  }
}

TEST(DepthwiseConv2D, MatchesALoopInManyParts) {
  const ConvOp op = depthwise_conv2d_op();
  expect_naive(op, {.in = {5, 29, 31}, .k = {3, 3}, .groups = 7, .padding = kSame});
  expect_naive(op, {.in = {5, 29, 31}, .k = {3, 3}, .groups = 7, .filters = 2, .stride = {2, 2}});
}

TEST(TransposedConv2D, MatchesALoopInManyParts) {
  const ConvOp op = transposed_conv2d_op();
  expect_naive(op, {.in = {5, 14, 9}, .k = {3, 3}, .channels = 7, .filters = 9});
  expect_naive(op, {.in = {2, 15, 16},
                    .k = {4, 3},
                    .channels = 24,
                    .filters = 5,
                    .stride = {2, 2},
                    .padding = kSame});
}

void expect_same_bytes_on_any_threads(const ConvOp& op, const ConvCase& c) {
  SCOPED_TRACE(c.to_string());
  expect_same_on_any_threads([&] {
    const Gradients r = op.run(c);
    return std::vector<Tensor>{r.y, r.x, r.kernel};
  });
}

TEST(Conv2D, SameBytesOnAnyNumberOfThreads) {
  for (const ConvCase& c : std::vector<ConvCase>{
           {.in = {5, 29, 31}, .k = {3, 3}, .channels = 3, .filters = 20, .padding = kSame},
           {.in = {5, 29, 31}, .k = {1, 1}, .channels = 17, .filters = 20},
           {{3, 21, 22}, {3, 2}, /*groups=*/2, /*channels=*/8, /*filters=*/12, {1, 2}},
           {.in = {4, 9, 7}, .k = {3, 3}, .channels = 96, .filters = 80}}) {
    expect_same_bytes_on_any_threads(conv2d_op(), c);
  }
}

TEST(DepthwiseConv2D, SameBytesOnAnyNumberOfThreads) {
  for (const ConvCase& c : std::vector<ConvCase>{
           {.in = {5, 29, 31}, .k = {3, 3}, .groups = 24, .padding = kSame},
           {.in = {3, 21, 22}, .k = {3, 2}, .groups = 8, .filters = 3, .stride = {1, 2}}}) {
    expect_same_bytes_on_any_threads(depthwise_conv2d_op(), c);
  }
}

TEST(TransposedConv2D, SameBytesOnAnyNumberOfThreads) {
  for (const ConvCase& c :
       std::vector<ConvCase>{{.in = {5, 14, 15}, .k = {3, 3}, .channels = 24, .filters = 16},
                             {{3, 11, 12},
                              {3, 2},
                              /*groups=*/1,
                              /*channels=*/8,
                              /*filters=*/32,
                              {2, 3},
                              {1, 1},
                              kSame}}) {
    expect_same_bytes_on_any_threads(transposed_conv2d_op(), c);
  }
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

TEST(DepthwiseConv2D, HandComputedValues) {
  // Two channels, two filters each.
  const Tensor x = Tensor::from({1, 1, 2, 2}, {1, 2, 3, 4});
  const Tensor kernel = Tensor::from({1, 2, 2, 2}, {1, 2, 3, 4, 10, 20, 30, 40});
  expect_tensor(depthwise_conv2d(x, kernel), {1, 1, 1, 4}, {31, 62, 126, 168});
  expect_tensor(depthwise_conv2d(x, kernel, {.padding = Padding::same}), {1, 1, 2, 4},
                {31, 62, 126, 168, 3, 6, 12, 16});
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

/// Checks that `op` refuses x and kernel of these shapes with a message that has a part.
auto refuser(const ConvOp& op) {
  return [op](const Shape& x, const Shape& kernel, const std::string& part,
              const ConvCase& options = {}) {
    expect_error([&] { op.compute(options, Tensor::zeros(x), Tensor::zeros(kernel)); }, part);
  };
}

TEST(Conv2D, ErrorsNameShapesAndTheLikelyMistake) {
  const auto refuses = refuser(conv2d_op());
  refuses({5, 5, 1}, {3, 3, 1, 1},
          "conv2d: expected images [n, h, w, c], found shape [5, 5, 1]; a single image");
  refuses({1, 5, 5, 0}, {3, 3, 0, 1},
          "conv2d: expected images [n, h, w, c] with h, w and c between 1");
  refuses({1, 0, 5, 1}, {3, 3, 1, 1}, "h, w and c between 1");
  refuses({1, 5, 5, 1}, {3, 3, 1},
          "conv2d: expected a kernel [kh, kw, c / groups, filters] of extents of 1 or more, found "
          "shape [3, 3, 1]");
  refuses({1, 5, 5, 1}, {3, 3, 1, 0}, "extents of 1 or more");
  refuses({1, 5, 5, 3}, {8, 3, 5, 7}, "permute(kernel, {2, 3, 1, 0})");
  refuses({1, 3, 7, 8}, {5, 5, 3, 4}, "permute(x, {0, 2, 3, 1})");
  refuses({1, 5, 5, 4}, {3, 3, 4, 4}, "reads the channels of its group only", {.groups = 2});
  refuses({1, 5, 5, 4}, {3, 3, 2, 4}, "groups left out?");
  refuses({1, 5, 5, 4}, {3, 3, 1, 4},
          "conv2d: expected groups that divide the 4 channels of images [1, 5, 5, 4] and the 4 "
          "filters of kernel [3, 3, 1, 4], found 3",
          {.groups = 3});
  refuses({1, 5, 5, 4}, {3, 3, 2, 3}, "the 3 filters", {.groups = 2});
  refuses({1, 5, 5, 4}, {3, 3, 4, 3}, "found 0", {.groups = 0});
  refuses({1, 5, 2, 1}, {3, 3, 1, 1}, "conv2d over the width of images [1, 5, 2, 1]: ");
  refuses({1, 5, 5, 1}, {3, 3, 1, 1}, "conv2d over the height", {.dilation = {3, 1}});
  refuses({1, 5, 5, 1}, {3, 3, 1, 1}, "a stride between 1", {.stride = {1, 0}});
}

TEST(DepthwiseConv2D, ErrorsNameShapesAndTheLikelyMistake) {
  const auto refuses = refuser(depthwise_conv2d_op());
  refuses({5, 5}, {3, 3, 1, 1}, "depthwise_conv2d: expected images [n, h, w, c]");
  refuses({1, 5, 5, 3}, {3, 3, 4, 1},
          "depthwise_conv2d: expected a kernel [kh, kw, 3, multiplier] for images [1, 5, 5, 3], "
          "found shape [3, 3, 4, 1]");
  refuses({1, 5, 5, 3}, {3, 3, 3, 0}, "expected a kernel");
  refuses({1, 5, 5, 3}, {3, 3, 1, 6}, "a kernel of conv2d with groups?");
  refuses({1, 3, 5, 5}, {3, 3, 3, 1}, "permute(x, {0, 2, 3, 1})");
  refuses({1, 2, 5, 3}, {3, 3, 3, 1}, "depthwise_conv2d over the height of images [1, 2, 5, 3]: ");
}

TEST(TransposedConv2D, ErrorsNameShapesAndTheLikelyMistake) {
  const auto refuses = refuser(transposed_conv2d_op());
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
}  // namespace octet::test::convolutions_test
