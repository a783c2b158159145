// Convolutions where their code paths end, and what they refuse beyond operator_faults_test.cpp.

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/runtime/operator_cost.h>
#include <octet/tests/core/kernels/kernel_testing.h>
#include <octet/tests/core/thrown.h>
#include <octet/tests/runtime/drawn_operators.h>

#include <array>

namespace octet::test::convolutions_test {
namespace {

class ConvolutionPaths : public KernelTest {};

void expect_definition(const DrawnOperator& op, Draw& draw, const std::string& what) {
  Interpreter interpreter(op.model, {.rounding = Rounding::fp32});
  const Values x = random_inputs(op, draw);
  const auto y = run<std::int8_t, std::int8_t>(interpreter, values_of<std::int8_t>(x[0]));
  ASSERT_EQ(Values{to_bytes(y)}, op.naive(x, Rounding::fp32)) << what;
}

std::vector<std::int8_t> weights_of(const Conv& c, Draw& draw) {
  const std::int32_t size = c.filter[0] * c.filter[1] * c.filter[2] * c.filter[3];
  return random_codes(static_cast<std::size_t>(size), draw);
}

/// Channels and filters off the vector width, kernels larger than the image, images of one pixel.
TEST_P(ConvolutionPaths, OfAllChannelsAreTheirDefinitionAtTheEdges) {
  const Forced forced(GetParam());
  Draw draw(54);
  for (const std::int32_t channels : {1, 2, 3, 4, 7, 17, 33}) {
    for (const std::int32_t units : {1, 6, 8, 9, 16, 17, 31, 33, 65}) {
      for (const auto& [height, width, kernel] :
           {std::array{5, 9, 3}, {1, 1, 3}, {2, 4, 5}, {3, 25, 1}, {1, 12, 2}, {2, 41, 3}}) {
        Conv c;
        c.image = {1, height, width, channels};
        c.filter = {units, kernel, kernel, channels};
        c.attributes.padding = Padding::same;
        c.attributes.stride_w = width == 9 ? 2 : 1;
        c.in = quant(0.05F, draw.between(-128, 127));
        c.weights = weights_of(c, draw);
        ASSERT_NO_FATAL_FAILURE(
            expect_definition(drawn_conv(c), draw,
                              fmt::format("{} channels, {} filters of {} x {}, {} x {}", channels,
                                          units, kernel, kernel, height, width)));
      }
    }
  }
}

/// Channels off the vector width; odd and even numbers of taps; lines with and without padding, of
/// which most would be padding, and where taps lie several pixels apart. Extreme values.
TEST_P(ConvolutionPaths, OfSingleChannelsAreTheirDefinitionAtTheEdges) {
  const Forced forced(GetParam());
  Draw draw(45);
  for (const std::int32_t channels : {1, 3, 7, 8, 17, 33, 64}) {
    for (const auto& [height, width, kernel, dilation] :
         {std::array{5, 9, 3, 1}, {1, 1, 3, 1}, {3, 4, 5, 1}, {6, 6, 2, 1}, {2, 13, 4, 3}}) {
      for (const std::int32_t stride : {1, 2}) {
        Conv c;
        c.image = {1, height, width, channels};
        c.filter = {channels * stride, kernel, kernel, 1};
        c.attributes.padding = Padding::same;
        c.attributes.stride_h = c.attributes.stride_w = dilation == 1 ? stride : 1;
        c.attributes.dilation_h = c.attributes.dilation_w = dilation;
        c.in = quant(0.05F, stride == 1 ? -128 : 127);
        c.weights = weights_of(c, draw);
        std::fill_n(c.weights.begin(), kernel * kernel, std::int8_t{-128});
        ASSERT_NO_FATAL_FAILURE(
            expect_definition(drawn_depthwise(c), draw,
                              fmt::format("{} channels, stride {}, {} x {}, {} x {}", channels,
                                          stride, kernel, kernel, height, width)));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, ConvolutionPaths, ::testing::ValuesIn(available_kernels()), isa_name);

TEST(TransposeConv, CostsTheWholeKernelForEveryPixel) {
  Transposed t;
  t.conv.image = {1, 4, 5, 3};
  t.conv.filter = {7, 3, 2, 3};
  t.conv.attributes = {.padding = Padding::same, .stride_h = 2, .stride_w = 2};
  t.conv.weights.assign(7 * 6 * 3, 1);
  t.output = {8, 10};
  EXPECT_EQ(operator_cost(transposed_model(t), 0).multiply_adds, (4 * 5 * 3) * (3 * 2 * 7));
}

TEST(Convolutions, RefuseSumsBeyondInt32ByChannel) {
  Transposed t;
  t.conv.image = {1, 2, 2, 1};
  t.conv.filter = {3, 1, 1, 1};
  t.output = {2, 2};
  t.conv.weights.assign(3, 127);
  t.conv.bias = {0, 2147483000, 0};
  Conv c = t.conv;
  c.image[3] = 3;
  for (const IntegerModel& model : {depthwise_model(c), transposed_model(t)}) {
    expect_throws<FormatError>([&] { const Interpreter interpreter(model); },
                               {"channel 1: sums could reach"});
  }
}

}  // namespace
}  // namespace octet::test::convolutions_test
