#pragma once

#include <octet/core/conv2d_geometry.h>
#include <octet/core/kernels/isa.h>
#include <octet/core/quant/activation_range.h>
#include <octet/core/quant/quant_params.h>
#include <octet/core/tensor.h>
#include <octet/layers/quantize/int8_gradients.h>
#include <octet/layers/quantize/tap_planes.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

// Parts that the products of int8_gradients.h share.

namespace octet::detail {

/// Rows of which a sum of (x - zero point) g stays in int32: 255 * 127 * kMostExactRows < 2^31.
inline constexpr Index kMostExactRows = 65536;

inline std::size_t size_of(Index count) { return static_cast<std::size_t>(count); }

inline CodeGrid gradient_grid(float scale) {
  return {.scale = scale, .zero_point = 0, .qmin = -kLargestGradient, .qmax = kLargestGradient};
}

/// The scale of a unit where there may be one for all.
inline float scale_at(std::span<const float> scales, std::size_t unit) {
  return scales[scales.size() > 1 ? unit : 0];
}

inline constexpr RealLimits kUnclamped = {-std::numeric_limits<float>::infinity(),
                                          std::numeric_limits<float>::infinity()};

/// A gradient as quantized values from -127 to 127 with a scale for each row, or for each block of
/// a MeasuredGradient.
struct QuantizedGradient {
  std::shared_ptr<std::int8_t[]> values;
  std::vector<float> scales;
};

/// Returns quantized values of g times the scale of each unit's weights, so that sums over units
/// need no scale of their own: rows share a scale in each block.
QuantizedGradient quantized_blocks(const MeasuredGradient& g, std::span<const float> weights,
                                   const GradientRounding& rounding);
/// Returns quantized_blocks() with a scale for each row.
QuantizedGradient quantized_rows(const MeasuredGradient& g, std::span<const float> weights,
                                 const GradientRounding& rounding);

/// 1 / scale of each.
std::vector<float> reciprocals(std::span<const float> scales);

/// Computes the real values of sums that share a scale.
inline void write_real(std::span<const std::int32_t> sums, float scale, float* real) {
  kernels().passes.scaled_sums(sums.data(), sums.size(), scale, real);
}

/// Writes the rows [begin, end), times `factors` of their columns, to `to`: rounded where that is
/// at random.
void write_scaled(const GradientRows& g, std::span<const float> factors,
                  const GradientRounding& rounding, Index begin, Index end, float* to);

/// Writes the quantized values of g times `factors` of their columns, at most 127 in magnitude.
void quantize_rows(const GradientRows& g, std::span<const float> factors,
                   const GradientRounding& rounding, std::int8_t* to);

/// to [columns, rows] = from [rows, columns].
void transpose(const std::int8_t* from, Index rows, Index columns, std::int8_t* to);

/// The mean of each column of quantized values [rows, columns], less the zero point.
std::vector<float> column_means(std::span<const std::int8_t> values, Index columns,
                                std::int32_t zero_point);

/// Adds the products of inputs and g, whose rows stand as `layout` says, in real values, to `to`,
/// or writes them there for the first rows of all. `means` are column_means() of the inputs, by
/// which a product makes up for the rounding of the sum of g: row i of `to` has means[i %
/// means.size()].
void add_products(const InputRows& inputs, const QuantParams& params, std::span<const float> means,
                  const GradientRows& g, const RowLayout& layout, const GradientRounding& rounding,
                  float* to);
/// @overload
/// For a matrix of inputs [g.rows, columns].
void add_products(std::span<const std::int8_t> inputs, const QuantParams& params,
                  const GradientRows& g, const GradientRounding& rounding, float* to);

/// How many images a kernel's gradient reads at once: so few that the elements that it gathers of
/// them, `of_image` of each, stay in the cache, and that their rows do not exceed kMostExactRows.
Index images_at_once(const Conv2DGeometry& geometry, Index of_image);

/// The axis of the convolution that brings gradients back: one window for each input element.
WindowAxis back(const WindowAxis& axis);

/// Whether the images that back() reads have zeros between the values of a gradient, as many as the
/// strides skip.
bool is_spread(const Conv2DGeometry& geometry);
/// Quantized values [images, height, width, units] with those zeros.
std::shared_ptr<const std::int8_t[]> spread(const Conv2DGeometry& geometry,
                                            const std::int8_t* values);

/// A kernel [taps, inputs, units] as [inputs, taps, units].
std::vector<std::int8_t> inputs_first(std::span<const std::int8_t> kernel, Index taps, Index units);
/// @overload
/// With the taps in the other order.
std::vector<std::int8_t> turned(std::span<const std::int8_t> kernel, Index taps, Index units);

}  // namespace octet::detail
