#include <fmt/core.h>
#include <octet/core/autograd.h>
#include <octet/core/error.h>
#include <octet/core/ops/batch_norm_internal.h>
#include <octet/core/ops/elementwise.h>
#include <octet/layers/activation_function.h>
#include <octet/layers/folded_batch_norm.h>
#include <octet/layers/program/float_linear.h>
#include <octet/layers/program/float_step.h>
#include <octet/layers/program/linear_operator.h>
#include <octet/layers/quantize/integer_linear.h>
#include <octet/layers/quantize/integer_lstm.h>
#include <octet/layers/quantize/integer_matmul.h>
#include <octet/layers/quantize/integer_ops.h>
#include <octet/layers/quantize/oscillation.h>
#include <octet/layers/quantize/quantize_config.h>
#include <octet/layers/quantize/quantize_tensor.h>
#include <octet/layers/quantize/quantized_step.h>
#include <octet/layers/quantize/shared_range.h>
#include <octet/layers/quantize/step_rules.h>
#include <octet/runtime/operators/definitions.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace octet {
namespace {

bool in_integers(const StepScheme& scheme) {
  return scheme.options->simulation == Simulation::integer;
}

/// Whether training computes a step on integers, as the exported model does, for all that its
/// quantizers say now.
bool trains_on_integers(const StepScheme& scheme) {
  const auto is_ready = [](const Quantizer* quantizer) {
    return quantizer == nullptr || quantizer->enabled();
  };
  return scheme.on_integers && in_integers(scheme) && is_ready(scheme.kernel) &&
         is_ready(scheme.result);
}

/// Whether training computes a step on integers with these inputs, which are real before there is
/// a scale for them.
bool trains_on_integers(const Step& step, std::span<const Tensor> x) {
  return trains_on_integers(*step.scheme) &&
         std::ranges::all_of(x, [](const Tensor& v) { return v.quantization() != nullptr; });
}

/// Real values quantized as a QUANTIZE of the rounding mode does it, or fake-quantized.
Tensor simulated(const StepScheme& scheme, const Quantizer& quantizer, const Tensor& x) {
  return quantizer.simulate(x, scheme.options->simulation, quantize_mode(scheme.options->rounding));
}

/// x, whose range is `factor` times that of the quantizer, fake-quantized.
Tensor widened(const Quantizer& quantizer, const Tensor& x, float factor) {
  if (factor == 1.0F) return quantizer.fake_quant(x);
  return quantizer.fake_quant(x * (1.0F / factor)) * factor;
}

/// Whether an input, a parameter of the step's layer or one of its quantizers wants a gradient.
bool wants_gradient(const Step& step, std::span<const Tensor> x) {
  std::vector<Tensor> tensors(x.begin(), x.end());
  const auto add = [&](const std::vector<NamedTensor>& parameters) {
    for (const auto& [name, tensor] : parameters) tensors.push_back(tensor);
  };
  add(step.layer->parameters());
  for (const Quantizer* quantizer : {step.scheme->kernel, step.scheme->result}) {
    if (quantizer != nullptr) add(quantizer->parameters());
  }
  return records_gradient(tensors);
}

/// The result of real values, quantized where the scheme has a quantizer for it.
Tensor finished(const Step& step, const Tensor& real, const StepInputs& in) {
  const StepScheme& scheme = *step.scheme;
  if (scheme.result == nullptr) return real;
  watch_result(step, real, in.context);
  return simulated(scheme, *scheme.result, real);
}

/// Batch normalization whose gradient passes the quantization in the passes that it takes anyway,
/// where nothing is learned from it.
Tensor finished(const Step& step, const detail::TrainingNorm& norm, const StepInputs& in) {
  const StepScheme& scheme = *step.scheme;
  if (scheme.result == nullptr || !in_integers(scheme) ||
      scheme.result->learned_range().wants_gradient()) {
    return finished(step, norm.result(), in);
  }
  const Tensor y = finished(step, norm.values(), in);
  if (y.quantization() == nullptr) return norm.result();
  return norm.quantized(y,
                        scheme.result->learned_range().passes_or(real_limits(*y.quantization())));
}

/// The step before its clamp, with fake-quantized weights.
Tensor fake_quant_linear(const Step& step, LayerWeights weights, const Tensor& x) {
  const Quantizer* kernel = step.scheme->kernel;
  if (kernel != nullptr) weights.kernel = kernel->fake_quant(weights.kernel);
  return linear_in_floats(*step.layer, weights, x, FusedActivation::none);
}

void count_oscillation(const StepScheme& scheme, const Tensor& kernel,
                       const ForwardContext& context) {
  // A layer that is used several times has one step of training a pass.
  const bool is_first = scheme.shared == nullptr || scheme.shared_position == 0;
  if (scheme.oscillation == nullptr || !context.training() || !is_first) return;
  scheme.oscillation->count(kernel, scheme.kernel->params());
}

/// Gradients with random numbers of the step's own, also where steps of time or uses of one layer
/// read the same weights.
GradientRule gradient_rule(const Step& step, const ForwardContext& context) {
  GradientRule rule{.backward = context.backward,
                    .random = context.random.fork(step.result),
                    .angles = context.angles};
  if (rule.angles != nullptr) rule.layer = step.layer->name();
  return rule;
}

/// The integers of the weights are those of inference with the moving statistics as they are now;
/// the rest is floats.
Tensor with_statistics_of_batch(const Step& step, const StepInputs& in) {
  const StepScheme& scheme = *step.scheme;
  const Tensor& x = in.x[0];
  const auto [weights, multipliers] = step.folded->batch_weights();
  if (scheme.kernel != nullptr) scheme.kernel->watch(weights.kernel, in.context);
  count_oscillation(scheme, weights.kernel, in.context);
  const bool in_int32 = scheme.kernel != nullptr && trains_on_integers(scheme) && !is_int16(x);
  const Tensor z =
      in_int32
          ? IntegerLinear(weights, FusedActivation::none, x, scheme.kernel->params(),
                          scheme.options->rounding, scheme.owner, scheme.kernel->learned_range(),
                          IntegerLinear::Sums::dropped, nullptr, gradient_rule(step, in.context))
                .real()
          : fake_quant_linear(step, weights, x);
  return finished(step, step.folded->normalize_batch(z, multipliers, step.clamp), in);
}

/// Computes sums of int8 products; gives `in.before` also what the PAD in front of the operator and
/// the sums before a clamp of its own would be in the file.
Tensor int8_linear(const Step& step, const LayerWeights& weights, const StepInputs& in) {
  const StepScheme& scheme = *step.scheme;
  const IntegerLinear sums(weights, step.clamp, in.x[0], scheme.kernel->params(),
                           scheme.options->rounding, scheme.owner, scheme.kernel->learned_range(),
                           IntegerLinear::Sums::kept, in.integers, gradient_rule(step, in.context));
  if (in.context.observes()) watch_result(step, sums.real_output(), in.context);
  const Padding2D zeros = zeros_in_front(weights);
  if (in.before != nullptr && zeros != Padding2D{}) {
    in.before->push_back(quantize_dequantize(pad2d(in.x[0], zeros), in.x[0].quantization()));
  }
  if (in.before != nullptr && has_separate_clamp(weights, step.clamp, scheme.options->rounding)) {
    in.before->push_back(sums.before_activation(scheme.result->params()));
  }
  return sums.output(scheme.result->params(), scheme.result->learned_range());
}

/// On int16: values by the operator that is exported, gradients of the float function.
Tensor int16_linear(const Step& step, const LayerWeights& weights, const StepInputs& in) {
  const StepScheme& scheme = *step.scheme;
  Tensor real;
  if (in.context.observes() || wants_gradient(step, in.x)) {
    real = apply_activation(step.clamp, fake_quant_linear(step, weights, in.x[0]));
    if (in.context.observes()) watch_result(step, real, in.context);
  }
  return integer_operator(step, in, real, /*clips=*/true, scheme.result->learned_range());
}

Tensor run_linear(const Step& step, const StepInputs& in) {
  const StepScheme& scheme = *step.scheme;
  if (step.folded != nullptr && step.folded->uses_batch(in.context)) {
    return with_statistics_of_batch(step, in);
  }
  const LayerWeights weights = weights_of(step, in);
  if (scheme.kernel != nullptr) scheme.kernel->watch(weights.kernel, in.context);
  count_oscillation(scheme, weights.kernel, in.context);
  if (scheme.kernel == nullptr || !trains_on_integers(scheme)) {
    const Tensor linear = fake_quant_linear(step, weights, in.x[0]);
    return finished(step, apply_activation(step.clamp, linear), in);
  }
  return is_int16(in.x[0]) ? int16_linear(step, weights, in) : int8_linear(step, weights, in);
}

/// QUANTIZE: of real values, or of integers that get another scale.
Tensor run_quantize(const Step& step, const StepInputs& in) {
  const StepScheme& scheme = *step.scheme;
  const Tensor& x = in.x[0];
  watch_result(step, x, in.context);
  if (!trains_on_integers(step, in.x)) return simulated(scheme, *scheme.result, x);
  return integer_operator(step, in, x, /*clips=*/true, scheme.result->learned_range());
}

/// Values that are joined with others and may not have their scale: in training, ranges may have
/// moved since they were quantized. If a Dropout has widened the range of one of the joined, the
/// scale of all fits the widest, so that nothing is clipped.
Tensor run_requantize(const Step& step, const StepInputs& in) {
  const StepScheme& scheme = *step.scheme;
  const Quantizer& common = *scheme.common;
  const Tensor& x = in.x[0];
  if (!common.has_range() || !common.enabled()) return x;
  const float widest = in.context.training() ? scheme.widest_range : 1.0F;
  auto params = std::make_shared<QuantParams>(common.params());
  for (float& scale : params->scales) scale *= widest;
  const std::shared_ptr<const QuantParams>& own = x.quantization();
  if (own != nullptr && *own == *params) return x;
  Tensor y = widest == 1.0F        ? simulated(scheme, common, x)
             : in_integers(scheme) ? quantize_dequantize(x, std::move(params),
                                                         quantize_mode(scheme.options->rounding))
                                   : widened(common, x, scheme.range_of_input);
  // lower() writes a QUANTIZE for it.
  if (in.before != nullptr && own != nullptr) in.before->push_back(y);
  return y;
}

/// An operator, or a function of a layer's own, whose result has a quantizer.
Tensor measured(const Step& step, const StepInputs& in) {
  const StepScheme& scheme = *step.scheme;
  const bool by_operator = trains_on_integers(step, in.x);
  const bool trains = in.context.observes() || wants_gradient(step, in.x);
  if (by_operator && trains && is_int8_matmul(step, in)) return integer_matmul(step, in);
  if (by_operator && trains && is_traced_lstm(step, in)) return integer_lstm(step, in);
  Tensor real;
  if (!by_operator || trains) real = run_in_floats(step, in);
  if (!by_operator) return finished(step, real, in);
  watch_result(step, real, in.context);
  return integer_operator(step, in, real, /*clips=*/true, scheme.result->learned_range());
}

/// An operator whose result has the scale and the zero point of what it reads, which all inputs
/// have where it joins them.
Tensor as_input(const Step& step, const StepInputs& in) {
  Tensor real = run_in_floats(step, in);
  // What leaves all integers as they are, as a RESHAPE, says so itself.
  if (!trains_on_integers(step, in.x) || real.quantization() != nullptr) return real;
  const bool clips = step.code == OpCode::relu6;
  return integer_operator(step, in, real, clips, {});
}

/// A function whose result has a scale of its own, as softmax.
Tensor fixed(const Step& step, const StepInputs& in) {
  const Tensor& x = in.x[0];
  if (in.context.logits && step.code == OpCode::softmax) return x;
  if (!trains_on_integers(step, in.x)) return run_in_floats(step, in);
  const Tensor real = wants_gradient(step, in.x) ? run_in_floats(step, in) : Tensor();
  return integer_operator(step, in, real, /*clips=*/false, {});
}

Tensor run_operator(const Step& step, const StepInputs& in) {
  if (step.scheme->result != nullptr) return measured(step, in);
  switch (rule_of(step, step.scheme->options->rounding)) {
    case ResultRule::as_inputs:
    case ResultRule::as_input:
    case ResultRule::clamps:
      return as_input(step, in);
    case ResultRule::fixed:
      return fixed(step, in);
    case ResultRule::measured:
    case ResultRule::unknown:
      return run_in_floats(step, in);
  }
  throw InvalidArgument("quantized step: a ResultRule outside the enumeration");
}

}  // namespace

Tensor run_quantized(const Step& step, const StepInputs& in) {
  switch (step.kind) {
    case Step::Kind::quantize:
      return run_quantize(step, in);
    case Step::Kind::requantize:
      return run_requantize(step, in);
    case Step::Kind::linear:
      return run_linear(step, in);
    case Step::Kind::function:
    case Step::Kind::parameter:
      return finished(step, run_in_floats(step, in), in);
    case Step::Kind::op:
      return run_operator(step, in);
  }
  throw InvalidArgument("quantized step: a kind outside the enumeration");
}

}  // namespace octet
