// The products of Backward::int8 against loops by their formulas.

#include <gtest/gtest.h>
#include <octet/core/kernels/isa.h>
#include <octet/core/ops/conv2d_internal.h>
#include <octet/core/parallel.h>
#include <octet/layers/quantize/int8_gradients.h>
#include <octet/tests/layers/quantize/int8_gradients_testing.h>
#include <octet/tests/layers/quantize/naive_int8_gradients.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace octet::test::int8_gradients_test {
namespace {

/// Sums of doubles may be rounded in another order.
void expect_near(const std::vector<float>& found, const std::vector<float>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  float largest = 0.0F;
  for (const float value : expected) largest = std::max(largest, std::abs(value));
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_NEAR(found[i], expected[i], 1e-6F * largest) << i;
  }
}

/// Calls body() with each code path that this processor can run.
template <class Body>
void on_each_path(const Body& body) {
  for (const KernelTable* table : available_kernels()) {
    force_kernels(table);
    SCOPED_TRACE(to_string(table->isa));
    body();
  }
  force_kernels(nullptr);
}

TEST(Int8Gradients, OfConvolutionsAreThoseOfTheFormulas) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Draw draw(seed);
    const Conv2DGeometry c = drawn_geometry(draw);
    const QuantParams params = QuantParams::per_tensor(0.02F, draw.between(-128, 127));
    const auto x = drawn_codes(c.input_shape().size(), draw);
    const auto kernel = drawn_codes(c.kernel_shape().size(), draw);
    const auto scales = drawn_scales(c.filters, draw);
    const Tensor g = drawn_gradient(c.output_shape(), draw);
    const std::vector<float> of_input = naive_input(c, g, kernel, scales);
    const std::vector<float> of_kernel = naive_kernel(c, x, params, g);
    SCOPED_TRACE(seed);
    std::vector<float> first;
    on_each_path([&] {
      const MeasuredGradient measured = measured_images(g);
      EXPECT_EQ(values_or_none(int8_input_gradient(c, measured, {kernel, scales}, {})), of_input);
      const auto found = values_or_none(int8_kernel_gradient(c, x, params, measured, {}, {}));
      if (first.empty()) first = found;
      EXPECT_EQ(found, first);
      expect_near(found, of_kernel);
    });
  }
}

TEST(Int8Gradients, OfDepthwiseConvolutionsAreThoseOfTheFormulas) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Draw draw(seed);
    const Conv2DGeometry c = drawn_depthwise(draw);
    const QuantParams params = QuantParams::per_tensor(0.02F, draw.between(-128, 127));
    const auto x = drawn_codes(c.input_shape().size(), draw);
    const auto kernel = drawn_codes(c.kernel_shape().size(), draw);
    const auto scales = drawn_scales(c.filters, draw);
    const Tensor g = drawn_gradient(c.output_shape(), draw);
    const Depthwise expected = naive_depthwise(c, x, params, g, kernel, scales);
    on_each_path([&] {
      for (const bool to_input : {true, false}) {
        const Int8Gradients found = int8_depthwise_gradients(
            c, measured_images(g), {kernel, scales}, {x, params, to_input, {}, {}, {}});
        EXPECT_EQ(values_or_none(found.input), to_input ? expected.input : std::vector<float>());
        EXPECT_EQ(values_or_none(found.kernel), expected.kernel) << seed;
      }
    });
  }
}

TEST(Int8Gradients, OfTransposedConvolutionsAreThoseOfTheFormulas) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Draw draw(seed);
    const Conv2DGeometry c = drawn_geometry(draw, 1);
    const QuantParams params = QuantParams::per_tensor(0.02F, draw.between(-128, 127));
    const auto x = drawn_codes(c.output_shape().size(), draw);
    const auto kernel = drawn_codes(c.kernel_shape().size(), draw);
    const auto scales = drawn_scales(c.channels, draw);
    const Tensor g = drawn_gradient(c.input_shape(), draw);
    const MeasuredGradient measured = measured_images(g);
    EXPECT_EQ(values_or_none(int8_transposed_input_gradient(c, measured, {kernel, scales}, {})),
              naive_transposed_input(c, g, kernel, scales))
        << seed;
    SCOPED_TRACE(seed);
    expect_near(values_or_none(int8_transposed_kernel_gradient(c, x, params, measured, {}, {})),
                naive_transposed_kernel(c, x, params, g));
  }
}

/// A product is a convolution of images of one pixel.
TEST(Int8Gradients, OfProductsAreThoseOfTheFormulas) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Draw draw(seed);
    const Conv2DGeometry c{.window = {},
                           .images = draw.between(1, 70),
                           .channels = draw.between(1, 80),
                           .filters = draw.between(1, 40)};
    const QuantParams params = QuantParams::per_tensor(0.02F, draw.between(-128, 127));
    const auto x = drawn_codes(c.images * c.channels, draw);
    const auto kernel = drawn_codes(c.channels * c.filters, draw);
    const auto scales = drawn_scales(c.filters, draw);
    const Tensor g = drawn_gradient({c.images, c.filters}, draw);
    const MeasuredGradient measured(g, draw.between(1, 40));
    EXPECT_EQ(
        values_or_none(int8_input_gradient(measured, packed_units(kernel, c.filters), scales, {})),
        naive_input(c, g, kernel, scales))
        << seed;
    Index finished = 0;
    const auto finish = [&](Index begin, Index end, float*) { finished += end - begin; };
    SCOPED_TRACE(seed);
    expect_near(values_or_none(int8_kernel_gradient(x, params, measured, {}, finish)),
                naive_kernel(c, x, params, g));
    EXPECT_EQ(finished, c.channels);
  }
}

