#include <fmt/format.h>
#include <octet/core/autograd.h>
#include <octet/core/buffer.h>
#include <octet/core/error.h>
#include <octet/core/kernels/correlate_f32.h>
#include <octet/core/kernels/gemm.h>
#include <octet/core/kernels/isa.h>
#include <octet/core/ops/activation.h>
#include <octet/core/ops/conv2d_internal.h>
#include <octet/core/ops/depthwise_conv2d.h>
#include <octet/core/ops/elementwise.h>
#include <octet/core/ops/partial_sums.h>
#include <octet/core/ops/reduce.h>
#include <octet/core/ops/window_internal.h>
#include <octet/core/parallel.h>
#include <octet/core/quant/quantize.h>
#include <octet/core/tensor_internal.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <vector>

namespace octet {
namespace {

/// Row `row` of the group's part of a matrix [rows, channels], or [rows, filters].
template <class T>
T* channels_of(const Conv2DGeometry& s, T* x, Index group, Index row = 0) {
  return x + row * s.channels + group * s.channels_per_group();
}
template <class T>
T* filters_of(const Conv2DGeometry& s, T* y, Index group, Index row = 0) {
  return y + row * s.filters + group * s.filters_per_group();
}

/// The fewest rows whose products justify waking a thread.
Index row_grain(const Conv2DGeometry& s) {
  const auto products = static_cast<std::size_t>(s.patch() * s.filters_per_group());
  return static_cast<Index>(parallel_grain(Work::float_multiply_adds, products));
}

/// Lines of images [height, width, channels], from the first channel of the group on.
template <class T>
PixelsOf<T> pixels_of(T* x, const Window& window, Index channels, bool outputs) {
  const Index line = (outputs ? window.x.output : window.x.input) * channels;
  return {x, (outputs ? window.y.output : window.y.input) * line, line, channels};
}

/// Runs a correlation over all lines, on several threads; `done(begin, end)`, if given, is called
/// for rows of the result while they are in the cache.
void run_lines(const Conv2DGeometry& s, const CorrelationF32& correlation,
               const PixelsOf<const float>& in, const PixelsOf<float>& out,
               FunctionRef<void(Index begin, Index end)> done = {}) {
  const auto lines = static_cast<std::size_t>(s.images * correlation.lines());
  if (lines == 0) return;
  const auto least = static_cast<std::size_t>(divided_up(row_grain(s), s.window.x.output));
  const auto line_done = [&](Index image, Index begin, Index end) {
    const Index first = image * s.window.y.output;
    if (done) done((first + begin) * s.window.x.output, (first + end) * s.window.x.output);
  };
  parallel_for(lines, thread_share(lines, least), [&](std::size_t begin, std::size_t end) {
    correlation.run(in, static_cast<Index>(begin), static_cast<Index>(end), out, line_done);
  });
}

void convolve(const Conv2DGeometry& s, const float* x, const float* kernel, Index group, float* y,
              FunctionRef<void(Index begin, Index end)> done) {
  const Index filters = s.filters_per_group();
  const float* const weights = filters_of(s, kernel, group);
  if (s.window.is_pointwise()) {
    std::atomic<bool> by_columns = false;
    gemm_f32(s.rows(), filters, s.patch(), {channels_of(s, x, group), s.channels},
             {weights, s.filters}, filters_of(s, y, group), s.filters, false,
             [&](const GemmBlock& block) {
               if (block.j1 - block.j0 < filters) {
                 by_columns = true;
               } else if (done) {
                 done(block.i0, block.i1);
               }
             });
    if (by_columns && done) done(0, s.rows());
    return;
  }
  const CorrelationF32 correlation(CorrelationAxis::forward(s.window.y),
                                   CorrelationAxis::forward(s.window.x),
                                   {.data = weights,
                                    .taps_x = s.window.x.kernel,
                                    .tap = s.channels_per_group() * s.filters,
                                    .channel = s.filters,
                                    .column = 1,
                                    .channels = s.channels_per_group(),
                                    .columns = filters});
  run_lines(s, correlation, pixels_of(channels_of(s, x, group), s.window, s.channels, false),
            pixels_of(filters_of(s, y, group), s.window, s.filters, true), done);
}

void propagate(const Conv2DGeometry& s, const float* kernel, const float* g, Index group,
               float* dx) {
  const Index filters = s.filters_per_group();
  const float* const weights = filters_of(s, kernel, group);
  if (s.window.is_pointwise()) {
    return gemm_f32(s.rows(), s.patch(), filters, {filters_of(s, g, group), s.filters},
                    {weights, s.filters, Transpose::yes}, channels_of(s, dx, group), s.channels);
  }
  // Pixels whose distance is a multiple of the stride read the same taps.
  for (Index y = 0; y < std::min(s.window.y.stride, s.window.y.input); ++y) {
    for (Index x = 0; x < std::min(s.window.x.stride, s.window.x.input); ++x) {
      const CorrelationF32 correlation(CorrelationAxis::backward(s.window.y, y),
                                       CorrelationAxis::backward(s.window.x, x),
                                       {.data = weights,
                                        .taps_x = s.window.x.kernel,
                                        .tap = s.channels_per_group() * s.filters,
                                        .channel = 1,
                                        .column = s.filters,
                                        .channels = filters,
                                        .columns = s.channels_per_group()});
      run_lines(s, correlation, pixels_of(filters_of(s, g, group), s.window, s.filters, true),
                pixels_of(channels_of(s, dx, group), s.window, s.channels, false));
    }
  }
}

/// Writes the products of rows [begin, end) to the group's columns of a kernel's gradient.
void correlate(const Conv2DGeometry& s, const float* x, const float* g, Index group, Index begin,
               Index end, float* kernel) {
  if (!s.window.is_pointwise()) {
    return correlate_gradients_f32(s, group, x, g, begin, end, kernel);
  }
  gemm_f32(s.patch(), s.filters_per_group(), end - begin,
           {channels_of(s, x, group, begin), s.channels, Transpose::yes},
           {filters_of(s, g, group, begin), s.filters}, filters_of(s, kernel, group), s.filters);
}

void check_kernel(const Tensor& x, const Tensor& kernel, Index groups) {
  const Shape& images = x.shape();
  const Shape& shape = kernel.shape();
  if (shape.rank() != 4 || shape.size() == 0) {
    throw InvalidArgument(fmt::format(
        "conv2d: expected a kernel [kh, kw, c / groups, filters] of extents of 1 or more, found "
        "shape {}",
        shape.to_string()));
  }
  if (groups < 1 || images[3] % groups != 0 || shape[3] % groups != 0) {
    throw InvalidArgument(
        fmt::format("conv2d: expected groups that divide the {} channels of images {} and the {} "
                    "filters of kernel {}, found {}",
                    images[3], images.to_string(), shape[3], shape.to_string(), groups));
  }
  const Index channels = images[3] / groups;
  if (shape[2] == channels) return;
  const char* hint =
      shape[1] == channels    ? "; a kernel [filters, c, kh, kw]? permute(kernel, {2, 3, 1, 0})"
      : images[1] == shape[2] ? "; images [n, c, h, w]? permute(x, {0, 2, 3, 1})"
      : shape[2] == images[3] ? "; with groups, a filter reads the channels of its group only"
      : groups == 1 && channels % shape[2] == 0 ? "; groups left out?"
                                                : "";
  throw InvalidArgument(fmt::format(
      "conv2d: expected a kernel of {} input channels for images {} in {} groups, found shape {}{}",
      channels, images.to_string(), groups, shape.to_string(), hint));
}

}  // namespace

Conv2DGeometry conv2d_geometry(const Tensor& x, const Tensor& kernel,
                               const Conv2DOptions& options) {
  check_images("conv2d", x);
  check_kernel(x, kernel, options.groups);
  const Shape& shape = kernel.shape();
  return {.window = window_over("conv2d", x, {shape[0], shape[1]}, options.stride, options.dilation,
                                options.padding),
          .images = x.dim(0),
          .channels = x.dim(3),
          .filters = shape[3],
          .groups = options.groups};
}

Tensor conv2d_result(const Conv2DGeometry& geometry, const Tensor& x, const Tensor& kernel) {
  Tensor y(geometry.output_shape());
  for (Index group = 0; group < geometry.groups; ++group) {
    convolve(geometry, x.data(), kernel.data(), group, y.data(), {});
  }
  return y;
}

Tensor conv2d_input_gradient(const Conv2DGeometry& geometry, const Tensor& kernel,
                             const Tensor& g) {
  Tensor dx(geometry.input_shape());
  for (Index group = 0; group < geometry.groups; ++group) {
    propagate(geometry, kernel.data(), g.data(), group, dx.data());
  }
  return dx;
}

Tensor conv2d_kernel_gradient(const Conv2DGeometry& geometry, const Tensor& x, const Tensor& g) {
  // Of codes that have not become floats, a part becomes floats in the cache where it reads its own
  // pixels alone.
  const bool reads_codes =
      geometry.window.is_pointwise() && detail::TensorAccess::pending(x) != nullptr;
  const auto codes = reads_codes ? detail::TensorAccess::codes(x) : nullptr;
  const float* pixels = codes == nullptr ? x.data() : nullptr;
  const float* upstream = g.data();
  const auto add_rows = [&](const float* images, Index begin, Index end, float* sums) {
    for (Index group = 0; group < geometry.groups; ++group) {
      correlate(geometry, images, upstream, group, begin, end, sums);
    }
  };
  return sum_of_parts(geometry.kernel_shape(), geometry.rows(),
                      [&](Index begin, Index end, float* sums) {
                        if (codes == nullptr) return add_rows(pixels, begin, end, sums);
                        const Index first = begin * geometry.channels;
                        const auto size = static_cast<std::size_t>(end * geometry.channels - first);
                        const ScratchBuffer<float, struct PixelsOfCodes> part(size);
                        dequantize({codes.get() + first, size}, *detail::TensorAccess::grid(x),
                                   {part.data(), size});
                        add_rows(part.data() - first, begin, end, sums);
                      });
}

SumsGradient window_gradient_of_lines(const Tensor& y, const Tensor& g, Index pixels,
                                      const GradientWindow& window, const Tensor& to) {
  constexpr Index kEnoughColumns = 32;
  const Index units = y.dim(1);
  if (pixels == 1 || units >= kEnoughColumns) return window_gradient(y, g, window, to);
  const Shape lines{y.dim(0) / pixels, pixels * units};
  SumsGradient wide =
      window_gradient(y.reshape(lines), g.reshape(lines), window, to.reshape(lines));
  Tensor bias({units});
  for (Index j = 0; j < units; ++j) {
    double total = 0.0;
    for (Index p = 0; p < pixels; ++p) total += double{wide.bias.data()[p * units + j]};
    bias.data()[j] = static_cast<float>(total);
  }
  return {wide.sums.reshape(y.shape()), bias};
}

namespace {

/// depthwise_conv2d() is what as many groups as channels are.
Tensor convolve_channels(const Tensor& x, const Tensor& kernel, const Conv2DGeometry& geometry,
                         const Conv2DOptions& options) {
  const Shape shape{kernel.dim(0), kernel.dim(1), geometry.channels, geometry.filters_per_group()};
  return depthwise_conv2d(
      x, kernel.reshape(shape),
      {.stride = options.stride, .dilation = options.dilation, .padding = options.padding});
}

Tensor activated(const Tensor& x, FusedActivation activation) {
  if (activation == FusedActivation::none) return x;
  const RealLimits limits = real_limits(activation);
  return activation == FusedActivation::relu ? relu(x) : clamp(x, limits.lo, limits.hi);
}

void check_bias(const Tensor& bias, const Tensor& kernel) {
  if (!bias.defined() || bias.shape() == Shape{kernel.dim(3)}) return;
  throw InvalidArgument(fmt::format("conv2d: expected a bias of shape {}, one per filter, found {}",
                                    Shape{kernel.dim(3)}.to_string(), bias.shape().to_string()));
}

/// clamp(y + bias) for rows of results, line by line.
class Finish {
 public:
  Finish(const Conv2DGeometry& s, const Tensor& bias, const RealLimits& limits, float* y)
      : line_(static_cast<std::size_t>(s.window.x.output * s.filters)),
        filters_(s.filters),
        limits_(limits),
        y_(y) {
    for (std::size_t i = 0; bias.defined() && i < line_.size(); i += bias.span().size()) {
      std::ranges::copy(bias.span(), line_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  void operator()(Index begin, Index end) const {
    const auto step = static_cast<Index>(line_.size());
    const Index last = end * filters_;
    for (Index i = begin * filters_; i < last; i += step) {
      kernels().passes.add_bias(y_ + i, static_cast<std::size_t>(std::min(step, last - i)),
                                line_.data(), limits_.lo, limits_.hi);
    }
  }

 private:
  /// The bias of every value of a line.
  std::vector<float> line_;
  Index filters_;
  RealLimits limits_;
  float* y_;
};

}  // namespace

Tensor conv2d(const Tensor& x, const Tensor& kernel, const Conv2DOptions& options) {
  return conv2d(x, kernel, Tensor(), FusedActivation::none, options);
}

Tensor conv2d(const Tensor& x, const Tensor& kernel, const Tensor& bias, FusedActivation activation,
              const Conv2DOptions& options) {
  const Conv2DGeometry geometry = conv2d_geometry(x, kernel, options);
  check_bias(bias, kernel);
  if (geometry.groups > 1 && geometry.groups == geometry.channels) {
    const Tensor y = convolve_channels(x, kernel, geometry, options);
    return activated(bias.defined() ? y + bias : y, activation);
  }
  Tensor y(geometry.output_shape());
  const bool clamps = activation != FusedActivation::none;
  const RealLimits limits = real_limits(activation);
  const Finish finish(geometry, bias, limits, y.data());
  for (Index group = 0; group < geometry.groups; ++group) {
    const bool finishes = (bias.defined() || clamps) && group + 1 == geometry.groups;
    convolve(
        geometry, x.data(), kernel.data(), group, y.data(),
        finishes ? FunctionRef<void(Index, Index)>(finish) : FunctionRef<void(Index, Index)>());
  }
  const auto backward = [geometry, x, kernel, bias, clamps, limits,
                         result = clamps ? y.detach() : Tensor()](const Tensor& g) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const Shape rows{geometry.rows(), geometry.filters};
    const GradientWindow window{-kInfinity, kInfinity, limits.lo, limits.hi};
    SumsGradient passed{g, Tensor()};
    if (clamps) {
      const Tensor to = writable_gradient(g).reshape(rows);
      passed = window_gradient_of_lines(result.reshape(rows), g.reshape(rows),
                                        geometry.window.x.output, window, to);
    } else if (bias.requires_grad()) {
      passed.bias = sum(g, {0, 1, 2});
    }
    std::vector<Tensor> gradients(3);
    if (x.requires_grad()) gradients[0] = conv2d_input_gradient(geometry, kernel, passed.sums);
    if (kernel.requires_grad()) gradients[1] = conv2d_kernel_gradient(geometry, x, passed.sums);
    if (bias.requires_grad()) gradients[2] = passed.bias;
    return gradients;
  };
  return record("conv2d", y, {x, kernel, bias}, backward,
                clamps ? BackwardReads::inputs_and_result : BackwardReads::inputs);
}

}  // namespace octet
