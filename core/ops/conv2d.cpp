#include <fmt/core.h>
#include <octet/core/autograd.h>
#include <octet/core/buffer.h>
#include <octet/core/error.h>
#include <octet/core/kernels/correlate_f32.h>
#include <octet/core/kernels/gemm.h>
#include <octet/core/kernels/isa.h>
#include <octet/core/ops/activation.h>
#include <octet/core/ops/conv2d_internal.h>
#include <octet/core/ops/conv2d_parts_internal.h>
#include <octet/core/ops/depthwise_conv2d.h>
#include <octet/core/ops/elementwise.h>
#include <octet/core/ops/window_internal.h>
#include <octet/core/parallel.h>
#include <octet/core/tensor_internal.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <optional>
#include <vector>

namespace octet {

using detail::block_rows;
using detail::channels_of;
using detail::filters_of;
using detail::pixels_of;
using detail::row_grain;
using detail::run_lines;

namespace {

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
    convolve(geometry, x.data(), kernel.data(), group, y.mutable_data(), {});
  }
  return y;
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
  check_filter_bias("conv2d", bias, kernel.dim(3));
  if (geometry.groups > 1 && geometry.groups == geometry.channels) {
    const Tensor y = convolve_channels(x, kernel, geometry, options);
    return activated(bias.defined() ? y + bias : y, activation);
  }
  Tensor y(geometry.output_shape());
  const bool clamps = activation != FusedActivation::none;
  const RealLimits limits = real_limits(activation);
  const Finish finish(geometry, bias, limits, y.mutable_data());
  const bool finishes = bias.defined() || clamps;
  const FunctionRef<void(Index, Index)> done =
      finishes ? FunctionRef<void(Index, Index)>(finish) : FunctionRef<void(Index, Index)>();
  if (const auto block = block_rows(geometry); block && computes_rows(x, geometry.channels)) {
    convolve_rows(geometry, TensorRows(x, geometry.channels), kernel.data(), *block,
                  y.mutable_data(), done);
  } else {
    for (Index group = 0; group < geometry.groups; ++group) {
      convolve(geometry, x.data(), kernel.data(), group, y.mutable_data(),
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