/// The values of images [begin, end).
template <class T>
std::vector<T> of_images(std::span<const T> values, Index images, Index begin, Index end) {
  const std::size_t each = values.size() / static_cast<std::size_t>(images);
  const auto part = values.subspan(static_cast<std::size_t>(begin) * each,
                                   static_cast<std::size_t>(end - begin) * each);
  return {part.begin(), part.end()};
}

/// So many images that what is read of them at once, `of_image` of each, is a million and more.
template <class Gradient, class Naive>
void expect_sum_of_parts(Conv2DGeometry c, Index of_image, const Shape& x_shape,
                         const Shape& g_shape, const Gradient& gradient, const Naive& naive) {
  Draw draw(1);
  const Index first = (Index{1} << 20) / of_image;
  ASSERT_LT(first, c.images);
  const QuantParams params = QuantParams::per_tensor(0.02F, 5);
  const auto x = drawn_codes(x_shape.size(), draw);
  const Tensor g = drawn_gradient(g_shape, draw);
  std::vector<float> expected;
  for (const auto& [begin, end] : {std::pair(Index{0}, first), std::pair(first, c.images)}) {
    Conv2DGeometry part = c;
    part.images = end - begin;
    const Tensor rows =
        Tensor::from(g_shape.with_dim(0, part.images), of_images(g.span(), c.images, begin, end));
    const auto found =
        naive(part, of_images(std::span<const std::int8_t>(x), c.images, begin, end), params, rows);
    expected.resize(found.size());
    for (std::size_t i = 0; i < found.size(); ++i) expected[i] += found[i];
  }
  expect_near(values_or_none(gradient(x, params, g)), expected);
}

/// A gradient that sums to 0, as behind a batch normalization, and inputs far from 0: rounding the
/// sum would outweigh the product.
TEST(Int8Gradients, OfASumOfZeroIgnoreTheMeanOfTheInput) {
  Draw draw(1);
  const Index rows = 4096;
  const QuantParams params = QuantParams::per_tensor(0.02F, -128);
  std::vector<std::int8_t> x;
  for (Index i = 0; i < rows; ++i) x.push_back(static_cast<std::int8_t>(draw.between(90, 127)));
  std::vector<float> g;
  // One large value makes a coarse grid, on which most of the others are 0.
  for (Index i = 0; i < rows; ++i) g.push_back(i == 0 ? 40.0F : -40.0F / (rows - 1));
  double expected = 0.0;
  for (std::size_t i = 0; i < g.size(); ++i) expected += 0.02 * (x[i] + 128) * double{g[i]};
  const MeasuredGradient measured(Tensor::from({rows, 1}, g), 64);
  const Tensor found = int8_kernel_gradient(x, params, measured, {}, {});
  EXPECT_NEAR(found.item(), expected, 0.02);
}

TEST(Int8Gradients, OfManyImagesAreTheSumOfParts) {
  const WindowAxis axis = slide_window(8, 3, 1, 1, Padding::same);
  const Conv2DGeometry c{.window = {axis, axis}, .images = 500, .channels = 4, .filters = 3};
  const Index outputs = c.window.outputs();
  expect_sum_of_parts(
      c, c.patch() * outputs, c.input_shape(), c.output_shape(),
      [&](const auto& x, const QuantParams& params, const Tensor& g) {
        return int8_kernel_gradient(c, x, params, measured_images(g), {}, {});
      },
      naive_kernel);
  expect_sum_of_parts(
      c, c.patch() * outputs, c.output_shape(), c.input_shape(),
      [&](const auto& x, const QuantParams& params, const Tensor& g) {
        return int8_transposed_kernel_gradient(c, x, params, measured_images(g), {}, {});
      },
      naive_transposed_kernel);
}

TEST(Int8Gradients, AreZeroWhereScalesWouldLeaveFloat) {
  const Conv2DGeometry c{.window = {}, .images = 3, .channels = 2, .filters = 2};
  const Conv2DGeometry depthwise{
      .window = {}, .images = 3, .channels = 2, .filters = 2, .groups = 2};
  const QuantParams params = QuantParams::per_tensor(0.02F, 3);
  const std::vector<std::int8_t> codes(6, 1);
  const std::span<const std::int8_t> weights = std::span(codes).first(4);
  const std::vector<float> scales = {0.5F};
  const Tensor g = Tensor::from({3, 1, 1, 2}, {1e-40F, 0, 1e-38F, -1e-33F, 0, 1e-45F});
  // The sum of g is not rounded.
  const auto expect_zeros = [](const std::optional<Tensor>& found, float largest = 0.0F) {
    ASSERT_TRUE(found);
    for (const float value : found->span()) EXPECT_LE(std::abs(value), largest);
  };
  const MeasuredGradient measured = measured_images(g);
  expect_zeros(int8_input_gradient(c, measured, {weights, scales}, {}));
  expect_zeros(int8_kernel_gradient(c, codes, params, measured, {}, {}), 1e-34F);
  const Int8Gradients both = int8_depthwise_gradients(
      depthwise, measured, {weights.first(2), scales}, {codes, params, true, {}, {}, {}});
  expect_zeros(both.input);
  expect_zeros(both.kernel);
}

/// The rows of a product that padding makes of one image are more than a product takes.
TEST(Int8Gradients, AreNoneOfImagesWithMorePaddingThanAProductTakes) {
  const Conv2DGeometry c{.window = {slide_window(1, 5, 1, 1, Padding::same),
                                    slide_window(30000, 1, 1, 1, Padding::same)},
                         .images = 1};
  const std::vector<std::int8_t> x(30000, 1);
  EXPECT_FALSE(int8_kernel_gradient(c, x, QuantParams::per_tensor(0.02F, 3),
                                    measured_images(Tensor::zeros(c.output_shape())), {}, {}));
}

}  // namespace
}  // namespace octet::test::int8_gradients_test
