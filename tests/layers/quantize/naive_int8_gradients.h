#pragma once

// The products of Backward::int8 as loops by the formulas of docs/backward.md.

#include <octet/core/conv2d_geometry.h>
#include <octet/core/quant/quant_params.h>
#include <octet/core/tensor.h>
#include <octet/tests/layers/quantize/int8_gradients_testing.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace octet::test {

/// Values by the scale of the largest of them, as integers.
struct Coded {
  std::vector<std::int64_t> codes;
  float scale = 1.0F;
};

/// Codes of values times their factors.
inline Coded coded(const std::vector<float>& values, const std::vector<float>& factors = {}) {
  Coded result;
  const auto factor = [&](std::size_t i) { return factors.empty() ? 1.0F : factors[i]; };
  float largest = 0.0F;
  for (std::size_t i = 0; i < values.size(); ++i) {
    largest = std::max(largest, std::abs(values[i] * factor(i)));
  }
  if (largest > 1e-30F) result.scale = largest / 127.0F;
  for (std::size_t i = 0; i < values.size(); ++i) {
    result.codes.push_back(std::lround(values[i] * (factor(i) * (1.0F / result.scale))));
  }
  return result;
}

/// Returns what a row of a kernel's gradient gets for the rounding of the sum of g: the mean of its
/// input, less the zero point, times what the sum of the values has lost.
inline float made_up(const std::vector<std::int8_t>& x, Index columns, Index column,
                     const QuantParams& params, const std::vector<float>& values,
                     const Coded& found) {
  double sum = 0.0;
  for (Index i = column; i < static_cast<Index>(x.size()); i += columns) {
    sum += x[static_cast<std::size_t>(i)];
  }
  double lost = 0.0;
  for (const float value : values) lost += double{value};
  for (const std::int64_t code : found.codes)
    lost -= double{found.scale} * static_cast<double>(code);
  const double mean = sum * static_cast<double>(columns) / static_cast<double>(x.size());
  return static_cast<float>((mean - params.zero_point()) * lost * double{params.scale()});
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

/// Quantized values of g of each image, of each pixel's value times the scale of its unit.
inline std::vector<Coded> coded_images(const Tensor& g, Index images,
                                       const std::vector<float>& scales) {
  const Index units = g.dim(-1);
  const Index of_image = g.size() / images;
  std::vector<Coded> result;
  for (Index n = 0; n < images; ++n) {
    std::vector<float> values;
    std::vector<float> factors;
    for (Index i = 0; i < of_image; ++i) {
      values.push_back(g.span()[static_cast<std::size_t>(n * of_image + i)]);
      factors.push_back(scale_of(scales, i % units));
    }
    result.push_back(coded(values, factors));
  }
  return result;
}

/// The gradient of the input: rows of g of one image share a scale.
inline std::vector<float> naive_input(const Conv2DGeometry& c, const Tensor& g,
                                      const std::vector<std::int8_t>& kernel,
                                      const std::vector<float>& scales) {
  const std::vector<Coded> images = coded_images(g, c.images, scales);
  std::vector<std::int64_t> sums(static_cast<std::size_t>(c.input_shape().size()));
  for_each_tap(c, [&](Index n, Index o, Index t, Index place) {
    for (Index i = 0; i < c.channels; ++i) {
      for (Index u = 0; u < c.filters; ++u) {
        const std::int8_t w =
            kernel[static_cast<std::size_t>((t * c.channels + i) * c.filters + u)];
        const Index pixel = n * c.window.inputs() + place;
        sums[static_cast<std::size_t>(pixel * c.channels + i)] +=
            images[static_cast<std::size_t>(n)].codes[static_cast<std::size_t>(o * c.filters + u)] *
            w;
      }
    }
  });
  std::vector<float> result;
  const auto of_image = static_cast<std::size_t>(c.window.inputs() * c.channels);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    result.push_back(static_cast<float>(sums[i]) * images[i / of_image].scale);
  }
  return result;
}

/// The gradient of the kernel: each unit of g has a scale.
inline std::vector<float> naive_kernel(const Conv2DGeometry& c, const std::vector<std::int8_t>& x,
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
      for (Index i = 0; i < c.channels; ++i) {
        const Index pixel = n * c.window.inputs() + place;
        const std::int8_t code = x[static_cast<std::size_t>(pixel * c.channels + i)];
        sums[static_cast<std::size_t>(t * c.channels + i)] +=
            (code - params.zero_point()) *
            column.codes[static_cast<std::size_t>(n * c.window.outputs() + o)];
      }
    });
    for (std::size_t i = 0; i < sums.size(); ++i) {
      result[i * static_cast<std::size_t>(c.filters) + static_cast<std::size_t>(u)] =
          static_cast<float>(sums[i]) * (column.scale * params.scale()) +
          made_up(x, c.channels, static_cast<Index>(i) % c.channels, params, values, column);
    }
  }
  return result;
}

/// Both gradients of a depthwise convolution: each unit of each image of g has a scale.
struct Depthwise {
  std::vector<float> input;
  std::vector<float> kernel;
};

