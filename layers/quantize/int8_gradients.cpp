#include <octet/core/buffer.h>
#include <octet/core/kernels/gemm_s8.h>
#include <octet/core/kernels/isa.h>
#include <octet/core/kernels/repeated_row.h>
#include <octet/core/kernels/rows_side_by_side.h>
#include <octet/core/kernels/transpose_bytes.h>
#include <octet/core/parallel.h>
#include <octet/layers/quantize/int8_gradients.h>
#include <octet/layers/quantize/int8_gradients_internal.h>
#include <octet/layers/quantize/real_sums.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>

namespace octet {
namespace detail {
namespace {

/// Rounds each value up with the probability of its fraction: values[i] by number first + i.
void round_at_random(std::span<float> values, const Random& random, std::uint64_t first) {
  std::array<float, 256> drawn{};
  for (std::size_t at = 0; at < values.size(); at += drawn.size()) {
    const std::size_t count = std::min(drawn.size(), values.size() - at);
    float* const part = values.data() + at;
    random.uniforms(first + at, {drawn.data(), count});
    for (std::size_t i = 0; i < count; ++i) {
      // Magnitudes are at most 127: floor() by a conversion, which vectors have.
      const auto whole = static_cast<float>(static_cast<std::int32_t>(part[i]));
      const float below = whole - (whole > part[i] ? 1.0F : 0.0F);
      part[i] = below + (drawn[i] < part[i] - below ? 1.0F : 0.0F);
    }
  }
}

/// Returns the rows [begin, end) of the layout that g has, rounded where that is at random; else as
/// they are. Rows that are not one piece of g are written to `memory`.
const float* read_rows(const GradientRows& g, const RowLayout& layout,
                       std::span<const float> factors, const GradientRounding& rounding,
                       Index begin, Index end, float* memory) {
  const Index images = g.rows / (layout.line * layout.lines);
  float* to = memory;
  Index row = begin;
  while (row < end) {
    const Index image = row / layout.image_pitch;
    const Index line = row % layout.image_pitch / layout.line_pitch;
    const Index at = row % layout.image_pitch % layout.line_pitch;
    const bool is_output = image < images && line < layout.lines && at < layout.line;
    const Index piece = is_output ? layout.line : layout.line_pitch;
    const Index count = std::min(end - row, piece - at);
    if (!is_output) {
      std::fill_n(to, count * g.units, 0.0F);
    } else {
      const Index first = (image * layout.lines + line) * layout.line + at;
      if (rounding) {
        write_scaled(g, factors, rounding, first, first + count, to);
      } else if (count == end - begin) {
        return g.values + first * g.units;
      } else {
        std::copy_n(g.values + first * g.units, count * g.units, to);
      }
    }
    row += count;
    to += count * g.units;
  }
  return memory;
}

/// The quantized values of g.
PackedS8 packed_columns(const GradientRows& g, const RowLayout& layout,
                        const GradientRounding& rounding) {
  const std::vector<float> factors = reciprocals(g.scales);
  const auto rows = [&](Index begin, Index end, float* memory) {
    return read_rows(g, layout, factors, rounding, begin, end, memory);
  };
  constexpr std::array<float, 1> kWhole = {1.0F};
  return PackedS8::quantize(rows, layout.depth, g.units,
                            rounding ? kWhole : std::span<const float>(g.scales), -kLargestGradient,
                            kLargestGradient);
}

/// Quantized values of which each `block` rows have a scale: largest(i, factors) tells the largest
/// magnitude in block i, times the scales of the weights, and may use memory for a row's factors.
template <class Largest>
QuantizedGradient quantized_by(const MeasuredGradient& g, std::span<const float> weights,
                               Index block, const GradientRounding& rounding,
                               const Largest& largest) {
  const Index units = g.units();
  const Index blocks = divided_up(g.rows(), block);
  QuantizedGradient result{allocate_array<std::int8_t>(size_of(g.rows() * units)),
                           std::vector<float>(size_of(blocks))};
  std::vector<float> scales(size_of(units));
  for (Index u = 0; u < units; ++u) scales[size_of(u)] = scale_at(weights, size_of(u));
  const auto quantize = [&](Index i) {
    const Index first = i * block;
    const Index at = first * units;
    std::vector<float> factors = scales;
    const float scale = gradient_scale(largest(i, factors));
    result.scales[size_of(i)] = scale;
    for (std::size_t u = 0; u < factors.size(); ++u) factors[u] = scales[u] * (1.0F / scale);
    quantize_rows({g.values().data() + at, std::min(block, g.rows() - first), units, at, {}, {}},
                  factors, rounding, result.values.get() + at);
  };
  parallel_for(size_of(blocks), parallel_grain(Work::write_floats, size_of(block * units)),
               [&](std::size_t begin, std::size_t end) {
                 for (auto i = static_cast<Index>(begin); i < static_cast<Index>(end); ++i) {
                   quantize(i);
                 }
               });
  return result;
}

}  // namespace

QuantizedGradient quantized_blocks(const MeasuredGradient& g, std::span<const float> weights,
                                   const GradientRounding& rounding) {
  return quantized_by(g, weights, g.block(), rounding, [&](Index i, std::span<float> scales) {
    float largest = 0.0F;
    const std::span<const float> of_units = g.largest(i);
    for (std::size_t u = 0; u < scales.size(); ++u) {
      largest = std::max(largest, of_units[u] * scales[u]);
    }
    return largest;
  });
}

QuantizedGradient quantized_rows(const MeasuredGradient& g, std::span<const float> weights,
                                 const GradientRounding& rounding) {
  return quantized_by(g, weights, 1, rounding, [&](Index row, std::span<float> scales) {
    kernels().passes.scale_columns(g.values().data() + row * g.units(), 1, scales.size(),
                                   scales.data(), scales.data());
    float lowest = 0.0F;
    float highest = 0.0F;
    bool finite = true;
    kernels().passes.min_max(scales.data(), scales.size(), &lowest, &highest, &finite);
    return std::max(-lowest, highest);
  });
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

void quantize_rows(const GradientRows& g, std::span<const float> factors,
                   const GradientRounding& rounding, std::int8_t* to) {
  if (rounding) {
    const std::size_t count = size_of(g.rows * g.units);
    const ScratchBuffer<float, QuantizedGradient> scaled(count);
    write_scaled(g, factors, rounding, 0, g.rows, scaled.data());
    kernels().passes.quantize_away(scaled.data(), count, gradient_grid(1.0F), to);
    return;
  }
  const RepeatedRow<float> repeated(factors, size_of(rows_side_by_side(g.units)));
  for_rows_side_by_side(g.rows, g.units, [&](Index first, Index rows, Index columns) {
    kernels().passes.quantize_columns(g.values + first * g.units, size_of(rows), size_of(columns),
                                      repeated.data(), to + first * g.units);
  });
}

void transpose(const std::int8_t* from, Index rows, Index columns, std::int8_t* to) {
  constexpr std::size_t kSquare = 16;
  const std::size_t least = parallel_grain(Work::write_floats, size_of(rows));
  parallel_for(size_of(columns), thread_share(size_of(columns), least, kSquare),
               [&](std::size_t begin, std::size_t end) {
                 const auto first = static_cast<Index>(begin);
                 transpose_bytes(from + first, columns, rows, static_cast<Index>(end) - first,
                                 to + first * rows, rows);
               });
}

std::vector<float> column_means(std::span<const std::int8_t> values, Index columns,
                                std::int32_t zero_point) {
  const std::size_t rows = values.size() / size_of(columns);
  std::vector<std::int64_t> totals(size_of(columns));
  std::mutex mutex;
  parallel_for(rows, parallel_grain(Work::read_bytes, size_of(columns)),
               [&](std::size_t begin, std::size_t end) {
                 // Sums of so many rows are int32.
                 constexpr std::size_t kRows = std::size_t{1} << 20;
                 for (std::size_t first = begin; first < end; first += kRows) {
                   std::vector<std::int32_t> sums(size_of(columns));
                   for (std::size_t row = first; row < std::min(end, first + kRows); ++row) {
                     const std::int8_t* const from = &values[row * sums.size()];
                     for (std::size_t c = 0; c < sums.size(); ++c) sums[c] += from[c];
                   }
                   const std::lock_guard guard(mutex);
                   for (std::size_t c = 0; c < sums.size(); ++c) totals[c] += sums[c];
                 }
               });
  std::vector<float> means;
  for (const std::int64_t total : totals) {
    const double mean = static_cast<double>(total) / static_cast<double>(rows);
    means.push_back(static_cast<float>(mean - zero_point));
  }
  return means;
}

void add_products(const InputRows& inputs, const QuantParams& params, std::span<const float> means,
                  const GradientRows& g, const RowLayout& layout, const GradientRounding& rounding,
                  float* to) {
  const PackedS8 packed = packed_columns(g, layout, rounding);
  std::vector<std::int32_t> start;
  for (const std::int32_t sum : packed.row_sums()) start.push_back(-params.zero_point() * sum);
  std::vector<float> scales = g.scales;
  for (float& scale : scales) scale *= params.scale();
  const RealForm real(std::move(scales), kUnclamped);
  std::optional<PreparedS8> prepared;
  if (inputs.firsts.size() > 1) {
    prepared.emplace(inputs.values.data(), inputs.values.size(), inputs.count);
  }
  const auto multiply = [&](std::size_t i) {
    float* const all = to + inputs.results[i] * g.units;
    const Index step = inputs.result_step * g.units;
    const auto add = [&](Index begin, Index end, std::int32_t* sums) {
      if (g.first == 0) {
        return real.write(sums, g.units, end - begin, 0, g.units, all + begin * step, step);
      }
      for (Index row = begin; row < end; ++row, sums += g.units) {
        float* const out = all + row * step;
        for (std::size_t u = 0; u < real.scales().size(); ++u) {
          out[u] += static_cast<float>(sums[u]) * real.scales()[u];
        }
      }
    };
    if (prepared) return gemm_s8(*prepared, inputs.firsts[i], inputs.stride, packed, start, add);
    gemm_s8(inputs.count, inputs.values.data() + inputs.firsts[i], inputs.stride, packed, start,
            add);
  };
  // A single product is divided among threads itself.
  const auto products = size_of(inputs.count * layout.depth * g.units);
  parallel_for(inputs.firsts.size(), parallel_grain(Work::integer_multiply_adds, products),
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t i = begin; i < end; ++i) multiply(i);
               });
  // What rounding takes from the sum of g, every product has lost with the mean of its input.
  std::vector<float> lost(size_of(g.units));
  for (std::size_t u = 0; u < lost.size(); ++u) {
    const double rounded = double{g.scales[u]} * packed.row_sums()[u];
    lost[u] = static_cast<float>((g.sums[u] - rounded) * double{params.scale()});
  }
  const std::size_t rows = inputs.firsts.size() * size_of(inputs.count);
  for (std::size_t row = 0; row < rows; ++row) {
    const float mean = means[row % means.size()];
    float* const out = to + row * lost.size();
    for (std::size_t u = 0; u < lost.size(); ++u) out[u] += mean * lost[u];
  }
}

void add_products(std::span<const std::int8_t> inputs, const QuantParams& params,
                  const GradientRows& g, const GradientRounding& rounding, float* to) {
  constexpr std::array<Index, 1> kOne = {0};
  const Index count = static_cast<Index>(inputs.size()) / g.rows;
  const ScratchBuffer<std::int8_t, InputRows> columns(inputs.size());
  transpose(inputs.data(), g.rows, count, columns.data());
  add_products({{columns.data(), inputs.size()}, count, g.rows, 1, kOne, kOne}, params,
               column_means(inputs, count, params.zero_point()), g, RowLayout::whole(g.rows),
               rounding, to);
}

}  // namespace detail

