// Gradients that are rounded at random: Backward::int8_stochastic.

#include <gtest/gtest.h>
#include <octet/core/ops/conv2d_internal.h>
#include <octet/core/ops/depthwise_conv2d_internal.h>
#include <octet/core/ops/shape_ops.h>
#include <octet/core/ops/transposed_conv2d_internal.h>
#include <octet/core/parallel.h>
#include <octet/layers/quantize/int8_gradients.h>
#include <octet/tests/core/keep_threads.h>
#include <octet/tests/layers/quantize/int8_gradients_testing.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace octet::test::int8_stochastic_test {
namespace {

using Found = std::optional<Tensor>;

/// A kind of products: its gradients on int8, and in floats.
struct Kind {
  std::string name;
  Conv2DGeometry geometry;
  bool transposed = false;
  std::function<Found(const Tensor& g, const QuantizedKernel&, const GradientRounding&)> input;
  std::function<Found(std::span<const std::int8_t> x, const QuantParams&, const Tensor& g,
                      const GradientRounding&)>
      kernel;
  std::function<Tensor(const Tensor& kernel, const Tensor& g)> float_input;
  std::function<Tensor(const Tensor& x, const Tensor& g)> float_kernel;

  Shape x_shape() const { return transposed ? geometry.output_shape() : geometry.input_shape(); }
  Shape g_shape() const { return transposed ? geometry.input_shape() : geometry.output_shape(); }
  Shape kernel_shape() const {
    const Shape shape = geometry.kernel_shape();
    return transposed ? Shape{shape[0], shape[1], shape[3], shape[2]} : shape;
  }
  Index units() const { return kernel_shape().dim(-1); }
};

Tensor swapped(const Tensor& kernel) { return permute(kernel, {0, 1, 3, 2}); }

Kind product() {
  const Conv2DGeometry c{.window = {}, .images = 7, .channels = 9, .filters = 5};
  const Shape rows{c.images, c.filters};
  return {
      "product",
      c,
      false,
      [=](const Tensor& g, const QuantizedKernel& kernel, const GradientRounding& rounding) {
        return int8_input_gradient(MeasuredGradient(g.reshape(rows), 3),
                                   packed_units(kernel.values, c.filters), kernel.scales, rounding);
      },
      [=](auto x, const auto& params, const Tensor& g, const auto& rounding) {
        return int8_kernel_gradient(x, params, MeasuredGradient(g.reshape(rows), 3), rounding, {});
      },
      [=](const Tensor& kernel, const Tensor& g) { return conv2d_input_gradient(c, kernel, g); },
      [=](const Tensor& x, const Tensor& g) { return conv2d_kernel_gradient(c, x, g); }};
}

Kind convolution() {
  Draw draw(3);
  const Conv2DGeometry c = drawn_geometry(draw);
  return {
      "convolution",
      c,
      false,
      [=](const Tensor& g, const QuantizedKernel& kernel, const GradientRounding& rounding) {
        return int8_input_gradient(c, measured_images(g), kernel, rounding);
      },
      [=](auto x, const auto& params, const Tensor& g, const auto& rounding) {
        return int8_kernel_gradient(c, x, params, measured_images(g), rounding, {});
      },
      [=](const Tensor& kernel, const Tensor& g) { return conv2d_input_gradient(c, kernel, g); },
      [=](const Tensor& x, const Tensor& g) { return conv2d_kernel_gradient(c, x, g); }};
}

Kind depthwise() {
  Draw draw(4);
  const Conv2DGeometry c = drawn_depthwise(draw);
  // The gradient that is not looked at is computed from zeros.
  const auto gradients = [=](std::span<const std::int8_t> x, const QuantParams& params,
                             const QuantizedKernel& kernel, const Tensor& g,
                             const GradientRounding& rounding) {
    return int8_depthwise_gradients(c, measured_images(g), kernel,
                                    {x, params, true, {}, rounding, {}});
  };
  const std::vector<std::int8_t> zeros(
      static_cast<std::size_t>(std::max(c.input_shape().size(), c.kernel_shape().size())));
  const std::vector<float> scales = {1.0F};
  return {
      "depthwise",
      c,
      false,
      [=](const Tensor& g, const QuantizedKernel& kernel, const GradientRounding& rounding) {
        return gradients(zeros, QuantParams::per_tensor(1.0F, 0), kernel, g, rounding).input;
      },
      [=](auto x, const auto& params, const Tensor& g, const auto& rounding) {
        return gradients(x, params,
                         {std::span(zeros).first(static_cast<std::size_t>(c.kernel_shape().size())),
                          scales},
                         g, rounding)
            .kernel;
      },
      [=](const Tensor& kernel, const Tensor& g) {
        return depthwise_conv2d_input_gradient(c, kernel, g);
      },
      [=](const Tensor& x, const Tensor& g) { return depthwise_conv2d_kernel_gradient(c, x, g); }};
}

Kind transposed() {
  Draw draw(5);
  const Conv2DGeometry c = drawn_geometry(draw, 1);
  return {"transposed",
          c,
          true,
          [=](const Tensor& g, const QuantizedKernel& kernel, const GradientRounding& rounding) {
            return int8_transposed_input_gradient(c, measured_images(g), kernel, rounding);
          },
          [=](auto x, const auto& params, const Tensor& g, const auto& rounding) {
            return int8_transposed_kernel_gradient(c, x, params, measured_images(g), rounding, {});
          },
          [=](const Tensor& kernel, const Tensor& g) {
            return transposed_conv2d_input_gradient(c, swapped(kernel), g);
          },
          [=](const Tensor& x, const Tensor& g) {
            return swapped(transposed_conv2d_kernel_gradient(c, x, g));
          }};
}

std::vector<Kind> all_kinds() { return {product(), convolution(), depthwise(), transposed()}; }

/// Operands of a kind.
struct Operands {
  std::vector<std::int8_t> x;
  QuantParams params;
  std::vector<std::int8_t> kernel;
  std::vector<float> scales;
  Tensor g;
};

Operands drawn_operands(const Kind& kind) {
  Draw draw(6);
  return {drawn_codes(kind.x_shape().size(), draw), QuantParams::per_tensor(0.02F, 17),
          drawn_codes(kind.kernel_shape().size(), draw), drawn_scales(kind.units(), draw),
          drawn_gradient(kind.g_shape(), draw)};
}

/// map(value, unit) of each.
template <class Values, class Map>
Tensor mapped(const Shape& shape, const Values& values, const Map& map) {
  Tensor result(shape);
  for (Index i = 0; i < shape.size(); ++i) {
    result.mutable_data()[i] = map(values[static_cast<std::size_t>(i)], i % shape.dim(-1), i);
  }
  return result;
}

/// The mean over many seeds lies within five standard deviations of `exact`; `variance` bounds that
/// of one gradient.
template <class Gradient>
void expect_mean(const Gradient& gradient, const Tensor& exact, const Tensor& variance) {
  constexpr std::uint64_t kSeeds = 400;
  std::vector<double> sums(static_cast<std::size_t>(exact.size()));
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const std::vector<float> found = values_or_none(gradient(Random(seed, 3)));
    ASSERT_EQ(found.size(), sums.size());
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += double{found[i]};
  }
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const double bound = 5.0 * std::sqrt(double{variance.span()[i]} / kSeeds);
    EXPECT_NEAR(sums[i] / kSeeds, double{exact.span()[i]}, bound) << "element " << i;
  }
}

