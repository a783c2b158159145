#include <octet/core/buffer.h>
#include <octet/core/kernels/gemm.h>
#include <octet/core/kernels/isa.h>
#include <octet/core/kernels/min_max.h>
#include <octet/core/parallel.h>
#include <octet/layers/quantize/int8_gradients.h>
#include <octet/runtime/operators/conv_2d.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

namespace octet {
namespace {

constexpr std::int32_t kLargest = 127;
/// Rows of which a sum of (x - zero point) g stays in int32: 255 * 127 * kMostRows < 2^31.
constexpr Index kMostRows = 65536;

std::size_t size_of(Index count) { return static_cast<std::size_t>(count); }

float scale_at(std::span<const float> scales, Index unit) {
  return scales[scales.size() > 1 ? size_of(unit) : 0];
}

/// The scale of quantized values of which the largest stands for `largest`.
float scale_for(float largest) {
  return largest > 0.0F ? largest / static_cast<float>(kLargest) : 1.0F;
}

CodeGrid grid_of(float scale) {
  return {.scale = scale, .zero_point = 0, .qmin = -kLargest, .qmax = kLargest};
}

/// A gradient as quantized values from -127 to 127 with a scale for each block of rows.
struct QuantizedGradient {
  std::vector<std::int8_t> values;
  std::vector<float> scales;
};

/// Quantized values of g [rows, units] times the scale of each unit's weights, so that sums over
/// units need no scale of their own; `block` rows share a scale. None where a value is not finite.
std::optional<QuantizedGradient> quantized_by(const Tensor& g, std::span<const float> weights,
                                              Index block) {
  const Index units = g.dim(-1);
  const Index rows = g.size() / units;
  const float* const from = g.data();
  QuantizedGradient result{std::vector<std::int8_t>(size_of(g.size())),
                           std::vector<float>(size_of(rows / block))};
  std::vector<float> factors(size_of(units));
  for (Index u = 0; u < units; ++u) factors[size_of(u)] = scale_at(weights, u);
  std::vector<std::int8_t> is_finite(result.scales.size(), 1);
  const std::size_t count = size_of(block * units);
  const auto quantize = [&](std::size_t i) {
    const ScratchBuffer<float, QuantizedGradient> scaled(count);
    const Passes& passes = kernels().passes;
    passes.scale_columns(from + i * count, size_of(block), size_of(units), factors.data(),
                         scaled.data());
    float lowest = 0.0F;
    float highest = 0.0F;
    bool finite = true;
    passes.min_max(scaled.data(), count, &lowest, &highest, &finite);
    is_finite[i] = finite ? 1 : 0;
    if (!finite) return;
    result.scales[i] = scale_for(std::max(-lowest, highest));
    passes.quantize_away(scaled.data(), count, grid_of(result.scales[i]),
                         result.values.data() + i * count);
  };
  parallel_for(result.scales.size(), parallel_grain(Work::write_floats, count),
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t i = begin; i < end; ++i) quantize(i);
               });
  if (std::ranges::find(is_finite, 0) != is_finite.end()) return std::nullopt;
  return result;
}

/// The scale of each column of g [rows, units]; none where a value is not finite.
std::optional<std::vector<float>> column_scales(const float* g, Index rows, Index units) {
  std::vector<float> lowest(size_of(units));
  std::vector<float> scales(size_of(units));
  if (!min_max_columns({g, size_of(rows * units)}, lowest, scales)) return std::nullopt;
  for (std::size_t u = 0; u < scales.size(); ++u) {
    scales[u] = scale_for(std::max(-lowest[u], scales[u]));
  }
  return scales;
}

/// to [8, 8] = from [8, 8] turned, rows `stride` and `to_stride` apart: swaps of bytes, pairs and
/// halves of 64-bit words.
void transpose_block(const std::int8_t* from, Index stride, std::int8_t* to, Index to_stride) {
  std::array<std::uint64_t, 8> rows{};
  for (std::size_t i = 0; i < 8; ++i) {
    std::memcpy(&rows[i], from + static_cast<Index>(i) * stride, 8);
  }
  constexpr std::array<std::uint64_t, 3> kMasks = {0x00FF00FF00FF00FFU, 0x0000FFFF0000FFFFU,
                                                   0x00000000FFFFFFFFU};
  for (std::size_t level = 0; level < 3; ++level) {
    const std::size_t distance = std::size_t{1} << level;
    const auto shift = static_cast<unsigned>(8 * distance);
    for (std::size_t i = 0; i < 8; ++i) {
      if ((i & distance) != 0) continue;
      const std::uint64_t low = rows[i];
      const std::uint64_t high = rows[i + distance];
      const std::uint64_t swapped = ((low >> shift) ^ high) & kMasks[level];
      rows[i + distance] = high ^ swapped;
      rows[i] = low ^ (swapped << shift);
    }
  }
  for (std::size_t i = 0; i < 8; ++i) {
    std::memcpy(to + static_cast<Index>(i) * to_stride, &rows[i], 8);
  }
}

