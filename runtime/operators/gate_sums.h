#pragma once

#include <octet/core/kernels/gemm_s8.h>
#include <octet/core/quant/requantize.h>
#include <octet/runtime/operators/fully_connected.h>
#include <octet/runtime/operators/lstm_steps.h>
#include <octet/runtime/operators/sequence_lstm.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

// The sums that the gates of an LSTM on integers are made of.

namespace octet::detail {

/// Rows of sequences that are computed together.
inline constexpr Index kLstmRows = 64;

/// Rescales the sums of weights `weights` with values to the scale of the gates.
inline Requantizer gate_requantizer(const KernelSource& source, const ModelTensor& values,
                                    std::size_t weights, Rounding rounding) {
  return Requantizer::fully_connected(values.quantization.scale(),
                                      source.input(weights).quantization.scales, kLstmGateScale,
                                      rounding);
}

/// The weights of all gates, one below the other.
inline std::vector<std::int8_t> stacked_weights(const KernelSource& source, std::size_t first) {
  std::vector<std::int8_t> all;
  for (std::size_t gate = 0; gate < kLstmGates; ++gate) {
    const auto one = values_of<std::int8_t>(source.input(first + gate));
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

/// The biases of all gates, less what the zero point of the values adds to each sum; `first` is 0
/// for sums without a bias. Throws where a sum may leave its type, or the range of its rescaling.
template <class Sum>
std::vector<Sum> starts_of_sums(const KernelSource& source, const ModelTensor& values,
                                std::span<const std::int8_t> weights, std::size_t first_weights,
                                std::size_t first_bias, std::span<const Requantizer> requantizers) {
  const auto units = static_cast<std::size_t>(source.input(first_weights).shape[0]);
  const std::size_t depth = weights.size() / (kLstmGates * units);
  const std::int64_t zero_point = values.quantization.zero_point();
  const std::int64_t reach = farthest_from_zero_point(stored_params(values));
  std::vector<Sum> starts;
  for (std::size_t gate = 0; gate < kLstmGates; ++gate) {
    const std::string& owner = source.input(first_weights + gate).name;
    const auto bias =
        first_bias == 0 ? std::vector<Sum>(units) : values_of<Sum>(source.input(first_bias + gate));
    std::vector<std::int64_t> magnitudes;
    for (std::size_t unit = 0; unit < units; ++unit) {
      const auto row = weights.subspan((gate * units + unit) * depth, depth);
      magnitudes.push_back(magnitude_of(row, 0));
      const std::int64_t sum = std::accumulate(row.begin(), row.end(), std::int64_t{0});
      starts.push_back(static_cast<Sum>(bias[unit] - zero_point * sum));
      if constexpr (sizeof(Sum) == 8) {
        // Far below what int64 holds, however large the bias.
        constexpr std::int64_t kMost = std::int64_t{1} << 60;
        const std::int64_t of_bias = std::clamp<std::int64_t>(bias[unit], -kMost, kMost);
        requantizers[gate].require_fitting(magnitudes.back() * reach + std::abs(of_bias), owner);
      }
    }
    if constexpr (sizeof(Sum) == 4) accumulator_bound(magnitudes, bias, reach, owner);
  }
  return starts;
}

/// Sums over the weights of all gates: of int8 as they are, of int16 rescaled to the gates' scale.
template <class Code>
class GateSums {
 public:
  static constexpr bool kRescales = sizeof(Code) == 2;
  using Sum = std::conditional_t<kRescales, std::int64_t, std::int32_t>;

  /// Operands `weights` weigh `values`; operands `bias`, where that is not 0, are added.
  GateSums(const KernelSource& source, const ModelTensor& values, std::size_t weights,
           std::size_t bias, Rounding rounding)
      : depth_(source.input(weights).shape[1]) {
    for (std::size_t gate = 0; gate < kLstmGates; ++gate) {
      requantizers_.push_back(gate_requantizer(source, values, weights + gate, rounding));
    }
    std::vector<std::int8_t> all = stacked_weights(source, weights);
    start_ = starts_of_sums<Sum>(source, values, all, weights, bias, requantizers_);
    if constexpr (kRescales) {
      weights_ = std::move(all);
    } else {
      weights_ = PackedS8(all.data(), std::ssize(start_), depth_);
    }
  }

  static std::size_t bytes(Index units, Index depth) {
    const Index rows = static_cast<Index>(kLstmGates) * units;
    const auto weights = static_cast<std::size_t>(rows * depth);
    return (kRescales ? weights : PackedS8::bytes(rows, depth)) +
           static_cast<std::size_t>(rows) * sizeof(Sum);
  }
  std::size_t thread_bytes() const {
    if constexpr (kRescales) {
      return 0;
    } else {
      return gemm_s8_thread_bytes(kLstmRows, weights_);
    }
  }

  /// Writes the sums of `rows` rows of values that lie `stride` apart, [rows, gates, units].
  void operator()(Index rows, const Code* values, Index stride, std::int32_t* to) const {
    if constexpr (!kRescales) {
      gemm_s8(rows, values, stride, weights_, to, start_);
    } else {
      const std::size_t units = start_.size() / kLstmGates;
      for (Index row = 0; row < rows; ++row, values += stride) {
        for (std::size_t i = 0; i < start_.size(); ++i) {
          const std::int8_t* const weights = weights_.data() + static_cast<Index>(i) * depth_;
          Sum sum = start_[i];
          for (Index k = 0; k < depth_; ++k) sum += Sum{values[k]} * weights[k];
          *to++ = requantizers_[i / units].apply_wide(sum);
        }
      }
    }
  }

  QuantizedMultiplier factor(std::size_t gate) const {
    return requantizers_[gate].multipliers()[0];
  }

 private:
  Index depth_;
  std::conditional_t<kRescales, std::vector<std::int8_t>, PackedS8> weights_;
  std::vector<Sum> start_;
  std::vector<Requantizer> requantizers_;
};

}  // namespace octet::detail