/// The variance of a value that is rounded at random is at most a quarter of its step squared; sums
/// of independent ones have the sum of their variances.
TEST(Int8Stochastic, HasTheGradientInFloatsAsItsMean) {
  for (const Kind& kind : all_kinds()) {
    SCOPED_TRACE(kind.name);
    const Operands o = drawn_operands(kind);
    const auto step = [](float largest) { return largest / 127.0F; };
    const auto square = [](float v) { return v * v; };

    const auto weight_scale = [&](Index unit) { return scale_of(o.scales, unit); };
    const Index of_image = o.g.size() / kind.geometry.images;
    std::vector<float> of_images(static_cast<std::size_t>(kind.geometry.images));
    std::vector<float> of_units(static_cast<std::size_t>(kind.units()));
    const auto g = o.g.span();
    for (Index i = 0; i < o.g.size(); ++i) {
      const float value = std::abs(g[static_cast<std::size_t>(i)]);
      const Index unit = i % kind.units();
      float& image = of_images[static_cast<std::size_t>(i / of_image)];
      image = std::max(image, value * weight_scale(unit));
      float& column = of_units[static_cast<std::size_t>(unit)];
      column = std::max(column, value);
    }

    const auto weights = [&](bool squared) {
      return mapped(kind.kernel_shape(), o.kernel, [&](float code, Index unit, Index) {
        return squared ? code * code : code * weight_scale(unit);
      });
    };
    const Tensor image_variance = mapped(kind.g_shape(), g, [&](float, Index, Index i) {
      return square(step(of_images[static_cast<std::size_t>(i / of_image)])) / 4.0F;
    });
    expect_mean(
        [&](const Random& random) {
          return kind.input(o.g, {o.kernel, o.scales}, random);
        },
        kind.float_input(weights(false), o.g), kind.float_input(weights(true), image_variance));

    const auto inputs = [&](bool squared) {
      return mapped(kind.x_shape(), o.x, [&](float code, Index, Index) {
        const float real = (code - static_cast<float>(o.params.zero_point())) * o.params.scale();
        return squared ? real * real : real;
      });
    };
    const Tensor unit_variance = mapped(kind.g_shape(), g, [&](float, Index unit, Index) {
      return square(step(of_units[static_cast<std::size_t>(unit)])) / 4.0F;
    });
    expect_mean([&](const Random& random) { return kind.kernel(o.x, o.params, o.g, random); },
                kind.float_kernel(inputs(false), o.g),
                kind.float_kernel(inputs(true), unit_variance));
  }
}

TEST(Int8Stochastic, DependsOnItsRandomNumbersAlone) {
  const KeepThreads keep;
  for (const Kind& kind : all_kinds()) {
    SCOPED_TRACE(kind.name);
    const Operands o = drawn_operands(kind);
    const auto both = [&](const Random& random) {
      return std::pair(values_or_none(kind.input(o.g, {o.kernel, o.scales}, random)),
                       values_or_none(kind.kernel(o.x, o.params, o.g, random)));
    };
    const auto expected = both(Random(1));
    const auto other = both(Random(2));
    EXPECT_NE(other.first, expected.first);
    EXPECT_NE(other.second, expected.second);
    for (const int threads : {1, 2, 7}) {
      set_num_threads(threads);
      EXPECT_EQ(both(Random(1)), expected) << threads << " threads";
    }
  }
}

}  // namespace
}  // namespace octet::test::int8_stochastic_test
