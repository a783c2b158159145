#include <octet/core/buffer.h>
#include <octet/core/kernels/isa.h>
#include <octet/core/parallel.h>
#include <octet/layers/quantize/int8_gradients.h>
#include <octet/layers/quantize/int8_gradients_internal.h>
#include <octet/runtime/operators/depthwise_conv_2d.h>

#include <algorithm>
#include <mutex>
#include <numeric>
#include <utility>

namespace octet {
namespace {

using detail::size_of;
using DepthwiseInt8Sums = detail::DepthwiseSums<std::int8_t, std::int32_t>;

/// The convolution of an image whose outputs are a kernel's gradient, with the gradient of the
/// results as its kernel: what moves from output to output there moves from tap to tap here.
WindowAxis of_kernel(const WindowAxis& axis) {
  return {.input = axis.input,
          .kernel = axis.output,
          .stride = axis.dilation,
          .dilation = axis.stride,
          .before = axis.before,
          .output = axis.kernel};
}

/// Adds up, for each tap and unit, the products of the images x and of g, a row for each output,
/// in quantized values; `factors` are 1 / scale of each unit.
std::vector<std::int32_t> sums_of_taps(const Conv2DGeometry& geometry, const std::int8_t* x,
                                       std::int32_t zero_point, const detail::GradientRows& g,
                                       std::span<const float> factors,
                                       const GradientRounding& rounding) {
  const Index units = geometry.filters;
  const Index outputs = geometry.window.outputs();
  const std::size_t size = size_of(outputs * units);
  const Conv2DGeometry one{.window = {of_kernel(geometry.window.y), of_kernel(geometry.window.x)},
                           .images = 1,
                           .channels = geometry.channels,
                           .filters = units,
                           .groups = geometry.groups};
  const std::vector<std::int32_t> start(size_of(units));
  std::vector<std::int32_t> result(size_of(geometry.window.taps() * units));
  std::mutex mutex;
  const auto add_images = [&](Index begin, Index end) {
    std::vector<float> scaled(size);
    std::vector<std::int8_t> kernel(size);
    std::vector<std::int32_t> sums(result.size());
    std::vector<std::int32_t> of_image(result.size());
    for (Index n = begin; n < end; ++n) {
      detail::write_scaled(g, factors, rounding, n * outputs, (n + 1) * outputs, scaled.data());
      kernels().passes.quantize_away(scaled.data(), size, detail::gradient_grid(1.0F),
                                     kernel.data());
      const DepthwiseInt8Sums products(one, kernel, start, zero_point);
      products.for_blocks(1, x + n * geometry.window.inputs() * geometry.channels,
                          [&](Index first, Index, FunctionRef<void(std::int32_t*)> write) {
                            write(of_image.data() + first * units);
                          });
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += of_image[i];
    }
    const std::lock_guard guard(mutex);
    for (std::size_t i = 0; i < sums.size(); ++i) result[i] += sums[i];
  };
  const auto images = size_of(geometry.images);
  const std::size_t products = size * size_of(geometry.window.taps());
  parallel_for(images, thread_share(images, parallel_grain(Work::integer_multiply_adds, products)),
               [&](std::size_t begin, std::size_t end) {
                 add_images(static_cast<Index>(begin), static_cast<Index>(end));
               });
  return result;
}

}  // namespace

std::optional<Tensor> int8_depthwise_input_gradient(const Conv2DGeometry& geometry, const Tensor& g,
                                                    const QuantizedKernel& kernel,
                                                    const GradientRounding& rounding) {
  const Index units = geometry.filters;
  std::optional<detail::QuantizedGradient> quantized = detail::quantized_by(
      g.reshape({geometry.rows(), units}), kernel.scales, geometry.window.outputs(), rounding);
  if (!quantized) return std::nullopt;
  const Conv2DGeometry backwards{
      .window = {detail::back(geometry.window.y), detail::back(geometry.window.x)},
      .images = 1,
      .channels = units,
      .filters = units,
      .groups = units};
  const std::vector<std::int32_t> start(size_of(units));
  const DepthwiseInt8Sums sums(backwards,
                               detail::turned(kernel.values, geometry.window.taps(), units), start,
                               /*zero_point=*/0);
  const std::vector<std::int8_t> images = detail::spread(geometry, std::move(quantized->values));
  const Index pixels = geometry.window.inputs();
  const Index of_channel = geometry.filters_per_group();
  Tensor result(geometry.input_shape());
  float* const to = result.mutable_data();
  // A block is part of one image.
  const auto write_block = [&](Index begin, Index end, FunctionRef<void(std::int32_t*)> write) {
    const ScratchBuffer<std::int32_t, DepthwiseInt8Sums> found(size_of((end - begin) * units));
    write(found.data());
    const Index count = (end - begin) * geometry.channels;
    if (of_channel > 1) {
      for (Index i = 0; i < count; ++i) {
        const std::int32_t* const first = found.data() + i * of_channel;
        found.data()[i] = std::accumulate(first, first + of_channel, 0);
      }
    }
    const float scale = quantized->scales[size_of(begin / pixels)];
    float* const out = to + begin * geometry.channels;
    for (Index i = 0; i < count; ++i) out[i] = static_cast<float>(found.data()[i]) * scale;
  };
  sums.for_blocks(geometry.images, images.data(), write_block);
  return result;
}

std::optional<Tensor> int8_depthwise_kernel_gradient(const Conv2DGeometry& geometry,
                                                     std::span<const std::int8_t> x,
                                                     const QuantParams& params, const Tensor& g,
                                                     const GradientRounding& rounding,
                                                     const FinishRows& finish) {
  const Index units = geometry.filters;
  const Index outputs = geometry.window.outputs();
  if (outputs > detail::kMostExactRows) return std::nullopt;
  const Index together = detail::images_at_once(geometry, outputs * units);
  Tensor result(geometry.kernel_shape());
  float* const to = result.mutable_data();
  for (Index begin = 0; begin < geometry.images; begin += together) {
    Conv2DGeometry part = geometry;
    part.images = std::min(together, geometry.images - begin);
    const Index first = begin * outputs * units;
    const detail::GradientRows rows{g.data() + first, part.rows(), units, first};
    const std::optional<std::vector<float>> scales = detail::column_scales(rows);
    if (!scales) return std::nullopt;
    const std::vector<std::int32_t> sums =
        sums_of_taps(part, x.data() + begin * geometry.window.inputs() * geometry.channels,
                     params.zero_point(), rows, detail::reciprocals(*scales), rounding);
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const float scale = (*scales)[i % size_of(units)] * params.scale();
      to[i] = (begin == 0 ? 0.0F : to[i]) + static_cast<float>(sums[i]) * scale;
    }
  }
  if (finish) finish(0, geometry.window.taps(), to);
  return result;
}

}  // namespace octet