/// to [columns, rows] = from [rows, columns].
void transpose(const std::int8_t* from, Index rows, Index columns, std::int8_t* to) {
  static_assert(std::endian::native == std::endian::little);
  constexpr Index kBlock = 8;
  const Index whole = columns / kBlock;
  parallel_for(size_of(whole), parallel_grain(Work::write_floats, size_of(rows * kBlock)),
               [&](std::size_t begin, std::size_t end) {
                 for (Index i = 0; i + kBlock <= rows; i += kBlock) {
                   for (auto j = static_cast<Index>(begin); j < static_cast<Index>(end); ++j) {
                     transpose_block(from + i * columns + kBlock * j, columns,
                                     to + kBlock * j * rows + i, rows);
                   }
                 }
               });
  // What is left at the edges.
  for (Index i = 0; i < rows; ++i) {
    const Index first = i < rows / kBlock * kBlock ? kBlock * whole : 0;
    for (Index j = first; j < columns; ++j) to[j * rows + i] = from[i * columns + j];
  }
}

/// Adds the product of inputs [inputs, rows] and g [rows, units], in real values, to `to`.
bool add_products(const std::int8_t* inputs, Index count, Index rows, const QuantParams& params,
                  const float* g, Index units, bool is_first, float* to) {
  std::optional<std::vector<float>> scales = column_scales(g, rows, units);
  if (!scales) return false;
  const PackedS8 packed = PackedS8::quantize(g, rows, units, *scales, -kLargest, kLargest);
  std::vector<std::int32_t> start;
  for (const std::int32_t sum : packed.row_sums()) start.push_back(-params.zero_point() * sum);
  for (float& scale : *scales) scale *= params.scale();
  gemm_s8(count, inputs, rows, packed, start, [&](Index begin, Index end, std::int32_t* sums) {
    const std::size_t width = size_of(units);
    for (Index i = begin; i < end; ++i, sums += units) {
      float* const out = to + i * units;
      if (is_first) {
        constexpr float kAny = std::numeric_limits<float>::infinity();
        kernels().passes.real_sums(sums, width, scales->data(), -kAny, kAny, out);
      } else {
        for (std::size_t u = 0; u < width; ++u) {
          out[u] += static_cast<float>(sums[u]) * (*scales)[u];
        }
      }
    }
  });
  return true;
}

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

/// The axis of the convolution that brings gradients back: one window for each input element.
WindowAxis back(const WindowAxis& axis) {
  return {.input = (axis.output - 1) * axis.stride + 1,
          .kernel = axis.kernel,
          .stride = 1,
          .dilation = axis.dilation,
          .before = (axis.kernel - 1) * axis.dilation - axis.before,
          .output = axis.input};
}

/// Quantized values [images, height, width, units] with zeros between them, as many as the strides
/// skip.
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

/// The kernel [taps, channels, units] as [channels, taps, units], the taps in the other order.
std::vector<std::int8_t> turned(const Conv2DGeometry& geometry,
                                std::span<const std::int8_t> kernel) {
  const Index taps = geometry.window.taps();
  std::vector<std::int8_t> result(kernel.size());
  for (Index t = 0; t < taps; ++t) {
    for (Index c = 0; c < geometry.channels; ++c) {
      std::memcpy(result.data() + (c * taps + taps - 1 - t) * geometry.filters,
                  kernel.data() + (t * geometry.channels + c) * geometry.filters,
                  size_of(geometry.filters));
    }
  }
  return result;
}

}  // namespace

std::vector<std::int8_t> transposed_matrix(std::span<const std::int8_t> matrix, Index rows) {
  std::vector<std::int8_t> result(matrix.size());
  transpose(matrix.data(), rows, static_cast<Index>(matrix.size()) / rows, result.data());
  return result;
}

std::optional<Tensor> int8_input_gradient(const Tensor& g, const QuantizedKernel& kernel) {
  const Index rows = g.dim(0);
  const Index units = g.dim(1);
  const auto inputs = static_cast<Index>(kernel.values.size()) / units;
  const std::optional<QuantizedGradient> quantized = quantized_by(g, kernel.scales, 1);
  if (!quantized) return std::nullopt;
  Tensor result({rows, inputs});
  float* const to = result.mutable_data();
  const PackedS8 weights(kernel.values.data(), inputs, units);
  gemm_s8(rows, quantized->values.data(), units, weights, {},
          [&](Index begin, Index end, std::int32_t* sums) {
            for (Index i = begin; i < end; ++i, sums += inputs) {
              const float scale = quantized->scales[size_of(i)];
              float* const out = to + i * inputs;
              for (std::size_t j = 0; j < size_of(inputs); ++j) {
                out[j] = static_cast<float>(sums[j]) * scale;
              }
            }
          });
  return result;
}

