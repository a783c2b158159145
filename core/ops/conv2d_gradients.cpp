#include <octet/core/buffer.h>
#include <octet/core/kernels/correlate_f32.h>
#include <octet/core/kernels/gemm.h>
#include <octet/core/ops/conv2d_internal.h>
#include <octet/core/ops/conv2d_parts_internal.h>
#include <octet/core/ops/partial_sums.h>
#include <octet/core/ops/reduce.h>
#include <octet/core/profile.h>
#include <octet/core/quant/quantize.h>
#include <octet/core/tensor_internal.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace octet {

using detail::block_rows;
using detail::channels_of;
using detail::filters_of;
using detail::pixels_of;
using detail::run_lines;

namespace {

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

/// Adds the products of rows [begin, end) to the group's columns of a pointwise kernel's gradient,
/// to what has `begun`.
void correlate(const Conv2DGeometry& s, const float* x, const float* g, Index group, Index begin,
               Index end, bool begun, float* kernel) {
  gemm_f32(s.patch(), s.filters_per_group(), end - begin,
           {channels_of(s, x, group, begin), s.channels, Transpose::yes},
           {filters_of(s, g, group, begin), s.filters}, filters_of(s, kernel, group), s.filters,
           begun);
}

/// The images that a kernel's gradient reads. Quantized pixels become floats in the cache, a part
/// at a time, and so do, where outputs read one pixel each, those that are computed on demand.
class PixelRows {
 public:
  PixelRows(const Conv2DGeometry& s, const Tensor& x) : x_(x), channels_(s.channels) {
    if (detail::TensorAccess::pending(x) != nullptr) {
      integers_ = detail::TensorAccess::integers(x);
      const bool computed = int8() == nullptr && s.window.is_pointwise();
      if (computed && computes_rows(x, channels_)) rows_.emplace(x, channels_);
    }
    if (int8() == nullptr && !rows_) pixels_ = x_.data();
  }

  /// Correlates all images, of a kernel that reads windows.
  void correlate_windows(const Conv2DGeometry& s, Index group, const float* g, Index begin,
                         Index end, float* kernel) const {
    if (int8() == nullptr) {
      return correlate_gradients_f32(s, group, pixels_, g, begin, end, kernel);
    }
    const QuantParams& grid = *x_.quantization();
    const ScaledInt8 scaled{int8(), grid.scale(), grid.zero_point()};
    correlate_gradients_f32(s, group, scaled, g, begin, end, kernel);
  }

  std::size_t scratch(Index rows) const {
    return pixels_ != nullptr ? 0 : static_cast<std::size_t>(rows * channels_);
  }
  /// Where the first image lies or would lie, if the rows [begin, end) are in `memory`.
  const float* read(Index begin, Index end, float* memory) const {
    if (rows_) return rows_->read(begin, end, memory) - begin * channels_;
    if (int8() == nullptr) return pixels_;
    const std::size_t size = scratch(end - begin);
    dequantize({int8() + begin * channels_, size}, *x_.quantization(), {memory, size});
    return memory - begin * channels_;
  }

 private:
  const std::int8_t* int8() const { return integers_.as<std::int8_t>(); }

  Tensor x_;
  Index channels_;
  detail::StoredIntegers integers_;
  std::optional<TensorRows> rows_;
  const float* pixels_ = nullptr;
};

}  // namespace

Tensor conv2d_input_gradient(const Conv2DGeometry& geometry, const Tensor& kernel,
                             const Tensor& g) {
  Tensor dx(geometry.input_shape());
  for (Index group = 0; group < geometry.groups; ++group) {
    propagate(geometry, kernel.data(), g.data(), group, dx.mutable_data());
  }
  return dx;
}

Tensor conv2d_kernel_gradient(const Conv2DGeometry& geometry, const Tensor& x, const Tensor& g) {
  return conv2d_gradients(geometry, x, Tensor(), g, {false, true, false}).kernel;
}

ConvGradients conv2d_gradients(const Conv2DGeometry& geometry, const Tensor& x,
                               const Tensor& kernel, const Tensor& g,
                               const WantedGradients& wanted) {
  ConvGradients result;
  const bool parts_of_x = wanted.x && wanted.kernel && geometry.window.is_pointwise();
  if (wanted.x && !parts_of_x) {
    const ProfilePart profiled("input gradient");
    result.x = conv2d_input_gradient(geometry, kernel, g);
  }
  if (parts_of_x) result.x = Tensor(geometry.input_shape());
  if (!wanted.kernel) {
    if (wanted.bias) result.bias = sum(g, {0, 1, 2});
    return result;
  }
  const ProfilePart profiled(parts_of_x ? "gradients" : "kernel gradient");
  float* const dx = parts_of_x ? result.x.mutable_data() : nullptr;
  const PixelRows pixels(geometry, x);
  const TensorRows gradients(g, geometry.filters);
  const Index filters = geometry.filters_per_group();
  std::vector<Shape> shapes = {geometry.kernel_shape()};
  if (wanted.bias) shapes.push_back({geometry.filters});
  const auto add_block = [&](Index begin, Index end, bool begun, float* sums, double* totals) {
    const Index rows = end - begin;
    const bool by_pixel = geometry.window.is_pointwise();
    const ScratchBuffer<float, PixelRows> of_x(by_pixel ? pixels.scratch(rows) : 0);
    const ScratchBuffer<float, TensorRows> of_g(gradients.scratch(rows));
    const float* const images = by_pixel ? pixels.read(begin, end, of_x.data()) : nullptr;
    const float* const part = gradients.read(begin, end, of_g.data());
    if (wanted.bias) add_columns(part, rows, {totals, static_cast<std::size_t>(geometry.filters)});
    for (Index group = 0; group < geometry.groups; ++group) {
      const float* const g_rows = part - begin * geometry.filters;
      if (!by_pixel) {
        pixels.correlate_windows(geometry, group, g_rows, begin, end, sums);
        continue;
      }
      correlate(geometry, images, g_rows, group, begin, end, begun, sums);
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

namespace {

/// Whether rows of so few units are summed line by line.
bool are_summed_by_line(Index pixels, Index units) {
  constexpr Index kEnoughColumns = 32;
  return pixels > 1 && units < kEnoughColumns;
}
Shape lines_of(const Tensor& y, Index pixels) { return {y.dim(0) / pixels, pixels * y.dim(1)}; }

/// What a bias gets of the sums for each pixel of a line.
Tensor bias_of_lines(const Tensor& sums, Index pixels, Index units) {
  Tensor bias({units});
  for (Index j = 0; j < units; ++j) {
    double total = 0.0;
    for (Index p = 0; p < pixels; ++p) total += double{sums.data()[p * units + j]};
    bias.mutable_data()[j] = static_cast<float>(total);
  }
  return bias;
}

}  // namespace

SumsGradient window_gradient_of_lines(const Tensor& y, const Tensor& g, Index pixels,
                                      const GradientWindow& window, const Tensor& to) {
  if (!are_summed_by_line(pixels, y.dim(1))) return window_gradient(y, g, window, to);
  const Shape lines = lines_of(y, pixels);
  SumsGradient wide =
      window_gradient(y.reshape(lines), g.reshape(lines), window, to.reshape(lines));
  return {wide.sums.reshape(y.shape()), bias_of_lines(wide.bias, pixels, y.dim(1))};
}

Tensor column_sums_of_lines(const Tensor& g, Index pixels) {
  if (!are_summed_by_line(pixels, g.dim(1))) return column_sums(g);
  return bias_of_lines(column_sums(g.reshape(lines_of(g, pixels))), pixels, g.dim(1));
}

}  // namespace octet
