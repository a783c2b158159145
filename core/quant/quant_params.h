#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace octet {

/// The number of steps that a narrow range has. It hardly changes the quantized values, but the
/// real values.
enum class NarrowSteps {
  reduced,  ///< qmax - qmin steps (254 for 8 bits), as TensorFlow's fake quantization
  full,     ///< 2^bits - 1 steps (255): scale and zero point of the full range; qmin only clamps
};

/// How a tensor is to be quantized.
struct QuantSpec {
  int num_bits = 8;           ///< 2 to 16
  bool is_signed = true;      ///< quantized values around 0, else from 0 upwards
  bool narrow_range = false;  ///< leaves out the lowest value: [-127, 127] or [1, 255]
  bool symmetric = false;     ///< zero point in the middle: 0, or 2^(bits - 1) if unsigned
  int axis = -1;              ///< axis with a scale per channel; -1: one scale for the tensor
  NarrowSteps narrow_steps = NarrowSteps::reduced;
  /// The highest int8 values, [128 - 2^bits, 127]: what saturates in int8 then saturates at the
  /// highest of them. Signed, asymmetric, not narrow, per tensor, 8 bits at most.
  bool top_of_int8 = false;

  [[nodiscard]] std::int32_t qmin() const noexcept;
  [[nodiscard]] std::int32_t qmax() const noexcept;
  /// Throws InvalidArgument, naming `name`, for bits outside 2..16, an axis below -1, and quantized
  /// values at the top of int8 that are to be anything that top_of_int8 excludes.
  void validate(std::string_view name) const;
  bool operator==(const QuantSpec&) const = default;
};

/// The real values that the integers q of a tensor represent: f = (q - zero_point) * scale, with
/// qmin <= q <= qmax. One scale and zero point per tensor, or per index of `quantized_dimension`.
struct QuantParams {
  std::vector<float> scales;
  std::vector<std::int32_t> zero_points;
  int quantized_dimension = 0;
  std::int32_t qmin = -128;
  std::int32_t qmax = 127;

  [[nodiscard]] static QuantParams per_tensor(float scale, std::int32_t zero_point,
                                              std::int32_t qmin = -128, std::int32_t qmax = 127);
  [[nodiscard]] bool per_channel() const noexcept { return scales.size() > 1; }
  [[nodiscard]] std::size_t channels() const noexcept { return scales.size(); }
  [[nodiscard]] float scale(std::size_t channel = 0) const { return scales.at(channel); }
  [[nodiscard]] std::int32_t zero_point(std::size_t channel = 0) const {
    return zero_points.at(channel);
  }
  /// Throws InvalidArgument, naming `name`, unless there is a scale, as many zero points, every
  /// scale is finite and above 0, and qmin <= qmax.
  void validate(std::string_view name) const;
  bool operator==(const QuantParams&) const = default;
};

/// Applies the rule of the TensorFlow Lite converter, in double, to the integers of `spec`, for
/// each channel, and rounds the scales to float32: scale = (max - min) / (qmax - qmin); the zero
/// point comes from the end with the smaller rounding error, clamped and rounded half away from
/// zero.
///
/// A range of width <= 1e-6 is first widened to contain [-5e-7, 5e-7], so that a range of zeros
/// gets a valid scale; a range without 0 keeps its width and shifts; signed values are the unsigned
/// ones minus 2^(bits - 1), those at the top of int8 plus 128 - 2^bits. A symmetric spec first
/// widens the range to [-m, m] (narrow) or [-m * 2^b / (2^b - 2), m], m the largest magnitude that
/// fits.
///
/// `mins` and `maxs` hold one value if spec.axis is -1, else one per channel. Throws
/// InvalidArgument for other sizes, NumericError, naming the tensor and the channel, for a range
/// that is NaN, infinite, reversed or so wide that the outermost quantized values would represent
/// infinity.
[[nodiscard]] QuantParams choose_quant_params(std::span<const float> mins,
                                              std::span<const float> maxs, const QuantSpec& spec,
                                              std::string_view tensor_name);

/// Chooses scale and zero point for one range: choose_quant_params() above with one element in
/// `mins` and `maxs`.
[[nodiscard]] QuantParams choose_quant_params(float min, float max, const QuantSpec& spec,
                                              std::string_view tensor_name);

}  // namespace octet