std::optional<Tensor> int8_kernel_gradient(std::span<const std::int8_t> x,
                                           const QuantParams& params, const Tensor& g,
                                           const FinishRows& finish) {
  const Index rows = g.dim(0);
  const Index units = g.dim(1);
  const auto inputs = static_cast<Index>(x.size()) / rows;
  Tensor result({inputs, units});
  std::vector<std::int8_t> columns;
  for (Index begin = 0; begin < rows; begin += kMostRows) {
    const Index count = std::min(kMostRows, rows - begin);
    columns.resize(size_of(inputs * count));
    transpose(x.data() + begin * inputs, count, inputs, columns.data());
    if (!add_products(columns.data(), inputs, count, params, g.data() + begin * units, units,
                      begin == 0, result.mutable_data())) {
      return std::nullopt;
    }
  }
  if (finish) finish(0, inputs, result.mutable_data());
  return result;
}

std::optional<Tensor> int8_input_gradient(const Conv2DGeometry& geometry, const Tensor& g,
                                          const QuantizedKernel& kernel) {
  assert(geometry.groups == 1);
  const Index outputs = geometry.window.outputs();
  std::optional<QuantizedGradient> quantized =
      quantized_by(g.reshape({geometry.rows(), geometry.filters}), kernel.scales, outputs);
  if (!quantized) return std::nullopt;
  const Conv2DGeometry backwards{.window = {back(geometry.window.y), back(geometry.window.x)},
                                 .images = 1,
                                 .channels = geometry.filters,
                                 .filters = geometry.channels};
  const detail::ConvSums sums(backwards,
                              detail::pack_groups(backwards, turned(geometry, kernel.values)), {},
                              /*input_zero_point=*/0);
  Tensor result(geometry.input_shape());
  float* const to = result.mutable_data();
  const Index pixels = geometry.window.inputs();
  const Index channels = geometry.channels;
  const std::vector<std::int8_t> images = spread(geometry, std::move(quantized->values));
  sums.sums(geometry.images, images.data(),
            [&](Index /*group*/, Index begin, Index end, std::int32_t* found) {
              for (Index i = begin; i < end; ++i, found += channels) {
                const float scale = quantized->scales[size_of(i / pixels)];
                float* const out = to + i * channels;
                for (std::size_t c = 0; c < size_of(channels); ++c) {
                  out[c] = static_cast<float>(found[c]) * scale;
                }
              }
            });
  return result;
}

std::optional<Tensor> int8_kernel_gradient(const Conv2DGeometry& geometry,
                                           std::span<const std::int8_t> x,
                                           const QuantParams& params, const Tensor& g,
                                           const FinishRows& finish) {
  assert(geometry.groups == 1);
  const Index pixels = geometry.window.inputs();
  const Index outputs = geometry.window.outputs();
  const Index patch = geometry.patch();
  if (outputs > kMostRows) return std::nullopt;
  // Few enough images that their taps stay in the cache.
  constexpr Index kMostTaps = Index{1} << 20;
  const Index together =
      std::clamp<Index>(kMostTaps / (patch * outputs), 1, std::max<Index>(1, kMostRows / outputs));
  Tensor result(geometry.kernel_shape());
  std::vector<std::int8_t> planes;
  std::vector<std::int8_t> taps;
  for (Index begin = 0; begin < geometry.images; begin += together) {
    const Index images = std::min(together, geometry.images - begin);
    planes.resize(size_of(geometry.channels * images * pixels));
    transpose(x.data() + begin * pixels * geometry.channels, images * pixels, geometry.channels,
              planes.data());
    const bool is_product = geometry.is_matrix_product();
    if (!is_product) {
      taps.resize(size_of(patch * images * outputs));
      gather_taps(geometry, planes.data(), images, static_cast<std::int8_t>(params.zero_point()),
                  taps.data());
    }
    if (!add_products((is_product ? planes : taps).data(), patch, images * outputs, params,
                      g.data() + begin * outputs * geometry.filters, geometry.filters, begin == 0,
                      result.mutable_data())) {
      return std::nullopt;
    }
  }
  if (finish) finish(0, patch, result.mutable_data());
  return result;
}

}  // namespace octet
