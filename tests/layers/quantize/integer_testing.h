#pragma once

#include <octet/layers/activation.h>
#include <octet/layers/dense.h>
#include <octet/layers/quantize/integer_ops.h>

#include <string>

// The integer ops of training, asked for by what they compute.

namespace octet::test {

inline Tensor integer_activation(const Tensor& x, Activation activation,
                                 const std::optional<QuantParams>& output, Rounding rounding,
                                 const std::string& owner) {
  ActivationLayer layer(activation);
  layer.build(x.shape().without_batch(), Random());
  return integer_operator(layer, {&x, 1}, apply_activation(activation, x), output, rounding, owner);
}

/// RELU or RELU6 on the grid `output`.
inline Tensor integer_clamp(const Tensor& x, Activation activation, const QuantParams& output,
                            const std::string& owner) {
  return integer_activation(x, activation, output, Rounding::fp32, owner);
}

/// LOGISTIC or TANH.
inline Tensor integer_table(const Tensor& x, Activation activation, Rounding rounding,
                            const std::string& owner) {
  return integer_activation(x, activation, std::nullopt, rounding, owner);
}

inline Tensor integer_softmax(const Tensor& x, Rounding rounding, const std::string& owner) {
  return integer_activation(x, Activation::softmax, std::nullopt, rounding, owner);
}

inline IntegerLinear integer_linear(const Dense& dense, const Tensor& x,
                                    const QuantParams& kernel_params, Rounding rounding,
                                    const std::string& owner) {
  return {
      *dense.weights(), fused_activation(dense.activation()), x, kernel_params, rounding, owner};
}

}  // namespace octet::test