using detail::size_of;

std::vector<std::int8_t> transposed_matrix(std::span<const std::int8_t> matrix, Index rows) {
  std::vector<std::int8_t> result(matrix.size());
  detail::transpose(matrix.data(), rows, static_cast<Index>(matrix.size()) / rows, result.data());
  return result;
}

Tensor int8_input_gradient(const MeasuredGradient& g, const PackedS8& weights,
                           std::span<const float> scales, const GradientRounding& rounding) {
  const Index units = g.units();
  const Index inputs = weights.depth();
  const detail::QuantizedGradient quantized = detail::quantized_rows(g, scales, rounding);
  Tensor result({g.rows(), inputs});
  float* const to = result.mutable_data();
  gemm_s8(g.rows(), quantized.values.get(), units, weights.transposed(), {},
          [&](Index begin, Index end, std::int32_t* sums) {
            for (Index i = begin; i < end; ++i, sums += inputs) {
              detail::write_real({sums, size_of(inputs)}, quantized.scales[size_of(i)],
                                 to + i * inputs);
            }
          });
  return result;
}

Tensor int8_kernel_gradient(std::span<const std::int8_t> x, const QuantParams& params,
                            const MeasuredGradient& g, const GradientRounding& rounding,
                            const FinishRows& finish) {
  const Index rows = g.rows();
  const auto inputs = static_cast<Index>(x.size()) / rows;
  Tensor result({inputs, g.units()});
  for (Index begin = 0; begin < rows; begin += detail::kMostExactRows) {
    const Index end = std::min(rows, begin + detail::kMostExactRows);
    detail::add_products(x.subspan(size_of(begin * inputs), size_of((end - begin) * inputs)),
                         params, g.part(begin, end), rounding, result.mutable_data());
  }
  if (finish) finish(0, inputs, result.mutable_data());
  return result;
}

}  // namespace octet
