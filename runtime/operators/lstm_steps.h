#pragma once

#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/quant/fixed_point.h>
#include <octet/core/quant/fixed_point_math.h>
#include <octet/runtime/operators/int16_functions.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

// What runtimes compute in a step of an LSTM of codes behind the sums of its gates.

namespace octet::detail {

/// The operand of the cell state: see SequenceLstmAttributes.
inline constexpr std::size_t kLstmCell = 14;

/// The sums of all gates are of int16 in units of 2^-12.
inline constexpr float kLstmGateScale = 1.0F / 4096;

inline std::int16_t saturate_int16(std::int64_t x) {
  return static_cast<std::int16_t>(std::clamp<std::int64_t>(x, -32768, 32767));
}

/// The functions and roundings of a step of TensorFlow Lite Micro: tables of 256 points.
class TableStep {
 public:
  explicit TableStep(const KernelSource& source)
      : cell_scale_(source.input(kLstmCell).quantization.scale()),
        tanh_of_cell_(SigmoidForm::tanh, cell_scale_),
        kept_(quantize_multiplier(std::ldexp(1.0, -15))),
        added_(quantize_multiplier(std::ldexp(1.0, -30) / double{cell_scale_})),
        hidden_(quantize_multiplier(std::ldexp(1.0, -30) /
                                    double{source.output().quantization.scale()})) {}

  static std::int16_t sum(std::int32_t of_input, std::int32_t of_hidden) {
    return saturate_int16(saturate_int16(of_input) + saturate_int16(of_hidden));
  }
  std::int16_t logistic(std::int16_t x) const { return logistic_(x); }
  std::int16_t tanh(std::int16_t x) const { return tanh_(x); }
  std::int16_t cell(std::int32_t kept, std::int32_t added) const {
    return saturate_int16(saturate_int16(multiply_by_quantized_multiplier_double(kept, kept_)) +
                          saturate_int16(multiply_by_quantized_multiplier_double(added, added_)));
  }
  std::int16_t tanh_of_cell(std::int16_t cell) const { return tanh_of_cell_(cell); }
  std::int32_t hidden(std::int32_t product) const {
    return multiply_by_quantized_multiplier_double(product, hidden_);
  }
  std::int32_t clip(float bound) const {
    return static_cast<std::int32_t>(std::min(double{bound} / double{cell_scale_}, 32767.0));
  }

 private:
  float cell_scale_;
  Int16Sigmoid logistic_{SigmoidForm::logistic, kLstmGateScale};
  Int16Sigmoid tanh_{SigmoidForm::tanh, kLstmGateScale};
  Int16Sigmoid tanh_of_cell_;
  QuantizedMultiplier kept_;
  QuantizedMultiplier added_;
  QuantizedMultiplier hidden_;
};

/// The functions and roundings of a step of LiteRT's interpreter: 16-bit fixed point.
class FixedPointStep {
 public:
  static constexpr int kLeastExponent = -15;
  static constexpr int kMostExponent = -9;

  explicit FixedPointStep(const KernelSource& source)
      : cell_scale_(source.input(kLstmCell).quantization.scale()),
        exponent_(std::ilogb(cell_scale_)),
        hidden_(quantize_multiplier(
            double{std::ldexp(1.0F, -15) / source.output().quantization.scale() *
                   std::ldexp(1.0F, -15)})) {
    if (exponent_ >= kLeastExponent && exponent_ <= kMostExponent) return;
    throw InvalidArgument(
        fmt::format("expected a scale of the cell state from 2^-15 to 2^-9, as LiteRT computes, "
                    "found {}; rounding mode double takes others",
                    cell_scale_));
  }

  static std::int16_t sum(std::int32_t of_input, std::int32_t of_hidden) {
    return saturate_int16(std::int64_t{of_hidden} + saturate_int16(of_input));
  }
  static std::int16_t logistic(std::int16_t x) { return fixed_point_logistic_16(x, 3); }
  static std::int16_t tanh(std::int16_t x) { return fixed_point_tanh_16(x, 3); }
  std::int16_t cell(std::int32_t kept, std::int32_t added) const {
    return saturate_int16(saturate_int16(rounding_divide_by_pot(kept, 15)) +
                          saturate_int16(rounding_divide_by_pot(added, 30 + exponent_)));
  }
  std::int16_t tanh_of_cell(std::int16_t cell) const {
    return fixed_point_tanh_16(cell, 15 + exponent_);
  }
  std::int32_t hidden(std::int32_t product) const {
    return multiply_by_quantized_multiplier_double(product, hidden_);
  }
  std::int32_t clip(float bound) const {
    return static_cast<std::int32_t>(std::min(bound / cell_scale_, 32767.0F));
  }

 private:
  float cell_scale_;
  int exponent_;
  QuantizedMultiplier hidden_;
};

}  // namespace octet::detail
