#include <octet/core/kernels/patches.h>
#include <octet/core/ops/shape_ops.h>
#include <octet/core/parallel.h>
#include <octet/layers/quantize/int8_gradients.h>
#include <octet/layers/quantize/int8_gradients_internal.h>
#include <octet/runtime/operators/conv_2d.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

namespace octet {
namespace detail {

Index images_at_once(const Conv2DGeometry& geometry, Index of_image) {
  constexpr Index kMostGathered = Index{1} << 20;
  const Index exact = kMostExactRows / geometry.window.outputs();
  return std::clamp<Index>(kMostGathered / of_image, 1, std::max<Index>(1, exact));
}

WindowAxis back(const WindowAxis& axis) {
  return {.input = (axis.output - 1) * axis.stride + 1,
          .kernel = axis.kernel,
          .stride = 1,
          .dilation = axis.dilation,
          .before = (axis.kernel - 1) * axis.dilation - axis.before,
          .output = axis.input};
}

std::vector<std::int8_t> spread(const Conv2DGeometry& geometry, std::vector<std::int8_t> values) {
  const WindowAxis& y = geometry.window.y;
  const WindowAxis& x = geometry.window.x;
  if (y.stride == 1 && x.stride == 1) return values;
  const Index height = back(y).input;
  const Index width = back(x).input;
  std::vector<std::int8_t> result(size_of(geometry.images * height * width * geometry.filters));
  const std::int8_t* from = values.data();
  for (Index n = 0; n < geometry.images; ++n) {
    for (Index oy = 0; oy < y.output; ++oy) {
      for (Index ox = 0; ox < x.output; ++ox, from += geometry.filters) {
        const Index pixel = (n * height + oy * y.stride) * width + ox * x.stride;
        std::memcpy(result.data() + pixel * geometry.filters, from, size_of(geometry.filters));
      }
    }
  }
  return result;
}

std::vector<std::int8_t> inputs_first(std::span<const std::int8_t> kernel, Index taps,
                                      Index units) {
  std::vector<std::int8_t> result(kernel.size());
  const Index inputs = static_cast<Index>(kernel.size()) / (taps * units);
  const std::int8_t* from = kernel.data();
  for (Index t = 0; t < taps; ++t) {
    for (Index i = 0; i < inputs; ++i, from += units) {
      std::memcpy(result.data() + (i * taps + t) * units, from, size_of(units));
    }
  }
  return result;
}

std::vector<std::int8_t> turned(std::span<const std::int8_t> kernel, Index taps, Index units) {
  std::vector<std::int8_t> result(kernel.size());
  const Index row = static_cast<Index>(kernel.size()) / taps;
  for (Index t = 0; t < taps; ++t) {
    std::memcpy(result.data() + (taps - 1 - t) * row, kernel.data() + t * row, size_of(row));
  }
  return inputs_first(result, taps, units);
}

}  // namespace detail

namespace {

using detail::size_of;

/// The first output whose tap k lies inside the image, and the one behind the last.
std::pair<Index, Index> outputs_inside(const WindowAxis& axis, Index k) {
  const Index offset = k * axis.dilation - axis.before;
  const Index begin = offset >= 0 ? 0 : divided_up(-offset, axis.stride);
  const Index end = axis.input <= offset ? 0 : divided_up(axis.input - offset, axis.stride);
  const Index last = std::min(end, axis.output);
  return {std::min(begin, last), last};
}

/// The taps of a convolution for some images, [patch, rows]: what lies outside is `zero`.
void gather_taps(const Conv2DGeometry& geometry, const std::int8_t* planes, Index images,
                 std::int8_t zero, std::int8_t* to) {
  const WindowAxis& y = geometry.window.y;
  const WindowAxis& x = geometry.window.x;
  const Index pixels = geometry.window.inputs();
  const Index outputs = geometry.window.outputs();
  const Index channels = geometry.channels;
  const auto gather = [&](Index tap, Index channel, std::int8_t* row) {
    const Index ky = tap / x.kernel;
    const Index kx = tap % x.kernel;
    const auto inside = outputs_inside(x, kx);
    for (Index n = 0; n < images; ++n) {
      const std::int8_t* const plane = planes + channel * images * pixels + n * pixels;
      for (Index oy = 0; oy < y.output; ++oy, row += x.output) {
        const Index iy = y.first(oy) + ky * y.dilation;
        if (iy < 0 || iy >= y.input) {
          std::fill_n(row, x.output, zero);
          continue;
        }
        const std::int8_t* const line = plane + iy * x.input;
        std::fill_n(row, inside.first, zero);
        if (x.stride == 1) {
          std::memcpy(row + inside.first, line + x.first(inside.first) + kx * x.dilation,
                      size_of(inside.second - inside.first));
        } else {
          for (Index ox = inside.first; ox < inside.second; ++ox) {
            row[ox] = line[x.first(ox) + kx * x.dilation];
          }
        }
        std::fill(row + inside.second, row + x.output, zero);
      }
    }
  };
  const Index rows = images * outputs;
  parallel_for(size_of(geometry.patch()), parallel_grain(Work::write_floats, size_of(rows)),
               [&](std::size_t begin, std::size_t end) {
                 for (auto i = static_cast<Index>(begin); i < static_cast<Index>(end); ++i) {
                   gather(i / channels, i % channels, to + i * rows);
                 }
               });
}

/// Computes the real values of the sums of quantized images: those of image n times scales[n].
/// `one` is the convolution of one image, with weights [filters, patch].
Tensor real_sums_of_images(const Conv2DGeometry& one, std::span<const std::int8_t> weights,
                           std::span<const std::int8_t> values, std::span<const float> scales) {
  const detail::ConvSums sums(one, detail::pack_groups(one, weights), {}, /*input_zero_point=*/0);
  const auto images = static_cast<Index>(scales.size());
  const Index outputs = one.window.outputs();
  const Index units = one.filters;
  Tensor result(one.output_shape().with_dim(0, images));
  float* const to = result.mutable_data();
  sums.sums(images, values.data(),
            [&](Index /*group*/, Index begin, Index end, std::int32_t* found) {
              for (Index i = begin; i < end; ++i, found += units) {
                const float scale = scales[size_of(i / outputs)];
                float* const out = to + i * units;
                for (std::size_t u = 0; u < size_of(units); ++u) {
                  out[u] = static_cast<float>(found[u]) * scale;
                }
              }
            });
  return result;
}

Conv2DGeometry with_images(Conv2DGeometry geometry, Index images) {
  geometry.images = images;
  return geometry;
}

/// The patches of all outputs, [rows, patch].
void gather_patches_of(const Conv2DGeometry& geometry, const float* images, float* patches) {
  const Index patch = geometry.patch();
  parallel_for(size_of(geometry.rows()), parallel_grain(Work::write_floats, size_of(patch)),
               [&](std::size_t first, std::size_t last) {
                 const auto begin = static_cast<Index>(first);
                 gather_rows(geometry, images, /*group=*/0, /*padding=*/0.0F, begin,
                             static_cast<Index>(last), patch, patches + begin * patch);
               });
}

}  // namespace

std::optional<Tensor> int8_input_gradient(const Conv2DGeometry& geometry, const Tensor& g,
                                          const QuantizedKernel& kernel,
                                          const GradientRounding& rounding) {
  assert(geometry.groups == 1);
  std::optional<detail::QuantizedGradient> quantized =
      detail::quantized_by(g.reshape({geometry.rows(), geometry.filters}), kernel.scales,
                           geometry.window.outputs(), rounding);
  if (!quantized) return std::nullopt;
  const Conv2DGeometry backwards{
      .window = {detail::back(geometry.window.y), detail::back(geometry.window.x)},
      .images = 1,
      .channels = geometry.filters,
      .filters = geometry.channels};
  return real_sums_of_images(
      backwards, detail::turned(kernel.values, geometry.window.taps(), geometry.filters),
      detail::spread(geometry, std::move(quantized->values)), quantized->scales);
}

std::optional<Tensor> int8_kernel_gradient(const Conv2DGeometry& geometry,
                                           std::span<const std::int8_t> x,
                                           const QuantParams& params, const Tensor& g,
                                           const GradientRounding& rounding,
                                           const FinishRows& finish) {
  assert(geometry.groups == 1);
  const Index pixels = geometry.window.inputs();
  const Index outputs = geometry.window.outputs();
  const Index patch = geometry.patch();
  if (outputs > detail::kMostExactRows) return std::nullopt;
  const Index together = detail::images_at_once(geometry, patch * outputs);
  Tensor result(geometry.kernel_shape());
  std::vector<std::int8_t> planes;
  std::vector<std::int8_t> taps;
  for (Index begin = 0; begin < geometry.images; begin += together) {
    const Index images = std::min(together, geometry.images - begin);
    planes.resize(size_of(geometry.channels * images * pixels));
    detail::transpose(x.data() + begin * pixels * geometry.channels, images * pixels,
                      geometry.channels, planes.data());
    const bool is_product = geometry.is_matrix_product();
    if (!is_product) {
      taps.resize(size_of(patch * images * outputs));
      gather_taps(geometry, planes.data(), images, static_cast<std::int8_t>(params.zero_point()),
                  taps.data());
    }
    const Index first = begin * outputs * geometry.filters;
    const detail::GradientRows part{g.data() + first, images * outputs, geometry.filters, first};
    if (!detail::add_products((is_product ? planes : taps).data(), patch, params, part, rounding,
                              result.mutable_data())) {
      return std::nullopt;
    }
  }
  if (finish) finish(0, patch, result.mutable_data());
  return result;
}

std::optional<Tensor> int8_transposed_input_gradient(const Conv2DGeometry& geometry,
                                                     const Tensor& g, const QuantizedKernel& kernel,
                                                     const GradientRounding& rounding) {
  const Index pixels = geometry.window.inputs();
  const Index units = geometry.channels;
  const std::optional<detail::QuantizedGradient> quantized = detail::quantized_by(
      g.reshape({geometry.images * pixels, units}), kernel.scales, pixels, rounding);
  if (!quantized) return std::nullopt;
  return real_sums_of_images(with_images(geometry, 1),
                             detail::inputs_first(kernel.values, geometry.window.taps(), units),
                             quantized->values, quantized->scales);
}

std::optional<Tensor> int8_transposed_kernel_gradient(const Conv2DGeometry& geometry,
                                                      std::span<const std::int8_t> x,
                                                      const QuantParams& params, const Tensor& g,
                                                      const GradientRounding& rounding,
                                                      const FinishRows& finish) {
  const Index outputs = geometry.window.outputs();
  const Index inputs = geometry.filters;
  const Index patch = geometry.patch();
  if (outputs > detail::kMostExactRows) return std::nullopt;
  const Index together = detail::images_at_once(geometry, patch * outputs);
  Tensor sums({inputs, geometry.window.taps(), geometry.channels});
  std::vector<std::int8_t> columns;
  std::vector<float> patches;
  for (Index begin = 0; begin < geometry.images; begin += together) {
    const Index images = std::min(together, geometry.images - begin);
    const Index rows = images * outputs;
    columns.resize(size_of(inputs * rows));
    detail::transpose(x.data() + begin * outputs * inputs, rows, inputs, columns.data());
    patches.resize(size_of(rows * patch));
    gather_patches_of(with_images(geometry, images),
                      g.data() + begin * geometry.window.inputs() * geometry.channels,
                      patches.data());
    const detail::GradientRows part{patches.data(), rows, patch, begin * outputs * patch};
    if (!detail::add_products(columns.data(), inputs, params, part, rounding,
                              sums.mutable_data())) {
      return std::nullopt;
    }
  }
  const WindowAxis& y = geometry.window.y;
  const WindowAxis& w = geometry.window.x;
  Tensor result = permute(sums, {1, 0, 2}).reshape({y.kernel, w.kernel, inputs, geometry.channels});
  if (finish) finish(0, geometry.window.taps() * inputs, result.mutable_data());
  return result;
}

}  // namespace octet