inline Depthwise naive_depthwise(const Conv2DGeometry& c, const std::vector<std::int8_t>& x,
                                 const QuantParams& params, const Tensor& g,
                                 const std::vector<std::int8_t>& kernel,
                                 const std::vector<float>& scales) {
  const Index of_channel = c.filters_per_group();
  const Index outputs = c.window.outputs();
  Depthwise result{std::vector<float>(static_cast<std::size_t>(c.input_shape().size())),
                   std::vector<float>(static_cast<std::size_t>(c.kernel_shape().size()))};
  Conv2DGeometry one = c;
  one.images = 1;
  for (Index n = 0; n < c.images; ++n) {
    for (Index u = 0; u < c.filters; ++u) {
      std::vector<float> values;
      for (Index o = 0; o < outputs; ++o) {
        values.push_back(g.span()[static_cast<std::size_t>((n * outputs + o) * c.filters + u)]);
      }
      const Coded column = coded(values);
      std::vector<std::int64_t> of_pixels(static_cast<std::size_t>(c.window.inputs()));
      std::vector<std::int64_t> of_taps(static_cast<std::size_t>(c.window.taps()));
      for_each_tap(one, [&](Index, Index o, Index t, Index place) {
        const std::int64_t code = column.codes[static_cast<std::size_t>(o)];
        const Index pixel = (n * c.window.inputs() + place) * c.channels + u / of_channel;
        of_pixels[static_cast<std::size_t>(place)] +=
            code * kernel[static_cast<std::size_t>(t * c.filters + u)];
        of_taps[static_cast<std::size_t>(t)] +=
            code * (x[static_cast<std::size_t>(pixel)] - params.zero_point());
      });
      for (Index p = 0; p < c.window.inputs(); ++p) {
        const Index pixel = (n * c.window.inputs() + p) * c.channels + u / of_channel;
        result.input[static_cast<std::size_t>(pixel)] +=
            static_cast<float>(of_pixels[static_cast<std::size_t>(p)]) *
            (column.scale * scale_of(scales, u));
      }
      for (Index t = 0; t < c.window.taps(); ++t) {
        result.kernel[static_cast<std::size_t>(t * c.filters + u)] +=
            static_cast<float>(of_taps[static_cast<std::size_t>(t)]) *
            (column.scale * params.scale());
      }
    }
  }
  return result;
}

/// The gradient of what a transposed convolution reads; `c` leads from its results back to that.
inline std::vector<float> naive_transposed_input(const Conv2DGeometry& c, const Tensor& g,
                                                 const std::vector<std::int8_t>& kernel,
                                                 const std::vector<float>& scales) {
  const std::vector<Coded> images = coded_images(g, c.images, scales);
  std::vector<std::int64_t> sums(static_cast<std::size_t>(c.output_shape().size()));
  for_each_tap(c, [&](Index n, Index o, Index t, Index place) {
    for (Index i = 0; i < c.filters; ++i) {
      for (Index u = 0; u < c.channels; ++u) {
        sums[static_cast<std::size_t>((n * c.window.outputs() + o) * c.filters + i)] +=
            images[static_cast<std::size_t>(n)]
                .codes[static_cast<std::size_t>(place * c.channels + u)] *
            kernel[static_cast<std::size_t>((t * c.filters + i) * c.channels + u)];
      }
    }
  });
  std::vector<float> result;
  const auto of_image = static_cast<std::size_t>(c.window.outputs() * c.filters);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    result.push_back(static_cast<float>(sums[i]) * images[i / of_image].scale);
  }
  return result;
}

/// The gradient of its kernel: what one tap reads of one unit of g has a scale.
inline std::vector<float> naive_transposed_kernel(const Conv2DGeometry& c,
                                                  const std::vector<std::int8_t>& x,
                                                  const QuantParams& params, const Tensor& g) {
  const Index taps = c.window.taps();
  std::vector<float> result(static_cast<std::size_t>(c.kernel_shape().size()));
  // Output and pixel of each product of a tap.
  std::vector<std::vector<std::pair<Index, Index>>> products(static_cast<std::size_t>(taps));
  for_each_tap(c, [&](Index n, Index o, Index t, Index place) {
    products[static_cast<std::size_t>(t)].emplace_back(n * c.window.outputs() + o,
                                                       n * c.window.inputs() + place);
  });
  for (Index tap = 0; tap < taps; ++tap) {
    const auto& of_tap = products[static_cast<std::size_t>(tap)];
    for (Index u = 0; u < c.channels; ++u) {
      std::vector<float> values;
      values.reserve(of_tap.size());
      for (const auto& [output, pixel] : of_tap) {
        values.push_back(g.span()[static_cast<std::size_t>(pixel * c.channels + u)]);
      }
      const Coded column = coded(values);
      for (Index i = 0; i < c.filters; ++i) {
        std::int64_t sum = 0;
        for (std::size_t k = 0; k < of_tap.size(); ++k) {
          const std::int8_t code = x[static_cast<std::size_t>(of_tap[k].first * c.filters + i)];
          sum += (code - params.zero_point()) * column.codes[k];
        }
        result[static_cast<std::size_t>((tap * c.filters + i) * c.channels + u)] =
            static_cast<float>(sum) * (column.scale * params.scale()) +
            made_up(x, c.filters, i, params, values, column);
      }
    }
  }
  return result;
}

}  // namespace octet::test
