#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include <octet/core/arithmetic/round_mode.h>

namespace octet {

/// The attributes of TensorFlow's QuantizeAndDequantize operations.
struct QuantizeAndDequantizeOptions {
  bool signed_input = true;
  int num_bits = 8;          ///< 1..61, unsigned 1..62
  bool range_given = false;  ///< false: the range is that of the data (of each slice)
  RoundMode round_mode = RoundMode::half_to_even;  ///< or half_up
  bool narrow_range = false;                       ///< signed only: leaves out the lowest value
  int axis = -1;                                   ///< -1: per tensor; else a scale per slice
  bool operator==(const QuantizeAndDequantizeOptions&) const = default;
};

/// TensorFlow's versions compute the same; they differ in how they check the axis. V3 counts an
/// axis below -1 from the end, V2 and V4 refuse it.
enum class QuantizeAndDequantizeVersion { v2, v3, v4 };

/// The scale and range of one slice: the wider side determines the scale, the zero point is 0.
struct QuantizeAndDequantizeScale {
  float scale = 0.0F;
  float inverse = 0.0F;
  float min = 0.0F;  ///< the range after the narrower side was widened
  float max = 0.0F;
  bool is_zero = false;  ///< no value but 0 can be represented; every output is 0
};

/// Returns the scale for data in [min, max]. Zeros, and negative data with unsigned values, give
/// is_zero.
[[nodiscard]] QuantizeAndDequantizeScale quantize_and_dequantize_scale(
    float min, float max, const QuantizeAndDequantizeOptions& options);

/// Computes y = round(x * scale) / scale with a scale per tensor or per slice of options.axis; a
/// given range clamps x first, the range of the data does not.
///
/// `input_min` and `input_max` are read if range_given: one value for the whole tensor, one per
/// slice otherwise (as TensorFlow's V3; its V2 and V4 fail there). `out` may be `in` itself.
/// Throws InvalidArgument with TensorFlow's messages for bits, axis, sizes and min > max, and for a
/// round mode other than half_to_even and half_up; NumericError, naming `name`, if the range or the
/// data that it is taken from are NaN or infinite. Gradient of V2 and V3: straight through.
void quantize_and_dequantize(
    std::span<const float> in, std::span<const std::int64_t> shape,
    std::span<const float> input_min, std::span<const float> input_max,
    const QuantizeAndDequantizeOptions& options, std::span<float> out,
    QuantizeAndDequantizeVersion version = QuantizeAndDequantizeVersion::v2,
    std::string_view name = "quantize_and_dequantize");

/// Gradient of V4: d_input = g where input_min <= x <= input_max, the operands as given, whether or
/// not range_given is set; d_min and d_max become zeros. `axis` as in the options.
/// Throws InvalidArgument if sizes differ.
void quantize_and_dequantize_v4_grad(std::span<const float> gradient, std::span<const float> in,
                                     std::span<const std::int64_t> shape,
                                     std::span<const float> input_min,
                                     std::span<const float> input_max, int axis,
                                     std::span<float> d_input, std::span<float> d_min,
                                     std::span<float> d_max,
                                     std::string_view name = "quantize_and_dequantize_v4_grad");

/// Converts Python's argument to the axis attribute: none becomes -1 (per tensor), a negative axis
/// counts from the end. Throws InvalidArgument if it is outside the rank.
[[nodiscard]] int quantize_and_dequantize_axis(std::optional<int> axis, std::size_t rank);

/// Throws InvalidArgument "Shape must be rank 1" unless, for an axis, both operands are vectors
/// ("Shape must be rank 0" unless both are scalars where there is none).
void check_quantize_and_dequantize_range_shapes(int axis, std::span<const std::int64_t> min_shape,
                                                std::span<const std::int64_t> max_shape,
                                                std::string_view name);

/// V3 takes num_bits as a tensor. Throws InvalidArgument unless it is a scalar.
[[nodiscard]] int quantize_and_dequantize_num_bits(std::span<const std::int32_t> values,
                                                   std::span<const std::int64_t> shape);

/// Parses "HALF_TO_EVEN" or "HALF_UP". Throws InvalidArgument for anything else.
[[nodiscard]] RoundMode parse_round_mode(std::string_view text);

}  // namespace octet
