#include <octet/core/ops/depthwise_conv2d_internal.h>
#include <octet/core/ops/ops.h>
#include <octet/tests/core/kernels/kernel_testing.h>
#include <octet/tests/core/ops/conv_testing.h>

namespace octet::test::depthwise_conv2d_test {
namespace {

TEST(DepthwiseConv2D, IsConv2DWithAsManyGroupsAsChannels) {
  const Tensor x = random_tensor({2, 6, 5, 3}, 1);
  const Tensor kernel = random_tensor({3, 3, 3, 2}, 2);
  const Tensor y = depthwise_conv2d(x, kernel);
  expect_tensor(conv2d(x, kernel.reshape({3, 3, 1, 6}), {.groups = 3}), y.shape(), values_of(y));
}

class DepthwiseConv2DPaths : public KernelTest {
 protected:
  /// Checks a case against the plain loop, and against the portable path to the bit.
  static void expect_naive_and_portable(const ConvCase& c) {
    const ConvOp op = depthwise_conv2d_op();
    const auto run_on = [&](const KernelTable* table) {
      const Forced forced(table);
      const Gradients r = op.run(c);
      return std::vector{values_of(r.y), values_of(r.x), values_of(r.kernel)};
    };
    const Forced forced(GetParam());
    expect_naive(op, c);
    ASSERT_EQ(run_on(GetParam()), run_on(available_kernels().front())) << c.to_string();
  }
};

TEST_P(DepthwiseConv2DPaths, MatchesALoopForVectorsOfEveryWidthAndThePortablePathToTheBit) {
  for (const Index channels : {1, 2, 3, 5, 7, 8, 16, 17, 33, 65}) {
    for (const auto stride : {std::array<Index, 2>{1, 1}, {2, 2}, {3, 1}, {1, 4}}) {
      for (const Index filters : {1, 3}) {
        const ConvCase c{.in = {3, 5, 9},
                         .k = {3, channels % 3 + 2},
                         .groups = channels,
                         .filters = filters,
                         .stride = stride,
                         .dilation = {1, channels % 2 + 1},
                         .padding = channels == 5 ? Padding::valid : Padding::same};
        expect_naive_and_portable(c);
      }
    }
  }
}

TEST_P(DepthwiseConv2DPaths, MatchesALoopWhereLinesFillTilesAndWhereTheyDoNot) {
  for (const Index lines : {3, 8, 13, 23}) {
    for (const Index width : {1, 3, 5, 6, 7}) {
      for (const Index channels : {3, 20}) {
        const ConvCase c{
            .in = {2, lines, width}, .k = {3, 3}, .groups = channels, .padding = Padding::same};
        expect_naive_and_portable(c);
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
        expect_naive(depthwise_conv2d_op(), {.in = {2, size, 4 - size},
                                             .k = {kernel, 8 - kernel},
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

}  // namespace
}  // namespace octet::test::depthwise_conv2d_test
