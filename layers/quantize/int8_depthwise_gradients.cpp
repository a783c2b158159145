#include <octet/core/buffer.h>
#include <octet/core/kernels/isa.h>
#include <octet/core/parallel.h>
#include <octet/layers/quantize/int8_gradients.h>
#include <octet/layers/quantize/int8_gradients_internal.h>
#include <octet/layers/quantize/real_sums.h>
#include <octet/runtime/operators/depthwise_conv_2d.h>

#include <algorithm>
#include <cassert>
#include <numeric>
#include <utility>

namespace octet {
namespace {

using detail::size_of;
using DepthwiseInt8Sums = detail::DepthwiseSums<std::int8_t, std::int32_t>;

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

/// The products of the gradient of an image's results and the kernel: the gradient of the image.
class InputProducts {
 public:
  InputProducts(const Conv2DGeometry& geometry, const QuantizedKernel& kernel)
      : geometry_(geometry.with_images(1)),
        scales_(size_of(geometry.filters)),
        products_({.window = {detail::back(geometry.window.y), detail::back(geometry.window.x)},
                   .images = 1,
                   .channels = geometry.filters,
                   .filters = geometry.filters,
                   .groups = geometry.filters},
                  detail::turned(kernel.values, geometry.window.taps(), geometry.filters),
                  std::vector<std::int32_t>(size_of(geometry.filters)), /*zero_point=*/0) {
    for (std::size_t u = 0; u < scales_.size(); ++u)
      scales_[u] = detail::scale_at(kernel.scales, u);
  }

  /// Writes the real values for quantized values g, whose units have `scales`.
  void write(const std::int8_t* g, std::span<const float> scales, float* image) const {
    const Index units = geometry_.filters;
    const Index of_channel = geometry_.filters_per_group();
    std::vector<float> factors = scales_;
    for (std::size_t u = 0; u < factors.size(); ++u) factors[u] *= scales[u];
    const RealForm real(std::move(factors), detail::kUnclamped);
    std::shared_ptr<const std::int8_t[]> apart;
    if (detail::is_spread(geometry_)) apart = detail::spread(geometry_, g);
    const auto write_block = [&](Index begin, Index end, FunctionRef<void(std::int32_t*)> sum) {
      const Index count = end - begin;
      const ScratchBuffer<std::int32_t, InputProducts> sums(size_of(count * units));
      sum(sums.data());
      float* out = image + begin * geometry_.channels;
      if (of_channel == 1) return real.write(sums.data(), units, count, 0, units, out, units);
      const ScratchBuffer<float, InputProducts> of_units(size_of(count * units));
      real.write(sums.data(), units, count, 0, units, of_units.data(), units);
      const float* from = of_units.data();
      for (Index i = 0; i < count * geometry_.channels; ++i, from += of_channel) {
        out[i] = std::accumulate(from, from + of_channel, 0.0F);
      }
    };
    products_.for_blocks(1, apart == nullptr ? g : apart.get(), write_block);
  }

 private:
  Conv2DGeometry geometry_;
  /// The scale of each unit's weights.
  std::vector<float> scales_;
  DepthwiseInt8Sums products_;
};

/// The sum of the gradients of all images, in their order, whichever threads they were on.
Tensor sum_of_images(const Shape& shape, const std::vector<float>& of_images) {
  Tensor result(shape);
  const std::span<float> to = result.mutable_span();
  std::copy_n(of_images.data(), to.size(), to.data());
  for (std::size_t at = to.size(); at < of_images.size(); at += to.size()) {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += of_images[at + i];
  }
  return result;
}

}  // namespace

Int8Gradients int8_depthwise_gradients(const Conv2DGeometry& geometry, const MeasuredGradient& g,
                                       const QuantizedKernel& kernel,
                                       const Int8Operands& operands) {
  const Index outputs = geometry.window.outputs();
  assert(g.block() == outputs);
  const Index image = geometry.window.inputs() * geometry.channels;
  const Index taps = geometry.window.taps();
  const Index units = geometry.filters;
  Int8Gradients result;
  if (operands.to_input) result.input = Tensor(geometry.input_shape());
  float* const to = operands.to_input ? result.input->mutable_data() : nullptr;
  const bool to_kernel = outputs <= detail::kMostExactRows;
  const KernelProducts kernel_products(geometry);
  const InputProducts input_products(geometry, kernel);
  std::vector<float> of_images(to_kernel ? size_of(geometry.images * taps * units) : 0);

  const auto run = [&](Index n) {
    const ScratchBuffer<std::int8_t, Int8Gradients> values(size_of(outputs * units));
    GradientRows rows = g.part(n * outputs, (n + 1) * outputs);
    detail::quantize_rows(rows, detail::reciprocals(rows.scales), operands.kernel_rounding,
                          values.data());
    if (to != nullptr) input_products.write(values.data(), rows.scales, to + n * image);
    if (!to_kernel) return;
    const ScratchBuffer<std::int32_t, KernelProducts> sums(size_of(taps * units));
    kernel_products.write(operands.x.data() + n * image, operands.params.zero_point(),
                          values.data(), sums.data());
    for (float& scale : rows.scales) scale *= operands.params.scale();
    RealForm(std::move(rows.scales), detail::kUnclamped)
        .write(sums.data(), units, taps, 0, units, of_images.data() + n * taps * units, units);
  };
  const auto images = size_of(geometry.images);
  const std::size_t least =
      parallel_grain(Work::integer_multiply_adds, size_of(outputs * units * taps));
  parallel_for(images, thread_share(images, least), [&](std::size_t begin, std::size_t end) {
    for (std::size_t n = begin; n < end; ++n) run(static_cast<Index>(n));
  });
  if (!to_kernel) return result;
  result.kernel = sum_of_images(geometry.kernel_shape(), of_images);
  if (operands.finish) operands.finish(0, taps, result.kernel->mutable_data());
  return result;
}

}  // namespace octet
