// The products of Backward::int8 against loops by their formulas.

#include <gtest/gtest.h>
#include <octet/core/ops/conv2d_internal.h>
#include <octet/core/parallel.h>
#include <octet/layers/quantize/int8_gradients.h>
#include <octet/tests/core/draw.h>
#include <octet/tests/core/ops/op_testing.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace octet::test::int8_gradients_test {
namespace {

std::vector<std::int8_t> drawn_codes(Index size, Draw& draw) {
  std::vector<std::int8_t> codes(static_cast<std::size_t>(size));
  for (std::int8_t& code : codes) code = static_cast<std::int8_t>(draw.between(-128, 127));
  return codes;
}

std::vector<float> drawn_scales(Index units, Draw& draw) {
  std::vector<float> scales(static_cast<std::size_t>(draw.between(0, 1) == 0 ? 1 : units));
  for (float& scale : scales) scale = draw.uniform(0.001F, 0.1F);
  return scales;
}

Tensor drawn_gradient(const Shape& shape, Draw& draw) {
  Tensor g(shape);
  for (float& value : g.mutable_span()) {
    value = draw.between(0, 3) == 0 ? 0.0F : draw.uniform(-1e-3F, 1e-3F);
  }
  return g;
}

/// Values by the scale of the largest of them, as integers.
struct Coded {
  std::vector<std::int64_t> codes;
  float scale = 1.0F;
};

Coded coded(const std::vector<float>& values) {
  Coded result;
  float largest = 0.0F;
  for (const float value : values) largest = std::max(largest, std::abs(value));
  if (largest > 0.0F) result.scale = largest / 127.0F;
  for (const float value : values) {
    result.codes.push_back(std::lround(value * (1.0F / result.scale)));
  }
  return result;
}

float scale_of(const std::vector<float>& scales, Index unit) {
  return scales[scales.size() > 1 ? static_cast<std::size_t>(unit) : 0];
}

/// A convolution of drawn geometry, of one group.
Conv2DGeometry drawn_geometry(Draw& draw) {
  const auto axis = [&] {
    const auto padding = draw.between(0, 1) == 0 ? Padding::same : Padding::valid;
    return slide_window(draw.between(5, 9), draw.between(1, 3), draw.between(1, 2),
                        draw.between(1, 2), padding);
  };
  return {.window = {axis(), axis()},
          .images = draw.between(1, 4),
          .channels = draw.between(1, 5),
          .filters = draw.between(1, 6)};
}

/// Calls take(image, output, tap, place) for every tap that lies inside an image.
template <class Take>
void for_each_tap(const Conv2DGeometry& c, const Take& take) {
  const WindowAxis& y = c.window.y;
  const WindowAxis& x = c.window.x;
  for (Index n = 0; n < c.images; ++n) {
    for (Index o = 0; o < c.window.outputs(); ++o) {
      for (Index t = 0; t < c.window.taps(); ++t) {
        const Index iy = y.first(o / x.output) + t / x.kernel * y.dilation;
        const Index ix = x.first(o % x.output) + t % x.kernel * x.dilation;
        if (iy >= 0 && iy < y.input && ix >= 0 && ix < x.input) take(n, o, t, iy * x.input + ix);
      }
    }
  }
}

/// The gradient of the input: rows of g of one image share a scale.
std::vector<float> naive_input(const Conv2DGeometry& c, const Tensor& g,
                               const std::vector<std::int8_t>& kernel,
                               const std::vector<float>& scales) {
  const Index outputs = c.window.outputs() * c.filters;
  std::vector<std::vector<Coded>> images;
  std::vector<std::int64_t> sums(static_cast<std::size_t>(c.input_shape().size()));
  std::vector<Coded> rows;
  for (Index n = 0; n < c.images; ++n) {
    std::vector<float> values;
    for (Index i = 0; i < outputs; ++i) {
      values.push_back(g.span()[static_cast<std::size_t>(n * outputs + i)] *
                       scale_of(scales, i % c.filters));
    }
    rows.push_back(coded(values));
  }
  for_each_tap(c, [&](Index n, Index o, Index t, Index place) {
    for (Index ch = 0; ch < c.channels; ++ch) {
      for (Index u = 0; u < c.filters; ++u) {
        const std::int8_t w =
            kernel[static_cast<std::size_t>((t * c.channels + ch) * c.filters + u)];
        sums[static_cast<std::size_t>((n * c.window.inputs() + place) * c.channels + ch)] +=
            rows[static_cast<std::size_t>(n)].codes[static_cast<std::size_t>(o * c.filters + u)] *
            w;
      }
    }
  });
  std::vector<float> result;
  const auto of_image = static_cast<std::size_t>(c.window.inputs() * c.channels);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    result.push_back(static_cast<float>(sums[i]) * rows[i / of_image].scale);
  }
  return result;
}

