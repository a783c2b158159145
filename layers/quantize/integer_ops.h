#pragma once

#include <octet/layers/quantize/dense_codes.h>
#include <octet/layers/quantize/quantizer.h>

#include <memory>
#include <string>
#include <vector>

namespace octet {

// Ops on integers, for training: each computes exactly what the exported operator computes, and
// passes on the real values of the codes with their grid. Gradients are straight-through, as those
// of the fake-quantized composition. Inputs must carry a grid (InvalidArgument that names `owner`).

/// The grid that x lies on.
const QuantParams& require_grid(const Tensor& x, const std::string& owner);

/// Throws InvalidArgument, naming `owner`, unless the codes of `grid` are all of int8: operators
/// clamp to nothing narrower.
void require_int8(const QuantParams& grid, const std::string& owner);

/// FULLY_CONNECTED with a fused activation, in two steps, since the range of the result may be
/// measured in between.
class IntegerDense {
 public:
  /// Makes the codes and sums acc = sum (x_q - zp)(w_q) + b_q exactly in int32. Throws
  /// InvalidArgument that names `owner` where some input could overflow that.
  IntegerDense(const Dense& dense, const Tensor& x, const QuantParams& kernel_params,
               Rounding rounding, const std::string& owner);

  /// f(acc * s_x * s_w): the result before it is quantized, f the activation where that is a clamp.
  const Tensor& real_output() const { return real_; }

  /// y_q = clamp(rescale(acc) + zero_point), on the grid `output`. Gradients reach x, the kernel
  /// and the bias: for the result where real_output() lies between the reals of qmin and qmax and
  /// the activation lets it pass, for the kernel where its code is not clamped.
  Tensor output(const QuantParams& output) const;

 private:
  struct Operands;
  std::shared_ptr<const Operands> operands_;
  Rounding rounding_;
  FusedActivation activation_;
  std::shared_ptr<std::int32_t[]> sums_;
  Tensor real_;
};

/// RELU or RELU6 as an operator of its own: codes on the grid `output`. The same under every
/// rounding contract; on the input's own grid it is a clamp of codes and no more.
Tensor integer_clamp(const Tensor& x, Activation activation, const QuantParams& output,
                     const std::string& owner);

/// LOGISTIC or TANH, by the table of the contract (Int8Lut): output scale 1/256 and 1/128.
Tensor integer_table(const Tensor& x, Activation activation, Rounding rounding,
                     const std::string& owner);

/// SOFTMAX over the last axis, output scale 1/256.
Tensor integer_softmax(const Tensor& x, Rounding rounding, const std::string& owner);

/// An activation whose result keeps its own fixed grid (softmax, sigmoid, tanh): on integers where
/// x carries a grid and `simulation` asks for them, else in float.
Tensor apply_fixed_grid_activation(Activation activation, const Tensor& x, Simulation simulation,
                                   Rounding rounding, const std::string& owner);

}  // namespace octet
