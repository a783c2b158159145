// How a quantized layer computes that has a kernel.

#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/layers/activation.h>
#include <octet/layers/folded_batch_norm.h>
#include <octet/layers/quantize/integer_ops.h>
#include <octet/layers/quantize/quantize_wrapper.h>
#include <octet/layers/quantize/weight_codes.h>

namespace octet {

/// Throws InvalidArgument where the kernel's scales do not belong to its units, or its integers
/// could not be multiplied with.
void QuantizeWrapper::require_sound_kernel() const {
  const int axis = kernel_->spec().axis;
  const int unit_axis = layer_->weights()->unit_axis;
  if (axis >= 0 && axis != unit_axis) {
    throw InvalidArgument(
        fmt::format("layer \"{}\": expected one range for the kernel, or one per unit, on axis {}, "
                    "found a quantizer with axis {}",
                    name(), unit_axis, axis));
  }
  if (!in_integers() || !result_) return;
  require_weights(*layer_, fmt::format("layer \"{}\"", name()));
  require_int32_sums();
}

/// Throws InvalidArgument for a unit that reads more codes than the kernels add up in int32; int16
/// codes are added up in int64.
void QuantizeWrapper::require_int32_sums() const {
  const LayerWeights weights = *layer_->weights();
  const Index inputs = weights.kernel.size() / weights.kernel.dim(weights.unit_axis);
  if (inputs <= PackedS8::kMostInputs || config_->options().rounding == Rounding::q15) return;
  throw InvalidArgument(fmt::format(
      "layer \"{}\": expected units that read at most {} values each, whose int8 products an int32 "
      "sum holds, found {}; make the examples smaller in front of it, by strides or a pool, or "
      "leave it in_float()",
      name(), PackedS8::kMostInputs, inputs));
}

/// Throws InvalidArgument where weights are to be frozen that would not stay so.
void QuantizeWrapper::require_freezable() const {
  const float above = config_->options().freeze_oscillations_above;
  if (above == 0.0F) return;
  if (kernel_->parameters().empty()) {
    throw InvalidArgument(
        fmt::format("layer \"{}\": expected a kernel of learned scale to freeze weights above a "
                    "frequency of {}, found {}, whose scale moves with the weights; set "
                    "weight_scales to lsq",
                    name(), above, kernel_->type()));
  }
  if (layer_->folded_batch_norm() != nullptr) {
    throw InvalidArgument(fmt::format(
        "layer \"{}\": expected a kernel of its own to freeze weights above a frequency "
        "of {}, found one that a batch normalization multiplies; leave "
        "freeze_oscillations_above at 0 for it",
        name(), above));
  }
}

void QuantizeWrapper::count_oscillation(const Tensor& kernel, const ForwardContext& context) const {
  if (!oscillation_ || context.mode != ForwardContext::Mode::training) return;
  oscillation_->count(kernel, kernel_->params());
}

void QuantizeWrapper::hold_frozen_weights() {
  if (!holds_frozen_weights()) oscillation_->hold(layer_->weights()->kernel, kernel_->params());
}

bool QuantizeWrapper::holds_frozen_weights() const {
  return !oscillation_ || !kernel_->has_range() ||
         oscillation_->is_held(layer_->weights()->kernel, kernel_->params());
}

/// Integers need both ends on a grid; a config that leaves one alone computes in float.
bool QuantizeWrapper::multiplies_codes() const {
  return in_integers() && kernel_ && kernel_->enabled() && result_ && result_->enabled();
}

/// What the layer makes of its products and sums where they are floats.
Tensor QuantizeWrapper::finished(const Tensor& linear, const ForwardContext& context) const {
  const bool before = quantizes_before(activation());
  Tensor result = before ? linear : apply_activation(activation(), linear);
  if (!result_) return result;
  result_->watch(result, context);
  return simulated(*result_, result);
}

Tensor QuantizeWrapper::fake_quant_linear(const LayerWeights& weights, const Tensor& x) const {
  const Tensor kernel = kernel_ ? kernel_->fake_quant(weights.kernel) : weights.kernel;
  return layer_->linear(x, kernel, weights.bias);
}

/// The sums' codes, which are a step of their own where a clamp is an operator behind them.
std::vector<Tensor> QuantizeWrapper::integer_linear(const LayerWeights& weights, const Tensor& x,
                                                    const ForwardContext& context) const {
  // A function with a grid of its own is an operator of its own.
  const bool ends_in_function = quantizes_before(activation());
  const IntegerLinear dense(
      weights, ends_in_function ? FusedActivation::none : fused_activation(activation()), x,
      kernel_->params(), config_->options().rounding, name(), kernel_->learned_range());
  if (context.observes()) result_->watch(dense.real_output(), context);
  std::vector<Tensor> steps;
  if (has_separate_clamp(weights, activation(), config_->options().rounding)) {
    steps.push_back(dense.before_activation(result_->params()));
  }
  steps.push_back(dense.output(result_->params(), result_->learned_range()));
  return steps;
}

/// On int16 codes: values by the operator that is exported, gradients of the float function.
Tensor QuantizeWrapper::int16_linear(const LayerWeights& weights, const Tensor& x,
                                     const ForwardContext& context) const {
  const bool ends_in_function = quantizes_before(activation());
  Tensor real;
  if (context.observes() || wants_gradient({&x, 1})) {
    real = fake_quant_linear(weights, x);
    if (!ends_in_function) real = apply_activation(activation(), real);
    if (context.observes()) result_->watch(real, context);
  }
  return octet::int16_linear(
      *layer_, ends_in_function ? FusedActivation::none : fused_activation(activation()), x, real,
      kernel_->params(), result_->params(), name(), result_->learned_range());
}

/// The kernel's codes are those of inference with the moving statistics as they are now; the rest
/// is floats.
Tensor QuantizeWrapper::with_statistics_of_batch(FoldedBatchNorm& folded, const Tensor& x,
                                                 const ForwardContext& context) const {
  const FoldedBatchNorm::Batch batch = folded.run_batch(x);
  LayerWeights weights = *layer_->weights();
  weights.bias = {};
  if (kernel_) kernel_->watch(weights.kernel, context);
  count_oscillation(weights.kernel, context);
  const bool in_int32 = multiplies_codes() && !on_int16_grid(x);
  const Tensor z = in_int32 ? IntegerLinear(weights, FusedActivation::none, x, kernel_->params(),
                                            config_->options().rounding, name(),
                                            kernel_->learned_range(), IntegerLinear::Sums::dropped)
                                  .real()
                            : fake_quant_linear(weights, x);
  return finished(folded.corrected(z, batch), context);
}

std::vector<Tensor> QuantizeWrapper::with_kernel(const Tensor& x, const ForwardContext& context) {
  FoldedBatchNorm* folded = folded_batch_norm();
  if (folded != nullptr && folded->uses_batch(context)) {
    return {with_statistics_of_batch(*folded, x, context)};
  }
  const LayerWeights weights = *layer_->weights();
  if (kernel_) kernel_->watch(weights.kernel, context);
  count_oscillation(weights.kernel, context);
  if (multiplies_codes() && on_int16_grid(x)) return {int16_linear(weights, x, context)};
  if (multiplies_codes()) return integer_linear(weights, x, context);
  return {finished(fake_quant_linear(weights, x), context)};
}

}  // namespace octet
