#include <octet/layers/quantize/integer_ops.h>
#include <octet/layers/quantize/quantize_wrapper.h>

namespace octet {

QuantizeWrapper::QuantizeWrapper(std::unique_ptr<Dense> dense,
                                 std::shared_ptr<const QuantizeConfig> config)
    : Layer("quant_" + dense->name()),
      dense_(std::move(dense)),
      config_(std::move(config)),
      kernel_(config_->kernel_quantizer(*dense_)),
      activation_(config_->activation_quantizer(*dense_)) {}

QuantizeWrapper::QuantizeWrapper(const QuantizeWrapper& other)
    : Layer(other),
      dense_(static_cast<Dense*>(other.dense_->clone().release())),
      config_(other.config_),
      kernel_(clone_of(other.kernel_)),
      activation_(clone_of(other.activation_)) {}

Shape QuantizeWrapper::do_build(const Shape& input_shape, const Random& random) {
  // Wrapping a trained layer keeps its weights; building the wrapper anew does not.
  if (!dense_->built() || built()) dense_->build(input_shape, random);
  if (kernel_) {
    kernel_->build(name() + "/kernel", "kernel_", dense_->kernel().shape(),
                   Quantizer::ZeroPoint::hidden);
  }
  if (activation_) {
    const std::string prefix =
        quantizes_before(dense_->activation()) ? "pre_activation_" : "post_activation_";
    activation_->build(name() + "/" + prefix + "range", prefix, dense_->output_shape(),
                       Quantizer::ZeroPoint::kept);
  }
  return dense_->output_shape();
}

void QuantizeWrapper::refresh_kernel_range() {
  if (kernel_) kernel_->observe(dense_->kernel());
}

Tensor QuantizeWrapper::fake_quant_linear(const Tensor& x, const ForwardContext& context) const {
  const Tensor kernel = kernel_ ? kernel_->fake_quant(dense_->kernel()) : dense_->kernel();
  const Tensor linear = dense_->linear(x, kernel);
  const bool before = quantizes_before(dense_->activation());
  Tensor result = before ? linear : apply_activation(dense_->activation(), linear);
  if (!activation_) return result;
  if (context.observes()) activation_->observe(result);
  return activation_->simulate(result, config_->options().simulation);
}

Tensor QuantizeWrapper::integer_linear(const Tensor& x, const ForwardContext& context) const {
  const IntegerDense dense(*dense_, x, kernel_->params(), config_->options().rounding, name());
  if (context.observes()) activation_->observe(dense.real_output());
  return dense.output(activation_->params());
}

Tensor QuantizeWrapper::forward_linear(const Tensor& x, const ForwardContext& context) {
  if (context.observes()) refresh_kernel_range();
  // Integers need both ends on a grid; a config that leaves one alone computes in float.
  const bool in_integers = config_->options().simulation == Simulation::integer && kernel_ &&
                           kernel_->enabled() && activation_ && activation_->enabled();
  return in_integers ? integer_linear(x, context) : fake_quant_linear(x, context);
}

Tensor QuantizeWrapper::forward_logits(const Tensor& x, const ForwardContext& context) {
  Tensor result = forward_linear(x, context);
  if (!quantizes_before(dense_->activation()) || ends_in_softmax()) return result;
  return apply_fixed_grid_activation(dense_->activation(), result, config_->options().simulation,
                                     config_->options().rounding, name());
}

Tensor QuantizeWrapper::forward(const Tensor& x, const ForwardContext& context) {
  Tensor result = forward_logits(x, context);
  if (!ends_in_softmax()) return result;
  return apply_fixed_grid_activation(Activation::softmax, result, config_->options().simulation,
                                     config_->options().rounding, name());
}

std::vector<NamedTensor> QuantizeWrapper::state() const {
  std::vector<NamedTensor> result = dense_->state();
  if (kernel_) append(result, kernel_->state());
  if (activation_) append(result, activation_->state());
  return result;
}

std::vector<NamedTensor> QuantizeWrapper::counters() const {
  std::vector<NamedTensor> result;
  if (kernel_) append(result, kernel_->counters());
  if (activation_) append(result, activation_->counters());
  return result;
}

std::vector<Quantizer*> QuantizeWrapper::quantizers() const {
  std::vector<Quantizer*> result;
  if (kernel_) result.push_back(kernel_.get());
  if (activation_) result.push_back(activation_.get());
  return result;
}

std::unique_ptr<Layer> QuantizeWrapper::clone() const {
  return std::make_unique<QuantizeWrapper>(*this);
}

}  // namespace octet
