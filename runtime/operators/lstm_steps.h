#pragma once

#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/kernels/isa.h>
#include <octet/core/quant/fixed_point.h>
#include <octet/core/quant/fixed_point_math.h>
#include <octet/runtime/operators/int16_functions.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

// What runtimes compute in a step of an LSTM of codes behind the sums of its gates.

namespace octet::detail {

// Operands, of each gate one where there are several: see SequenceLstmAttributes.
inline constexpr std::size_t kLstmInputWeights = 1;
inline constexpr std::size_t kLstmHiddenWeights = 5;
inline constexpr std::size_t kLstmBiases = 9;
inline constexpr std::size_t kLstmHidden = 13;
inline constexpr std::size_t kLstmCell = 14;

/// The sums of all gates are of int16 in units of 2^-12.
inline constexpr float kLstmGateScale = 1.0F / 4096;

inline std::int16_t saturate_int16(std::int64_t x) {
  return static_cast<std::int16_t>(std::clamp<std::int64_t>(x, -32768, 32767));
}

/// The gates of one step, i, f, c and o behind one another, and what becomes of them: the gates
/// become their functions, the cell state the next one, and `result` is o tanh(cell) on the scale
/// of the hidden state, each for all units.
struct LstmRow {
  std::size_t units;
  std::int16_t* gates;
  std::int16_t* cell;
  std::int16_t* tanh_of_cell;
  std::int32_t* result;
};

/// The functions and roundings of a step of TensorFlow Lite Micro: tables of 256 points.
class TableStep {
 public:
  explicit TableStep(const KernelSource& source)
      : cell_scale_(source.input(kLstmCell).quantization.scale()),
        tanh_of_cell_(SigmoidForm::tanh, cell_scale_),
        kept_(quantize_multiplier(std::ldexp(1.0, -15))),
        added_(quantize_multiplier(std::ldexp(1.0, -30) / double{cell_scale_})),
        hidden_(quantize_multiplier(std::ldexp(1.0, -30) /
                                    double{source.output().quantization.scale()})) {
    const float bound = source.op.as<SequenceLstmAttributes>().cell_clip;
    const double clip = std::min(double{bound} / double{cell_scale_}, 32767.0);
    if (clip >= 1.0) clip_ = static_cast<std::int32_t>(clip);
  }

  static std::int16_t sum(std::int32_t of_input, std::int32_t of_hidden) {
    return saturate_int16(saturate_int16(of_input) + saturate_int16(of_hidden));
  }
  static void gates(const std::int32_t* of_input, const std::int32_t* of_hidden, std::size_t units,
                    QuantizedMultiplier by_input, QuantizedMultiplier by_hidden, std::int16_t* to) {
    kernels().passes.lstm_gates(of_input, of_hidden, units, by_input, by_hidden, to);
  }
  /// Returns what steps of no units are computed by.
  LstmStep numbers() const { return step_of({}); }
  void cells(const LstmRow& row) const { kernels().passes.lstm_cells(step_of(row)); }

 private:
  LstmStep step_of(const LstmRow& row) const {
    return {.units = row.units,
            .gates = row.gates,
            .cell = row.cell,
            .tanh_of_cell = row.tanh_of_cell,
            .result = row.result,
            .gate = gate_.numbers(),
            .of_cell = tanh_of_cell_.numbers(),
            .kept = kept_,
            .added = added_,
            .hidden = hidden_,
            .clip = clip_};
  }

  float cell_scale_;
  /// The points of both functions of the gates lie in one place.
  Int16Sigmoid gate_{SigmoidForm::logistic, kLstmGateScale};
  Int16Sigmoid tanh_of_cell_;
  QuantizedMultiplier kept_;
  QuantizedMultiplier added_;
  QuantizedMultiplier hidden_;
  std::int32_t clip_ = 32768;
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
    const float bound = source.op.as<SequenceLstmAttributes>().cell_clip;
    clip_ = static_cast<std::int32_t>(std::min(bound / cell_scale_, 32767.0F));
    if (exponent_ >= kLeastExponent && exponent_ <= kMostExponent) return;
    throw InvalidArgument(
        fmt::format("expected a scale of the cell state from 2^-15 to 2^-9, as LiteRT computes, "
                    "found {}; rounding mode double takes others",
                    cell_scale_));
  }

  static void gates(const std::int32_t* of_input, const std::int32_t* of_hidden, std::size_t units,
                    QuantizedMultiplier by_input, QuantizedMultiplier by_hidden, std::int16_t* to) {
    const auto rescaled = multiply_by_quantized_multiplier_double;
    for (std::size_t i = 0; i < units; ++i) {
      const std::int16_t first = saturate_int16(rescaled(of_input[i], by_input));
      to[i] = saturate_int16(std::int64_t{rescaled(of_hidden[i], by_hidden)} + first);
    }
  }
  void cells(const LstmRow& row) const {
    for (std::size_t i = 0; i < row.units; ++i) {
      std::int16_t* const gate = row.gates + i;
      for (const std::size_t of : {0U, 1U, 3U}) {
        gate[of * row.units] = fixed_point_logistic_16(gate[of * row.units], 3);
      }
      const std::int32_t input = gate[0];
      const std::int32_t forget = gate[row.units];
      const std::int32_t candidate = gate[2 * row.units] =
          fixed_point_tanh_16(gate[2 * row.units], 3);
      const std::int32_t output = gate[3 * row.units];
      std::int16_t& cell = row.cell[i];
      cell =
          saturate_int16(saturate_int16(rounding_divide_by_pot(forget * cell, 15)) +
                         saturate_int16(rounding_divide_by_pot(input * candidate, 30 + exponent_)));
      if (clip_ > 0) cell = static_cast<std::int16_t>(std::clamp<int>(cell, -clip_, clip_));
      row.tanh_of_cell[i] = fixed_point_tanh_16(cell, 15 + exponent_);
      row.result[i] =
          multiply_by_quantized_multiplier_double(output * row.tanh_of_cell[i], hidden_);
    }
  }

 private:
  float cell_scale_;
  int exponent_;
  QuantizedMultiplier hidden_;
  /// 0 for none.
  std::int32_t clip_ = 0;
};

}  // namespace octet::detail