/// The gradient of the kernel: each unit of g has a scale.
std::vector<float> naive_kernel(const Conv2DGeometry& c, const std::vector<std::int8_t>& x,
                                const QuantParams& params, const Tensor& g) {
  std::vector<float> result(static_cast<std::size_t>(c.kernel_shape().size()));
  for (Index u = 0; u < c.filters; ++u) {
    std::vector<float> values;
    for (Index i = u; i < g.size(); i += c.filters) {
      values.push_back(g.span()[static_cast<std::size_t>(i)]);
    }
    const Coded column = coded(values);
    std::vector<std::int64_t> sums(static_cast<std::size_t>(c.patch()));
    for_each_tap(c, [&](Index n, Index o, Index t, Index place) {
      for (Index ch = 0; ch < c.channels; ++ch) {
        const std::int8_t code =
            x[static_cast<std::size_t>((n * c.window.inputs() + place) * c.channels + ch)];
        sums[static_cast<std::size_t>(t * c.channels + ch)] +=
            (code - params.zero_point()) *
            column.codes[static_cast<std::size_t>(n * c.window.outputs() + o)];
      }
    });
    for (std::size_t i = 0; i < sums.size(); ++i) {
      result[i * static_cast<std::size_t>(c.filters) + static_cast<std::size_t>(u)] =
          static_cast<float>(sums[i]) * (column.scale * params.scale());
    }
  }
  return result;
}

std::vector<float> values_of(const std::optional<Tensor>& tensor) {
  if (!tensor) return {};
  return {tensor->span().begin(), tensor->span().end()};
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
    EXPECT_EQ(values_of(int8_input_gradient(c, g, {kernel, scales})),
              naive_input(c, g, kernel, scales))
        << seed;
    EXPECT_EQ(values_of(int8_kernel_gradient(c, x, params, g, {})), naive_kernel(c, x, params, g))
        << seed;
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
    EXPECT_EQ(values_of(int8_input_gradient(g, {kernel, scales})),
              naive_input(c, g, kernel, scales))
        << seed;
    Index finished = 0;
    const auto finish = [&](Index begin, Index end, float*) { finished += end - begin; };
    EXPECT_EQ(values_of(int8_kernel_gradient(x, params, g, finish)), naive_kernel(c, x, params, g))
        << seed;
    EXPECT_EQ(finished, c.channels);
  }
}

/// So many images that their taps are a million and more.
TEST(Int8Gradients, OfManyImagesAreTheSumOfParts) {
  Draw draw(1);
  const WindowAxis axis = slide_window(8, 3, 1, 1, Padding::same);
  Conv2DGeometry c{.window = {axis, axis}, .images = 500, .channels = 4, .filters = 3};
  const Index first = (Index{1} << 20) / (c.patch() * c.window.outputs());
  ASSERT_LT(first, c.images);
  const QuantParams params = QuantParams::per_tensor(0.02F, 5);
  const auto x = drawn_codes(c.input_shape().size(), draw);
  const Tensor g = drawn_gradient(c.output_shape(), draw);
  std::vector<float> expected(static_cast<std::size_t>(c.kernel_shape().size()));
  const auto add = [&](Index begin, Index end) {
    Conv2DGeometry part = c;
    part.images = end - begin;
    const auto at = static_cast<std::size_t>(begin * c.window.inputs() * c.channels);
    const auto size = static_cast<std::size_t>(part.input_shape().size());
    const Tensor rows = Tensor::from(
        part.output_shape(),
        g.span().subspan(static_cast<std::size_t>(begin * c.window.outputs() * c.filters),
                         static_cast<std::size_t>(part.output_shape().size())));
    const auto found = naive_kernel(part,
                                    {x.begin() + static_cast<std::ptrdiff_t>(at),
                                     x.begin() + static_cast<std::ptrdiff_t>(at + size)},
                                    params, rows);
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += found[i];
  };
  add(0, first);
  add(first, c.images);
  EXPECT_EQ(values_of(int8_kernel_gradient(c, x, params, g, {})), expected);
}

TEST(Int8Gradients, AreNoneWhereAValueIsNotFinite) {
  const QuantParams params = QuantParams::per_tensor(0.02F, 3);
  const std::vector<std::int8_t> codes(12, 1);
  const std::vector<float> scales = {0.5F};
  for (const float bad : {std::numeric_limits<float>::infinity(), std::nanf("")}) {
    const Tensor g = Tensor::from({3, 2}, {1, 2, bad, 4, 5, 6});
    EXPECT_FALSE(int8_input_gradient(g, {std::span(codes).first(8), scales}));
    EXPECT_FALSE(int8_kernel_gradient(codes, params, g, {}));
  }
}

}  // namespace
}  // namespace octet::test::int8_gradients_test
