#include <octet/core/buffer.h>
#include <octet/core/kernels/gemm_s8.h>
#include <octet/core/kernels/isa.h>
#include <octet/core/kernels/min_max.h>
#include <octet/core/parallel.h>
#include <octet/layers/quantize/int8_gradients.h>
#include <octet/layers/quantize/int8_gradients_internal.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

namespace octet {
namespace detail {
namespace {

/// The scale of quantized values of which the largest stands for `largest`.
float scale_for(float largest) {
  return largest > 0.0F ? largest / static_cast<float>(kLargestGradient) : 1.0F;
}

float scale_at(std::span<const float> scales, Index unit) {
  return scales[scales.size() > 1 ? size_of(unit) : 0];
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

/// Rounds each value up with the probability of its fraction: values[i] by number first + i.
void round_at_random(std::span<float> values, const Random& random, std::uint64_t first) {
  std::array<std::uint32_t, 4> words{};
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint64_t at = first + i;
    if (i == 0 || at % words.size() == 0) words = random.block(at / words.size());
    const float below = std::floor(values[i]);
    // In [0, 1), a multiple of 2^-24.
    const float drawn = static_cast<float>(words[at % words.size()] >> 8) * 0x1.0p-24F;
    values[i] = below + (drawn < values[i] - below ? 1.0F : 0.0F);
  }
}

/// The quantized values of g.
PackedS8 packed_columns(const GradientRows& g, std::span<const float> scales,
                        const GradientRounding& rounding) {
  if (!rounding) {
    return PackedS8::quantize(g.values, g.rows, g.units, scales, -kLargestGradient,
                              kLargestGradient);
  }
  const std::vector<float> factors = reciprocals(scales);
  const auto rows = [&](Index begin, Index end, float* to) {
    write_scaled(g, factors, rounding, begin, end, to);
  };
  constexpr std::array<float, 1> kWhole = {1.0F};
  return PackedS8::quantize(rows, g.rows, g.units, kWhole, -kLargestGradient, kLargestGradient);
}

}  // namespace

std::optional<QuantizedGradient> quantized_by(const Tensor& g, std::span<const float> weights,
                                              Index block, const GradientRounding& rounding) {
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
    float scale = result.scales[i];
    if (rounding) {
      const float factor = 1.0F / scale;
      for (std::size_t k = 0; k < count; ++k) scaled.data()[k] *= factor;
      round_at_random({scaled.data(), count}, *rounding, i * count);
      scale = 1.0F;
    }
    passes.quantize_away(scaled.data(), count, gradient_grid(scale),
                         result.values.data() + i * count);
  };
  parallel_for(result.scales.size(), parallel_grain(Work::write_floats, count),
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t i = begin; i < end; ++i) quantize(i);
               });
  if (std::ranges::find(is_finite, 0) != is_finite.end()) return std::nullopt;
  return result;
}

std::optional<std::vector<float>> column_scales(const GradientRows& g) {
  std::vector<float> lowest(size_of(g.units));
  std::vector<float> scales(size_of(g.units));
  if (!min_max_columns({g.values, size_of(g.rows * g.units)}, lowest, scales)) return std::nullopt;
  for (std::size_t u = 0; u < scales.size(); ++u) {
    scales[u] = scale_for(std::max(-lowest[u], scales[u]));
  }
  return scales;
}

std::vector<float> reciprocals(std::span<const float> scales) {
  std::vector<float> result(scales.begin(), scales.end());
  for (float& value : result) value = 1.0F / value;
  return result;
}

void write_scaled(const GradientRows& g, std::span<const float> factors,
                  const GradientRounding& rounding, Index begin, Index end, float* to) {
  const std::size_t count = size_of((end - begin) * g.units);
  kernels().passes.scale_columns(g.values + begin * g.units, size_of(end - begin), size_of(g.units),
                                 factors.data(), to);
  if (rounding) round_at_random({to, count}, *rounding, size_of(g.first + begin * g.units));
}

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

bool add_products(const std::int8_t* inputs, Index count, const QuantParams& params,
                  const GradientRows& g, const GradientRounding& rounding, float* to) {
  std::optional<std::vector<float>> scales = column_scales(g);
  if (!scales) return false;
  const PackedS8 packed = packed_columns(g, *scales, rounding);
  std::vector<std::int32_t> start;
  for (const std::int32_t sum : packed.row_sums()) start.push_back(-params.zero_point() * sum);
  for (float& scale : *scales) scale *= params.scale();
  gemm_s8(count, inputs, g.rows, packed, start, [&](Index begin, Index end, std::int32_t* sums) {
    const std::size_t width = size_of(g.units);
    for (Index i = begin; i < end; ++i, sums += g.units) {
      float* const out = to + i * g.units;
      if (g.first == 0) {
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

}  // namespace detail

using detail::size_of;

std::vector<std::int8_t> transposed_matrix(std::span<const std::int8_t> matrix, Index rows) {
  std::vector<std::int8_t> result(matrix.size());
  detail::transpose(matrix.data(), rows, static_cast<Index>(matrix.size()) / rows, result.data());
  return result;
}

std::optional<Tensor> int8_input_gradient(const Tensor& g, const QuantizedKernel& kernel,
                                          const GradientRounding& rounding) {
  const Index rows = g.dim(0);
  const Index units = g.dim(1);
  const auto inputs = static_cast<Index>(kernel.values.size()) / units;
  const std::optional<detail::QuantizedGradient> quantized =
      detail::quantized_by(g, kernel.scales, 1, rounding);
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
                                           const GradientRounding& rounding,
                                           const FinishRows& finish) {
  const Index rows = g.dim(0);
  const Index units = g.dim(1);
  const auto inputs = static_cast<Index>(x.size()) / rows;
  Tensor result({inputs, units});
  std::vector<std::int8_t> columns;
  for (Index begin = 0; begin < rows; begin += detail::kMostExactRows) {
    const Index count = std::min(detail::kMostExactRows, rows - begin);
    columns.resize(size_of(inputs * count));
    detail::transpose(x.data() + begin * inputs, count, inputs, columns.data());
    const detail::GradientRows part{g.data() + begin * units, count, units, begin * units};
    if (!detail::add_products(columns.data(), inputs, params, part, rounding,
                              result.mutable_data())) {
      return std::nullopt;
    }
  }
  if (finish) finish(0, inputs, result.mutable_data());
  return result;
}

}  // namespace octet
