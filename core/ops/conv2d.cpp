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
#include <optional>
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

/// The rows of a block that stays in the second-level cache, with the sums of a kernel's gradient,
/// which are added to block by block; none where kernels are large or outputs read several pixels.
std::optional<Index> block_rows(const Conv2DGeometry& s) {
  constexpr Index kLeastRows = 64;
  constexpr Index kFloats = Index{1} << 14;
  if (!s.window.is_pointwise() || s.kernel_shape().size() > kFloats) return std::nullopt;
  return std::max(kLeastRows, kFloats / std::max(s.channels, s.filters));
}

/// convolve() of all groups for rows x that are computed where they are read.
void convolve_rows(const Conv2DGeometry& s, const TensorRows& x, const float* kernel, Index block,
                   float* y, FunctionRef<void(Index begin, Index end)> done) {
  const auto count = static_cast<std::size_t>(s.rows());
  const Index filters = s.filters_per_group();
  const auto run_block = [&](Index begin, Index end) {
    const ScratchBuffer<float, TensorRows> memory(x.scratch(end - begin));
    const float* const rows = x.read(begin, end, memory.data());
    for (Index group = 0; group < s.groups; ++group) {
      gemm_f32(end - begin, filters, s.patch(), {channels_of(s, rows, group), s.channels},
               {filters_of(s, kernel, group), s.filters}, filters_of(s, y, group, begin),
               s.filters);
    }
    if (done) done(begin, end);
  };
  parallel_for(count, thread_share(count, static_cast<std::size_t>(row_grain(s))),
               [&](std::size_t first, std::size_t last) {
                 for (auto row = static_cast<Index>(first); row < static_cast<Index>(last);
                      row += block) {
                   run_block(row, std::min(static_cast<Index>(last), row + block));
                 }
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
/// A pointwise one adds them to what has `begun`.
void correlate(const Conv2DGeometry& s, const float* x, const float* g, Index group, Index begin,
               Index end, bool begun, float* kernel) {
  if (!s.window.is_pointwise()) {
    return correlate_gradients_f32(s, group, x, g, begin, end, kernel);
  }
  gemm_f32(s.patch(), s.filters_per_group(), end - begin,
           {channels_of(s, x, group, begin), s.channels, Transpose::yes},
           {filters_of(s, g, group, begin), s.filters}, filters_of(s, kernel, group), s.filters,
           begun);
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

namespace {

/// The images that a kernel's gradient reads. Where outputs read one pixel each, pixels become
/// floats in the cache, a part at a time: those of codes, and those that are computed on demand.
class PixelRows {
 public:
  PixelRows(const Conv2DGeometry& s, const Tensor& x) : x_(x), channels_(s.channels) {
    if (s.window.is_pointwise() && detail::TensorAccess::pending(x) != nullptr) {
      codes_ = detail::TensorAccess::codes(x);
      if (codes_ == nullptr && computes_rows(x, channels_)) rows_.emplace(x, channels_);
    }
    if (codes_ == nullptr && !rows_) pixels_ = std::as_const(x_).data();
  }

  std::size_t scratch(Index rows) const {
    return pixels_ != nullptr ? 0 : static_cast<std::size_t>(rows * channels_);
  }
  /// Where the first image lies or would lie, if the rows [begin, end) are in `memory`.
  const float* read(Index begin, Index end, float* memory) const {
    if (rows_) return rows_->read(begin, end, memory) - begin * channels_;
    if (codes_ == nullptr) return pixels_;
    const std::size_t size = scratch(end - begin);
    dequantize({codes_.get() + begin * channels_, size}, *detail::TensorAccess::grid(x_),
               {memory, size});
    return memory - begin * channels_;
  }

 private:
  Tensor x_;
  Index channels_;
  std::shared_ptr<const std::int8_t[]> codes_;
  std::optional<TensorRows> rows_;
  const float* pixels_ = nullptr;
};

}  // namespace

Tensor conv2d_kernel_gradient(const Conv2DGeometry& geometry, const Tensor& x, const Tensor& g) {
  return conv2d_gradients(geometry, x, Tensor(), g, {false, true, false}).kernel;
}

ConvGradients conv2d_gradients(const Conv2DGeometry& geometry, const Tensor& x,
                               const Tensor& kernel, const Tensor& g,
                               const WantedGradients& wanted) {
  ConvGradients result;
  const bool parts_of_x = wanted.x && wanted.kernel && geometry.window.is_pointwise();
  if (wanted.x && !parts_of_x) result.x = conv2d_input_gradient(geometry, kernel, g);
  if (parts_of_x) result.x = Tensor(geometry.input_shape());
  if (!wanted.kernel) {
    if (wanted.bias) result.bias = sum(g, {0, 1, 2});
    return result;
  }
  float* const dx = parts_of_x ? result.x.data() : nullptr;
  const PixelRows pixels(geometry, x);
  const TensorRows gradients(g, geometry.filters);
  const Index filters = geometry.filters_per_group();
  std::vector<Shape> shapes = {geometry.kernel_shape()};
  if (wanted.bias) shapes.push_back({geometry.filters});
  const auto add_block = [&](Index begin, Index end, bool begun, float* sums, double* totals) {
    const Index rows = end - begin;
    const ScratchBuffer<float, PixelRows> of_x(pixels.scratch(rows));
    const ScratchBuffer<float, TensorRows> of_g(gradients.scratch(rows));
    const float* const images = pixels.read(begin, end, of_x.data());
    const float* const part = gradients.read(begin, end, of_g.data());
    if (wanted.bias) add_columns(part, rows, {totals, static_cast<std::size_t>(geometry.filters)});
    for (Index group = 0; group < geometry.groups; ++group) {
      correlate(geometry, images, part - begin * geometry.filters, group, begin, end, begun, sums);
      if (dx == nullptr) continue;
      gemm_f32(rows, geometry.patch(), filters,
               {filters_of(geometry, part, group), geometry.filters},
               {filters_of(geometry, kernel.data(), group), geometry.filters, Transpose::yes},
               channels_of(geometry, dx, group, begin), geometry.channels);
    }
  };
  const Index block = block_rows(geometry).value_or(std::max<Index>(geometry.rows(), 1));
  const auto add_part = [&](Index begin, Index end, std::span<float* const> sums) {
    std::vector<double> totals(static_cast<std::size_t>(geometry.filters));
    for (Index row = begin; row < end; row += block) {
      add_block(row, std::min(end, row + block), row > begin, sums[0], totals.data());
    }
    if (!wanted.bias) return;
    std::ranges::transform(totals, sums[1], [](double t) { return static_cast<float>(t); });
  };
  const std::vector<Tensor> sums = sums_of_parts(shapes, geometry.rows(), add_part);
  result.kernel = sums[0];
  if (wanted.bias) result.bias = sums[1];
  return result;
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
  const bool finishes = bias.defined() || clamps;
  const FunctionRef<void(Index, Index)> done =
      finishes ? FunctionRef<void(Index, Index)>(finish) : FunctionRef<void(Index, Index)>();
  if (const auto block = block_rows(geometry); block && computes_rows(x, geometry.channels)) {
    convolve_rows(geometry, TensorRows(x, geometry.channels), kernel.data(), *block, y.data(),
                  done);
  } else {
    for (Index group = 0; group < geometry.groups; ++group) {
      convolve(geometry, x.data(), kernel.data(), group, y.data(),
               group + 1 == geometry.groups ? done : FunctionRef<void(Index, Index)>());
    }
  }
  const auto backward = [geometry, x, kernel, bias, clamps, limits,
                         result = clamps ? y.detach() : Tensor()](const Tensor& g) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const Shape rows{geometry.rows(), geometry.filters};
    const GradientWindow window{-kInfinity, kInfinity, limits.lo, limits.hi};
    const WantedGradients wanted{x.requires_grad(), kernel.requires_grad(), bias.requires_grad()};
    if (!clamps) {
      ConvGradients all = conv2d_gradients(geometry, x, kernel, g, wanted);
      return std::vector<Tensor>{all.x, all.kernel, all.bias};
    }
    const Tensor to = writable_gradient(g).reshape(rows);
    const SumsGradient passed = window_gradient_of_lines(result.reshape(rows), g.reshape(rows),
                                                         geometry.window.x.output, window, to);
    ConvGradients all =
        conv2d_gradients(geometry, x, kernel, passed.sums, {wanted.x, wanted.kernel, false});
    std::vector<Tensor> gradients = {all.x, all.kernel, Tensor()};
    if (wanted.bias) gradients[2] = passed.bias;
    return gradients;
  };
  return record("conv2d", y, {x, kernel, bias}, backward,
                clamps ? BackwardReads::inputs_and_result : BackwardReads::inputs);
}

}  // namespace octet
