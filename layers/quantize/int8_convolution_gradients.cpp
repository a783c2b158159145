#include <octet/core/buffer.h>
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

bool is_spread(const Conv2DGeometry& geometry) {
  return geometry.window.y.stride > 1 || geometry.window.x.stride > 1;
}

std::shared_ptr<const std::int8_t[]> spread(const Conv2DGeometry& geometry,
                                            const std::int8_t* values) {
  const WindowAxis& y = geometry.window.y;
  const WindowAxis& x = geometry.window.x;
  const Index height = back(y).input;
  const Index width = back(x).input;
  const std::size_t size = size_of(geometry.images * height * width * geometry.filters);
  auto result = allocate_array<std::int8_t>(size);
  std::fill_n(result.get(), size, std::int8_t{0});
  const std::int8_t* from = values;
  for (Index n = 0; n < geometry.images; ++n) {
    for (Index oy = 0; oy < y.output; ++oy) {
      for (Index ox = 0; ox < x.output; ++ox, from += geometry.filters) {
        const Index pixel = (n * height + oy * y.stride) * width + ox * x.stride;
        std::memcpy(result.get() + pixel * geometry.filters, from, size_of(geometry.filters));
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

/// Computes the real values of the sums of quantized images: those of image n times scales[n].
/// `one` is the convolution of one image, with weights [filters, patch].
Tensor real_sums_of_images(const Conv2DGeometry& one, std::span<const std::int8_t> weights,
                           const std::int8_t* values, std::span<const float> scales) {
  const detail::ConvSums sums(one, detail::pack_groups(one, weights), {}, /*input_zero_point=*/0);
  const auto images = static_cast<Index>(scales.size());
  const Index outputs = one.window.outputs();
  const Index units = one.filters;
  Tensor result(one.output_shape().with_dim(0, images));
  float* const to = result.mutable_data();
  sums.sums(images, values, [&](Index /*group*/, Index begin, Index end, std::int32_t* found) {
    for (Index i = begin; i < end;) {
      const Index image = i / outputs;
      const Index count = std::min(end, (image + 1) * outputs) - i;
      detail::write_real({found, size_of(count * units)}, scales[size_of(image)], to + i * units);
      i += count;
      found += count * units;
    }
  });
  return result;
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

Tensor int8_input_gradient(const Conv2DGeometry& geometry, const MeasuredGradient& g,
                           const QuantizedKernel& kernel, const GradientRounding& rounding) {
  assert(geometry.groups == 1 && g.block() == geometry.window.outputs());
  const detail::QuantizedGradient quantized = detail::quantized_blocks(g, kernel.scales, rounding);
  const Conv2DGeometry backwards{
      .window = {detail::back(geometry.window.y), detail::back(geometry.window.x)},
      .images = 1,
      .channels = geometry.filters,
      .filters = geometry.channels};
  std::shared_ptr<const std::int8_t[]> images = quantized.values;
  if (detail::is_spread(geometry)) images = detail::spread(geometry, images.get());
  return real_sums_of_images(
      backwards, detail::turned(kernel.values, geometry.window.taps(), geometry.filters),
      images.get(), quantized.scales);
}

std::optional<Tensor> int8_kernel_gradient(const Conv2DGeometry& geometry,
                                           std::span<const std::int8_t> x,
                                           const QuantParams& params, const MeasuredGradient& g,
                                           const GradientRounding& rounding,
                                           const FinishRows& finish) {
  assert(geometry.groups == 1);
  const Index outputs = geometry.window.outputs();
  const Index patch = geometry.patch();
  if (outputs > detail::kMostExactRows) return std::nullopt;
  const Index together = std::min(detail::images_at_once(geometry, patch * outputs),
                                  detail::TapPlanes::most_images(geometry));
  if (together == 0) return std::nullopt;
  Tensor result(geometry.kernel_shape());
  for (Index begin = 0; begin < geometry.images; begin += together) {
    const Conv2DGeometry some = geometry.with_images(std::min(together, geometry.images - begin));
    detail::TapPlanes planes(some);
    const Index of_image = geometry.window.inputs() * geometry.channels;
    const auto images = x.subspan(size_of(begin * of_image), size_of(some.images * of_image));
    const detail::InputRows inputs =
        planes.fill(images.data(), static_cast<std::int8_t>(params.zero_point()));
    const GradientRows part = g.part(begin * outputs, begin * outputs + some.rows());
    detail::add_products(inputs, params,
                         detail::column_means(images, geometry.channels, params.zero_point()), part,
                         planes.rows(), rounding, result.mutable_data());
  }
  if (finish) finish(0, patch, result.mutable_data());
  return result;
}

Tensor int8_transposed_input_gradient(const Conv2DGeometry& geometry, const MeasuredGradient& g,
                                      const QuantizedKernel& kernel,
                                      const GradientRounding& rounding) {
  assert(g.block() == geometry.window.inputs());
  const detail::QuantizedGradient quantized = detail::quantized_blocks(g, kernel.scales, rounding);
  return real_sums_of_images(
      geometry.with_images(1),
      detail::inputs_first(kernel.values, geometry.window.taps(), geometry.channels),
      quantized.values.get(), quantized.scales);
}

std::optional<Tensor> int8_transposed_kernel_gradient(
    const Conv2DGeometry& geometry, std::span<const std::int8_t> x, const QuantParams& params,
    const MeasuredGradient& g, const GradientRounding& rounding, const FinishRows& finish) {
  const Index outputs = geometry.window.outputs();
  const Index inputs = geometry.filters;
  const Index patch = geometry.patch();
  if (outputs > detail::kMostExactRows) return std::nullopt;
  const Index together = detail::images_at_once(geometry, patch * outputs);
  Tensor sums({inputs, geometry.window.taps(), geometry.channels});
  for (Index begin = 0; begin < geometry.images; begin += together) {
    const Index images = std::min(together, geometry.images - begin);
    const Index rows = images * outputs;
    Tensor patches({rows, patch});
    gather_patches_of(geometry.with_images(images),
                      g.values().data() + begin * geometry.window.inputs() * geometry.channels,
                      patches.mutable_data());
    GradientRows part = MeasuredGradient(patches, outputs).all();
    part.first = begin * outputs * patch;
    detail::add_products(x.subspan(size_of(begin * outputs * inputs), size_of(rows * inputs)),
                         params, part, rounding, sums.mutable_data());
  }
  const WindowAxis& y = geometry.window.y;
  const WindowAxis& w = geometry.window.x;
  Tensor result = permute(sums, {1, 0, 2}).reshape({y.kernel, w.kernel, inputs, geometry.channels});
  if (finish) finish(0, geometry.window.taps() * inputs, result.mutable_data());
  return result;
}

}  // namespace octet
