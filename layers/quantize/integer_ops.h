#pragma once

#include <octet/layers/program/program.h>
#include <octet/layers/quantize/quantizer.h>
#include <octet/layers/quantize/weight_codes.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace octet {

// Ops on integers, for training: each computes exactly what the exported operator computes, and
// passes on the real values of the codes with their grid. Gradients are straight-through, as those
// of the fake-quantized composition. Inputs must carry a grid (InvalidArgument that names `owner`).

/// The grid that x lies on.
const QuantParams& require_grid(const Tensor& x, const std::string& owner);

/// FULLY_CONNECTED or CONV_2D with a fused activation, in two steps, since the range of the result
/// may be measured in between.
class IntegerLinear {
 public:
  /// Whether sums are kept to be requantized, for output(), or dropped where all that is asked for
  /// is real().
  enum class Sums { kept, dropped };

  /// Makes the codes and sums acc = sum (x_q - zp)(w_q) + b_q exactly in int32. Throws
  /// InvalidArgument that names `owner` where some input could overflow that.
  /// `learned` is what kernel_params are learned from.
  IntegerLinear(const LayerWeights& layer, FusedActivation activation, const Tensor& x,
                const QuantParams& kernel_params, Rounding rounding, const std::string& owner,
                LearnedRange learned = {}, Sums use = Sums::kept);

  /// f(acc * s_x * s_w): the result before it is quantized, f the activation where that is a clamp.
  const Tensor& real_output() const { return real_; }
  /// The real output in the shape of the result, [batch, ...], for more to be made of it in floats.
  /// Gradients reach x, the kernel, the bias and what the kernel's scale and zero point are learned
  /// from.
  Tensor real() const;

  /// y_q = clamp(rescale(acc) + zero_point), on the grid `output`. Gradients reach x, the kernel
  /// and the bias: for the result where real_output() lies between the reals of qmin and qmax and
  /// the activation lets it pass, for the kernel where its code is not clamped. They also reach
  /// what the kernel's grid and `output` are learned from.
  Tensor output(const QuantParams& output, const LearnedRange& learned = {}) const;
  /// The output without the activation, and without gradients: what an activation reads that is an
  /// operator of its own.
  Tensor before_activation(const QuantParams& output) const {
    return requantized(output, FusedActivation::none, {});
  }

 private:
  class RealSums;
  struct Operands;
  std::vector<Tensor> inputs() const;
  /// done(begin, end) is called for rows [begin, end), on the thread that has read their sums.
  Tensor requantized(const QuantParams& output, FusedActivation activation,
                     FunctionRef<void(Index begin, Index end)> done) const;

  std::shared_ptr<const Operands> operands_;
  Rounding rounding_;
  FusedActivation activation_;
  std::shared_ptr<std::int32_t[]> sums_;
  /// Lazy: see RealSums.
  Tensor real_;
};

/// Computes the operator of a step, which has a StepScheme, on integers, by the kernels that
/// the Interpreter runs. `real` is its result in floats, or undefined where no gradient is wanted:
/// gradients go on to it, where `clips` only from values between the real values of qmin and qmax,
/// and to what the scale is learned from.
Tensor integer_operator(const Step& step, const StepInputs& in, const Tensor& real, bool clips,
                        const LearnedRange& learned);

/// What a StepScheme keeps for integer_operator(): operators stay prepared while scales do.
std::shared_ptr<PreparedStep> make_prepared_step();

/// Whether the quantized values of x need int16.
bool is_int16(const Tensor& x);

}  // namespace octet
