#pragma once

#include <octet/core/function_ref.h>
#include <octet/core/kernels/gemm_s8.h>
#include <octet/core/quant/activation_range.h>
#include <octet/core/quant/requantize.h>
#include <octet/runtime/operators/definitions.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

// FULLY_CONNECTED: y = f(x w^T + bias), x [..., depth], w [units, depth], in two steps that the
// interpreter runs one behind the other, and between which training looks at the sums.

namespace octet::detail {

/// Step one, exact: sums[i, j] = sum over k of (x[i, k] - input_zero_point)
/// (w[j, k] - weight_zero_point) + bias[j], in int32. Weights are packed; zero points and bias are
/// folded into what each sum starts from.
class DenseSums {
 public:
  /// `bias` holds one number per unit, or none. Where a `depth` is given, what lies behind so many
  /// numbers of a row is no part of the sums: its packed weights are 0.
  DenseSums(PackedS8 weights, std::span<const std::int32_t> bias, std::int32_t input_zero_point,
            std::int32_t weight_zero_point = 0, std::optional<Index> depth = {});

  const PackedS8& weights() const { return weights_; }
  /// What an object takes on this machine.
  static std::size_t bytes(Index units, Index depth);
  /// Bytes that each thread keeps at most after sums of so many rows.
  std::size_t thread_bytes(Index rows) const { return gemm_s8_thread_bytes(rows, weights_); }

  /// All sums [rows, units]. `rows_done(begin, end)` is called, by the thread that made them, once
  /// for each row whose sums are complete.
  void sums(Index rows, const std::int8_t* x, std::int32_t* sums,
            FunctionRef<void(Index begin, Index end)> rows_done = {}) const;
  /// Computes the sums without storing all of them: those of rows [begin, end) are given to `take`,
  /// and their memory is then used again. `prefetch` is memory that will be read next.
  void sums(Index rows, const std::int8_t* x,
            FunctionRef<void(Index begin, Index end, std::int32_t* sums)> take,
            std::span<const std::byte> prefetch = {}) const;

 private:
  void subtract_rows(const std::int8_t* x, std::span<std::int32_t> sums) const;

  PackedS8 weights_;
  std::int32_t weight_zero_point_;
  Index depth_;
  /// What the sum of each unit starts from, modulo 2^32.
  std::vector<std::int32_t> start_;
};

/// Step two: codes = clamp(rescale(sums) + zero_point, range.lo, range.hi).
struct DenseEpilogue {
  /// The range is that of the output's codes, cut as the activation asks.
  DenseEpilogue(Requantizer rescaling, const QuantParams& output, FusedActivation activation);

  void requantize(std::span<const std::int32_t> sums, std::span<std::int8_t> codes) const {
    requantizer.requantize(sums, codes, zero_point, range.lo, range.hi);
  }
  void requantize(std::span<const std::int64_t> sums, std::span<std::int16_t> codes) const {
    requantizer.requantize(sums, codes, range.lo, range.hi);
  }

  Requantizer requantizer;
  std::int32_t zero_point;
  ActivationRange range;
};

/// The largest value of either sign that any sum, part of a sum included, can reach: the maximum
/// over the units of magnitude * reach + |bias|. `magnitudes` are sum |w - weight_zero_point|,
/// reach is that of |x - input_zero_point|, `bias` holds one number per unit or none. Throws
/// InvalidArgument, naming `owner` and the channel, where that is above 2^31 - 1: runtimes would
/// compute something else, each its own.
std::int64_t accumulator_bound(std::span<const std::int64_t> magnitudes,
                               std::span<const std::int32_t> bias, std::int64_t reach,
                               std::string_view owner);

/// max |q - zero_point| of the codes of a grid.
std::int64_t farthest_from_zero_point(const QuantParams& params);
/// sum |w - zero_point|.
std::int64_t magnitude_of(std::span<const std::int8_t> weights, std::int32_t zero_point);

/// The numbers of an int8 FULLY_CONNECTED or CONV_2D, for whoever runs it or writes it out.
struct FullyConnectedNumbers {
  /// Rows of the output.
  std::int64_t rows;
  std::int64_t depth;
  std::int64_t units;
  std::int32_t input_zero_point;
  std::int32_t weight_zero_point;
  /// [units, depth]; the model's own memory.
  std::span<const std::int8_t> weights;
  /// One per unit; zeros where the operator has none.
  std::vector<std::int32_t> bias;
  DenseEpilogue epilogue;
  /// See accumulator_bound().
  std::int64_t largest_sum;
};

/// How runtimes of contract `rounding` rescale the sums of FULLY_CONNECTED, CONV_2D (of one group)
/// or DEPTHWISE_CONV_2D with weights stored in `bits` bits, `depth` products per sum. XNNPACK,
/// whose contract is fp32, takes FULLY_CONNECTED of 4 bits where depth is even, and of 2 bits where
/// it is a multiple of 4 and there is a scale per unit; LiteRT's built-in kernels compute the rest:
/// DEPTHWISE_CONV_2D as under contract double, the others as under single.
Rounding contract_of_weights(OpCode code, Rounding rounding, int bits, Index depth,
                             bool per_channel);
/// The rounding mode of an operator of a model, by its weights.
Rounding contract_of_weights(const KernelSource& source);

/// Returns the numbers of an operator whose sums `requantizer` rescales. Throws InvalidArgument
/// where an input could bring a sum past int32.
FullyConnectedNumbers dense_numbers(const KernelSource& source, Requantizer requantizer);
/// Returns what rescales the sums of a FULLY_CONNECTED.
Requantizer fully_connected_requantizer(const KernelSource& source);
/// Returns the numbers of a FULLY_CONNECTED.
FullyConnectedNumbers fully_connected_numbers(const KernelSource& source);

/// One number per unit: the third operand, or zeros where there is none. Units run along `axis` of
/// the weights.
template <class T>
std::vector<T> bias_of(const Operands& operands, std::size_t axis = 0) {
  if (operands.has_input(2)) return values_of<T>(operands.input(2));
  return std::vector<T>(static_cast<std::size_t>(operands.input(1).shape[axis]));
}

/// How the bias of an operator of one axis of units is quantized: input scale times weight scale.
QuantParams bias_quantization(const ModelTensor& input, const ModelTensor& weights, DType dtype);

/// What FULLY_CONNECTED and CONV_2D of 1 x 1 have in common: constant weights and bias, their types
/// and quantization, units along `axis` of the weights; the kernels; and an upper bound of what
/// they keep.
void check_dense_operands(const OperatorView& view, std::size_t axis = 0);
std::unique_ptr<Kernel> make_float_dense(const KernelSource& source);
std::unique_ptr<Kernel> make_int8_dense(const FullyConnectedNumbers& numbers);
std::size_t dense_bytes(const Operands& operands);

/// The scale of a bias is input scale * weight scale: the relative error that is accepted.
inline constexpr double kBiasScaleTolerance = 0.02;

}  // namespace octet::detail
