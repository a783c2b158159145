#include <octet/core/buffer.h>
#include <octet/core/kernels/isa.h>
#include <octet/core/parallel.h>
#include <octet/layers/quantize/int8_gradients.h>
#include <octet/layers/quantize/int8_gradients_internal.h>
#include <octet/layers/quantize/real_sums.h>
#include <octet/runtime/operators/depthwise_conv_2d.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <utility>

namespace octet {
namespace {

using detail::size_of;
using DepthwiseInt8Sums = detail::DepthwiseSums<std::int8_t, std::int32_t>;

/// Calls body(image, scales, values) for each image of g with its quantized values, each unit of
/// which has a scale, on several threads. False where a value is not finite.
bool for_each_quantized_image(
    const Conv2DGeometry& geometry, const Tensor& g, const GradientRounding& rounding,
    FunctionRef<void(Index image, std::span<const float> scales, const std::int8_t* values)> body) {
  const Index outputs = geometry.window.outputs();
  const auto images = size_of(geometry.images);
  const std::size_t products = size_of(outputs * geometry.filters * geometry.window.taps());
  std::atomic<bool> finite = true;
  const auto run = [&](std::size_t begin, std::size_t end) {
    const ScratchBuffer<std::int8_t, DepthwiseInt8Sums> values(size_of(outputs * geometry.filters));
    for (auto n = static_cast<Index>(begin); n < static_cast<Index>(end); ++n) {
      const detail::GradientRows rows{g.data() + n * outputs * geometry.filters, outputs,
                                      geometry.filters, n * outputs * geometry.filters};
      const std::optional<std::vector<float>> scales = detail::column_scales(rows);
      if (!scales) {
        finite = false;
        return;
      }
      detail::quantize_rows(rows, detail::reciprocals(*scales), rounding, values.data());
      body(n, *scales, values.data());
    }
  };
  parallel_for(images, thread_share(images, parallel_grain(Work::integer_multiply_adds, products)),
               run);
  return finite;
}

/// The products of an image and of the gradient of its results, two outputs at a time: pairs of
/// values are one multiplication.
class KernelProducts {
 public:
  explicit KernelProducts(const Conv2DGeometry& geometry)
      : geometry_(geometry),
        pairs_(divided_up(geometry.window.x.output, 2)),
        places_((pairs_ - 1) * 2 * x().stride + (x().kernel - 1) * x().dilation + 1),
        lines_((y().output - 1) * y().stride + (y().kernel - 1) * y().dilation + 1) {
    const Index units = geometry.filters;
    for (Index k = 0; k < geometry.window.taps(); ++k) {
      const Index line = k / x().kernel * y().dilation;
      taps_.push_back({(line * places_ + k % x().kernel * x().dilation) * units, k * units});
    }
  }

  /// Writes the sums [taps, units] of an image, whose pixels are less the zero point, and g.
  void write(const std::int8_t* image, std::int32_t zero_point, const std::int8_t* g,
             std::int32_t* sums) const {
    const Index units = geometry_.filters;
    const ScratchBuffer<std::int32_t, KernelProducts> pixels(size_of(lines_ * places_ * units));
    const ScratchBuffer<std::int32_t, struct GradientPairs> gradients(
        size_of(y().output * pairs_ * units));
    write_pixels(image, zero_point, pixels.data());
    write_gradients(g, gradients.data());
    std::fill_n(sums, geometry_.window.taps() * units, 0);
    kernels().passes.depthwise_code_products({.x = pixels.data(),
                                              .x_line = y().stride * places_ * units,
                                              .x_step = 2 * x().stride * units,
                                              .g = gradients.data(),
                                              .g_line = pairs_ * units,
                                              .g_step = units,
                                              .lines = y().output,
                                              .outputs = pairs_,
                                              .channels = units,
                                              .taps = taps_.data(),
                                              .count = static_cast<Index>(taps_.size()),
                                              .sums = sums});
  }

 private:
  const WindowAxis& y() const { return geometry_.window.y; }
  const WindowAxis& x() const { return geometry_.window.x; }

  /// Each pixel that a tap of an output reads, with that of the next output; 0 outside the image.
  void write_pixels(const std::int8_t* image, std::int32_t zero_point, std::int32_t* to) const {
    const Index units = geometry_.filters;
    const Index width = places_ + x().stride;
    const ScratchBuffer<std::int16_t, KernelProducts> line(size_of(width * units));
    const Index begin = std::clamp<Index>(-x().first(0), 0, width);
    const Index end = std::clamp<Index>(x().input - x().first(0), begin, width);
    std::fill_n(line.data(), width * units, std::int16_t{0});
    for (Index i = 0; i < lines_; ++i, to += places_ * units) {
      const Index at = y().first(0) + i;
      if (at < 0 || at >= y().input) {
        std::fill_n(to, places_ * units, 0);
        continue;
      }
      write_line(image + (at * x().input + x().first(0) + begin) * geometry_.channels, end - begin,
                 zero_point, line.data() + begin * units);
      kernels().passes.pair_codes(line.data(), line.data() + x().stride * units,
                                  size_of(places_ * units), to);
    }
  }

  /// Pixels less the zero point, every channel as often as it has units.
  void write_line(const std::int8_t* pixels, Index count, std::int32_t zero_point,
                  std::int16_t* to) const {
    const Index repeats = geometry_.filters_per_group();
    if (repeats == 1) {
      return kernels().passes.shifted_codes(pixels, size_of(count * geometry_.channels), zero_point,
                                            to);
    }
    for (Index i = 0; i < count * geometry_.channels; ++i) {
      to = std::fill_n(to, repeats, static_cast<std::int16_t>(pixels[i] - zero_point));
    }
  }

