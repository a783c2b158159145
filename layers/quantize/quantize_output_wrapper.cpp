#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/core/tensor_internal.h>
#include <octet/layers/activation.h>
#include <octet/layers/quantize/integer_ops.h>
#include <octet/layers/quantize/quantize_output_wrapper.h>

namespace octet {

QuantizeOutputWrapper::QuantizeOutputWrapper(std::unique_ptr<Layer> layer,
                                             std::shared_ptr<const QuantizeConfig> config)
    : Layer("quant_" + layer->name()),
      layer_(std::move(layer)),
      config_(std::move(config)),
      output_(config_->output_quantizer(*layer_)) {
  if (output_ && layer_->ends_in_softmax()) {
    throw InvalidArgument(fmt::format(
        "layer \"{}\": expected no quantizer for the output of a softmax, whose codes are steps of "
        "1/256, found one in its QuantizeConfig",
        layer_->name()));
  }
}

QuantizeOutputWrapper::QuantizeOutputWrapper(const QuantizeOutputWrapper& other)
    : Layer(other),
      layer_(other.layer_->clone()),
      config_(other.config_),
      output_(clone_of(other.output_)) {}

Shape QuantizeOutputWrapper::do_build(const Shape& input_shape, const Random& random) {
  // Wrapping a trained layer keeps its weights; building the wrapper anew does not.
  if (!layer_->built() || built()) layer_->build(input_shape, random);
  if (output_) {
    output_->build(name() + "/output", "output_", layer_->output_shape(),
                   Quantizer::ZeroPoint::kept);
  }
  return layer_->output_shape();
}

Tensor QuantizeOutputWrapper::forward_logits(const Tensor& x, const ForwardContext& context) {
  const auto* activation = dynamic_cast<const ActivationLayer*>(layer_.get());
  const QuantizeOptions& options = config_->options();
  const bool fixed_grid = activation != nullptr && quantizes_before(activation->activation());
  if (!output_ && options.simulation == Simulation::integer && x.grid() &&
      clamps_input_codes(*layer_, options.rounding)) {
    return integer_clamp(x, activation->activation(), *x.grid(), name());
  }
  if (!output_) {
    return fixed_grid && !ends_in_softmax()
               ? apply_fixed_grid_activation(activation->activation(), x, options.simulation,
                                             options.rounding, name())
               : layer_->forward_logits(x, context);
  }
  const Tensor real = layer_->forward_logits(x, context);
  if (context.observes()) output_->observe(real);
  const bool in_integers = options.simulation == Simulation::integer &&
                           detail::TensorAccess::grid(x) && output_->enabled() &&
                           activation != nullptr && !fixed_grid;
  return in_integers ? integer_clamp(x, activation->activation(), output_->params(), name())
                     : output_->simulate(real, options.simulation);
}

Tensor QuantizeOutputWrapper::forward(const Tensor& x, const ForwardContext& context) {
  Tensor result = forward_logits(x, context);
  if (!ends_in_softmax()) return result;
  return apply_fixed_grid_activation(Activation::softmax, result, config_->options().simulation,
                                     config_->options().rounding, name());
}

std::vector<NamedTensor> QuantizeOutputWrapper::state() const {
  std::vector<NamedTensor> result = layer_->state();
  if (output_) append(result, output_->state());
  return result;
}

std::vector<NamedTensor> QuantizeOutputWrapper::counters() const {
  std::vector<NamedTensor> result = layer_->counters();
  if (output_) append(result, output_->counters());
  return result;
}

std::vector<Quantizer*> QuantizeOutputWrapper::quantizers() const {
  return output_ ? std::vector<Quantizer*>{output_.get()} : std::vector<Quantizer*>{};
}

std::unique_ptr<Layer> QuantizeOutputWrapper::clone() const {
  return std::make_unique<QuantizeOutputWrapper>(*this);
}

void require_exportable_clamp(const QuantizeOutputWrapper& wrapper) {
  if (wrapper.output_quantizer() == nullptr ||
      !clamps_input_codes(wrapper.wrapped(), wrapper.config().options().rounding)) {
    return;
  }
  throw InvalidArgument(fmt::format(
      "layer \"{}\": expected no quantizer for the output of a ReLU6 of its own under rounding "
      "double, found one in its QuantizeConfig; the RELU6 of TFLite Micro clamps codes without "
      "rescaling them. Leave it to the default scheme, which keeps the scale of its input, make it "
      "the activation of the Dense in front, or use a ReLU",
      wrapper.wrapped().name()));
}

}  // namespace octet
