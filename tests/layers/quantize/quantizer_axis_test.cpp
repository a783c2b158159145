#include <octet/core/ops/fake_quant.h>
#include <octet/core/ops/shape_ops.h>
#include <octet/tests/layers/quantize/quantizer_testing.h>

#include <array>

// Ranges per channel, on whichever axis the channels are.

namespace octet::test::quantizer_axis_test {
namespace {

constexpr std::array<Index, 4> kExtents{3, 2, 5, 4};
const Shape kShape{3, 2, 5, 4};

/// The range of channel c on `axis`, by looking at every element.
std::pair<float, float> naive_range(const Tensor& x, int axis, Index c) {
  float low = 0.0F;
  float high = 0.0F;
  for (Index i = 0; i < x.size(); ++i) {
    Index below = 1;
    for (std::size_t a = static_cast<std::size_t>(axis) + 1; a < kExtents.size(); ++a) {
      below *= kExtents[a];
    }
    if (i / below % kExtents[static_cast<std::size_t>(axis)] != c) continue;
    low = std::min(low, x.data()[i]);
    high = std::max(high, x.data()[i]);
  }
  return {low, high};
}

TEST(QuantizerAxis, KeepsARangePerIndexOfAnyAxis) {
  const Tensor x = random_tensor(kShape, 4);
  for (int axis = 0; axis < 4; ++axis) {
    const auto quantizer = ready(LastValueQuantizer({.axis = axis}), kShape);
    quantizer->observe(x);
    const Index channels = kExtents[static_cast<std::size_t>(axis)];
    ASSERT_EQ(quantizer->min().shape(), (Shape{channels}));
    for (Index c = 0; c < channels; ++c) {
      const auto [low, high] = naive_range(x, axis, c);
      EXPECT_EQ(quantizer->min().data()[c], low) << axis << ' ' << c;
      EXPECT_EQ(quantizer->max().data()[c], high) << axis << ' ' << c;
    }
    EXPECT_EQ(quantizer->params().quantized_dimension, axis);
    EXPECT_EQ(quantizer->params().channels(), static_cast<std::size_t>(channels));
  }
}

TEST(QuantizerAxis, ADepthwiseKernelHasItsChannelsBeforeAnAxisOfOne) {
  const auto quantizer = ready(LastValueQuantizer({.axis = 2}), {1, 2, 3, 1});
  quantizer->observe(Tensor::from({1, 2, 3, 1}, {1, -2, 3, -4, 5, 6}));
  expect_tensor(quantizer->min(), {3}, {-4, -2, 0});
  expect_tensor(quantizer->max(), {3}, {1, 5, 6});
}

TEST(QuantizerAxis, FindsNanAndInfinityOnAnyAxis) {
  for (int axis = 0; axis < 4; ++axis) {
    const auto quantizer = ready(LastValueQuantizer({.axis = axis}), kShape);
    quantizer->observe(random_tensor(kShape, 4));
    const auto before = everything_in(*quantizer);
    for (const float bad : {kNan, kInf, -kInf}) {
      for (const Index at : {Index{0}, Index{61}, Index{119}}) {
        Tensor x = random_tensor(kShape, 5);
        x.mutable_data()[at] = bad;
        EXPECT_THROW(quantizer->observe(x), NumericError) << axis << ' ' << at;
        EXPECT_EQ(everything_in(*quantizer), before);
      }
    }
  }
}

TEST(QuantizerAxis, FakeQuantIsThatOfTheLastAxisOnThePermutedTensor) {
  const Tensor x = random_tensor(kShape, 6, -3.0F, 3.0F);
  const std::vector<Index> axes{0, 3, 2, 1};
  const auto quantizer = ready(LastValueQuantizer({.narrow_range = true, .axis = 1}), kShape);
  quantizer->observe(random_tensor(kShape, 7));
  const Tensor expected =
      permute(fake_quant_with_min_max_vars_per_channel(permute(x, axes), quantizer->min(),
                                                       quantizer->max(), 8, true),
              axes);
  expect_tensor(quantizer->fake_quant(x), kShape, values_of(expected));
  // The gradient passes where the value lies inside the range of its own channel.
  const Tensor gradient = gradient_of([&](const Tensor& t) { return quantizer->fake_quant(t); }, x);
  Index passed = 0;
  Index stopped = 0;
  for (Index i = 0; i < x.size(); ++i) {
    const Index c = i / 20 % 2;
    const float low = x.data()[i] - quantizer->min().data()[c];
    const float high = quantizer->max().data()[c] - x.data()[i];
    // The nudged ends lie less than a step from those of the range.
    if (std::abs(low) < 0.02F || std::abs(high) < 0.02F) continue;
    const bool inside = low > 0.0F && high > 0.0F;
    EXPECT_EQ(gradient.data()[i], inside ? 1.0F : 0.0F) << i;
    ++(inside ? passed : stopped);
  }
  EXPECT_GT(passed, 50);
  EXPECT_GT(stopped, 20);
}

TEST(QuantizerAxis, RefusesAnotherNumberOfChannels) {
  const auto quantizer = ready(LastValueQuantizer({.axis = 1}), {2, 3});
  expect_throws<InvalidArgument>(
      [&] {
        quantizer->observe(Tensor::zeros({2, 4}));
      },
      {"layer/tensor", "3 channels", "[2, 4]"});
  expect_throws<InvalidArgument>([&] { quantizer->observe(Tensor::zeros({3})); },
                                 {"layer/tensor", "3 channels"});
  quantizer->observe(Tensor::full({2, 3}, 1.0F));
  expect_throws<InvalidArgument>([&] { quantizer->fake_quant(Tensor::zeros({3})); },
                                 {"layer/tensor", "axis 1"});
  expect_throws<InvalidArgument>(
      [&] {
        quantizer->quantize_dequantize(Tensor::zeros({2, 3}));
      },
      {"layer/tensor", "one range", "fake_quant"});
}

}  // namespace
}  // namespace octet::test::quantizer_axis_test