  /// Each second output with the next one, 0 behind the last of a line.
  void write_gradients(const std::int8_t* g, std::int32_t* to) const {
    const Index units = geometry_.filters;
    const Index width = x().output * units;
    const ScratchBuffer<std::int16_t, KernelProducts> line(size_of(2 * pairs_ * units));
    std::fill_n(line.data(), 2 * pairs_ * units, std::int16_t{0});
    for (Index i = 0; i < y().output; ++i, g += width) {
      kernels().passes.shifted_codes(g, size_of(width), 0, line.data());
      const std::int16_t* from = line.data();
      for (Index p = 0; p < pairs_; ++p, from += 2 * units, to += units) {
        kernels().passes.pair_codes(from, from + units, size_of(units), to);
      }
    }
  }

  Conv2DGeometry geometry_;
  Index pairs_;
  /// Pairs of pixels of a line, and lines.
  Index places_;
  Index lines_;
  std::vector<DepthwiseTap> taps_;
};

/// to [count, units] = sums times the scale of each unit.
void write_real(const std::int32_t* sums, Index count, std::vector<float> scales, float* to) {
  const RealForm real(std::move(scales), detail::kUnclamped);
  real.write(sums, real.width(), count, 0, real.width(), to, real.width());
}

}  // namespace

std::optional<Tensor> int8_depthwise_input_gradient(const Conv2DGeometry& geometry, const Tensor& g,
                                                    const QuantizedKernel& kernel,
                                                    const GradientRounding& rounding) {
  const Index units = geometry.filters;
  const Index of_channel = geometry.filters_per_group();
  const Conv2DGeometry backwards{
      .window = {detail::back(geometry.window.y), detail::back(geometry.window.x)},
      .images = 1,
      .channels = units,
      .filters = units,
      .groups = units};
  const std::vector<std::int32_t> start(size_of(units));
  const DepthwiseInt8Sums products(
      backwards, detail::turned(kernel.values, geometry.window.taps(), units), start,
      /*zero_point=*/0);
  Conv2DGeometry one = geometry;
  one.images = 1;
  Tensor result(geometry.input_shape());
  float* const to = result.mutable_data();
  const auto write_image = [&](Index n, std::span<const float> scales, const std::int8_t* values) {
    std::vector<float> factors(scales.begin(), scales.end());
    for (std::size_t u = 0; u < factors.size(); ++u)
      factors[u] *= detail::scale_at(kernel.scales, u);
    std::shared_ptr<const std::int8_t[]> apart;
    if (detail::is_spread(one)) apart = detail::spread(one, values);
    float* const image = to + n * geometry.window.inputs() * geometry.channels;
    products.for_blocks(
        1, apart == nullptr ? values : apart.get(),
        [&](Index begin, Index end, FunctionRef<void(std::int32_t*)> write) {
          const ScratchBuffer<std::int32_t, KernelProducts> sums(size_of((end - begin) * units));
          write(sums.data());
          float* out = image + begin * geometry.channels;
          if (of_channel == 1) return write_real(sums.data(), end - begin, factors, out);
          const ScratchBuffer<float, KernelProducts> of_units(size_of((end - begin) * units));
          write_real(sums.data(), end - begin, factors, of_units.data());
          const float* from = of_units.data();
          for (Index i = 0; i < (end - begin) * geometry.channels; ++i, from += of_channel) {
            out[i] = std::accumulate(from, from + of_channel, 0.0F);
          }
        });
  };
  if (!for_each_quantized_image(geometry, g, rounding, write_image)) return std::nullopt;
  return result;
}

std::optional<Tensor> int8_depthwise_kernel_gradient(const Conv2DGeometry& geometry,
                                                     std::span<const std::int8_t> x,
                                                     const QuantParams& params, const Tensor& g,
                                                     const GradientRounding& rounding,
                                                     const FinishRows& finish) {
  if (geometry.window.outputs() > detail::kMostExactRows) return std::nullopt;
  const KernelProducts products(geometry);
  const Index image = geometry.window.inputs() * geometry.channels;
  const auto size = size_of(geometry.window.taps() * geometry.filters);
  // Added up in the order of images, whichever threads they were on.
  std::vector<float> of_images(size_of(geometry.images) * size);
  const auto write_image = [&](Index n, std::span<const float> scales, const std::int8_t* values) {
    const ScratchBuffer<std::int32_t, struct SumsOfImage> sums(size);
    products.write(x.data() + n * image, params.zero_point(), values, sums.data());
    std::vector<float> factors(scales.begin(), scales.end());
    for (float& factor : factors) factor *= params.scale();
    write_real(sums.data(), geometry.window.taps(), std::move(factors),
               of_images.data() + size_of(n) * size);
  };
  if (!for_each_quantized_image(geometry, g, rounding, write_image)) return std::nullopt;
  Tensor result(geometry.kernel_shape());
  float* const to = result.mutable_data();
  std::copy_n(of_images.data(), size, to);
  for (std::size_t at = size; at < of_images.size(); at += size) {
    for (std::size_t i = 0; i < size; ++i) to[i] += of_images[at + i];
  }
  if (finish) finish(0, geometry.window.taps(), to);
  return result;
}

}  // namespace octet
