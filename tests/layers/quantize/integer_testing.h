#pragma once

#include <octet/layers/activation.h>
#include <octet/layers/dense.h>
#include <octet/layers/program/program.h>
#include <octet/layers/quantize/integer_linear.h>
#include <octet/layers/quantize/integer_ops.h>
#include <octet/layers/quantize/observers.h>
#include <octet/layers/quantize/quantize_config.h>
#include <octet/layers/quantize/scale_rule.h>

#include <string>

// The integer ops of training, asked for by what they compute.

namespace octet::test {

/// Known scale and zero point.
class GivenScale : public ScaleRule {
 public:
  explicit GivenScale(QuantParams params) : params_(std::move(params)) {}
  std::string_view type() const override { return "GivenScale"; }
  QuantParams params() const override { return params_; }
  std::vector<NamedTensor> parameters() const override { return {}; }
  std::unique_ptr<ScaleRule> clone() const override { return std::make_unique<GivenScale>(*this); }

 private:
  QuantParams params_;
};

inline Quantizer quantizer_of(QuantParams params) {
  Quantizer quantizer({}, std::make_unique<FixedObserver>(-1.0F, 1.0F),
                      std::make_unique<GivenScale>(std::move(params)));
  quantizer.build("given", "", Shape{1}, Quantizer::ZeroPoint::hidden);
  return quantizer;
}

inline Tensor integer_activation(const Tensor& x, Activation activation,
                                 const std::optional<QuantParams>& output, Rounding rounding,
                                 const std::string& owner) {
  ActivationLayer layer(activation);
  layer.build(x.shape().without_batch(), Random());
  const Program program = program_of(layer);
  Step step = program.steps.front();
  const QuantizeOptions options{.rounding = rounding};
  Quantizer quantizer = quantizer_of(output.value_or(QuantParams{}));
  step.scheme = std::make_shared<StepScheme>(StepScheme{.owner = owner,
                                                        .options = &options,
                                                        .result = output ? &quantizer : nullptr,
                                                        .on_integers = true});
  const ForwardContext context;
  return integer_operator(step, {{&x, 1}, layer.output_shape(), context},
                          apply_activation(activation, x), output.has_value(), {});
}

/// The only operator of a layer on inputs of int8.
inline Tensor integer_step(const Layer& layer, std::span<const Tensor> inputs,
                           const QuantParams& output, const std::string& owner) {
  Step step = program_of(layer).steps.front();
  const QuantizeOptions options;
  Quantizer quantizer = quantizer_of(output);
  step.scheme = std::make_shared<StepScheme>(
      StepScheme{.owner = owner, .options = &options, .result = &quantizer, .on_integers = true});
  return integer_operator(step, {inputs, layer.output_shape(), {}}, {}, true, {});
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
