#include <octet/layers/activation.h>
#include <octet/layers/quantize/integer_ops.h>
#include <octet/layers/quantize/quantize_output_wrapper.h>

namespace octet {

QuantizeOutputWrapper::QuantizeOutputWrapper(std::unique_ptr<Layer> layer,
                                             std::shared_ptr<const QuantizeConfig> config)
    : Layer("quant_" + layer->name()),
      layer_(std::move(layer)),
      config_(std::move(config)),
      output_(config_->output_quantizer(*layer_)) {}

QuantizeOutputWrapper::QuantizeOutputWrapper(const QuantizeOutputWrapper& other)
    : Layer(other),
      layer_(other.layer_->clone()),
      config_(other.config_),
      output_(clone_of(other.output_)) {}

Shape QuantizeOutputWrapper::do_build(const Shape& input_shape, const Random& random) {
  if (!layer_->built()) layer_->build(input_shape, random);
  if (output_) {
    output_->build(name() + "/output", "output_", layer_->output_shape(),
                   Quantizer::ZeroPoint::kept);
  }
  return layer_->output_shape();
}

Tensor QuantizeOutputWrapper::forward_logits(const Tensor& x, const ForwardContext& context) {
  const auto* activation = dynamic_cast<const ActivationLayer*>(layer_.get());
  const QuantizeOptions& options = config_->options();
  const bool in_integers = options.simulation == Simulation::integer && x.grid() && activation;
  if (!output_) {
    const bool by_table = in_integers && quantizes_before(activation->activation()) &&
                          !activation->ends_in_softmax();
    return by_table ? integer_table(x, activation->activation(), name())
                    : layer_->forward_logits(x, context);
  }
  const Tensor real = layer_->forward_logits(x, context);
  if (context.observes()) output_->observe(real);
  if (in_integers && output_->enabled() && !quantizes_before(activation->activation())) {
    return integer_clamp(x, activation->activation(), output_->params(), options.rounding, name());
  }
  return output_->simulate(real, options.simulation);
}

Tensor QuantizeOutputWrapper::forward(const Tensor& x, const ForwardContext& context) {
  const Tensor result = forward_logits(x, context);
  if (!ends_in_softmax()) return result;
  const bool in_integers = config_->options().simulation == Simulation::integer && result.grid();
  return in_integers ? integer_softmax(result, config_->options().rounding, name())
                     : apply_activation(Activation::softmax, result);
}

std::vector<NamedTensor> QuantizeOutputWrapper::state() const {
  return output_ ? output_->state() : layer_->state();
}

std::vector<NamedTensor> QuantizeOutputWrapper::counters() const {
  return output_ ? output_->counters() : layer_->counters();
}

std::vector<Quantizer*> QuantizeOutputWrapper::quantizers() const {
  return output_ ? std::vector<Quantizer*>{output_.get()} : std::vector<Quantizer*>{};
}

std::unique_ptr<Layer> QuantizeOutputWrapper::clone() const {
  return std::make_unique<QuantizeOutputWrapper>(*this);
}

}  // namespace octet
