#include <octet/core/description.h>
#include <octet/layers/lowering.h>
#include <octet/layers/quantize/config_description.h>
#include <octet/layers/quantize/quantize_layer.h>
#include <octet/layers/quantize/quantizer_registry.h>

namespace octet {

QuantizeLayer::QuantizeLayer(const QuantizeOptions& options, std::string name)
    : QuantizeLayer(default_input_quantizer(options), options, std::move(name)) {}

QuantizeLayer::QuantizeLayer(std::unique_ptr<Quantizer> quantizer, const QuantizeOptions& options,
                             std::string name)
    : Layer(std::move(name)), quantizer_(std::move(quantizer)), options_(options) {}

QuantizeLayer::QuantizeLayer(const QuantizeLayer& other)
    : Layer(other), quantizer_(clone_of(other.quantizer_)), options_(other.options_) {}

Tensor QuantizeLayer::forward(const Tensor& x, const ForwardContext& context) {
  require_built();
  quantizer_->watch(x, context);
  return quantizer_->simulate(x, options_.simulation, quantize_mode(options_.rounding));
}

std::int32_t QuantizeLayer::lower(Lowering& lowering, std::span<const std::int32_t> inputs) const {
  lowering.require_codes(*this);
  lowering.require_rounding(name(), options_.rounding);
  return lowering.quantize_input(*this, inputs[0], quantizer_->params());
}

void QuantizeLayer::describe(Description& description) const {
  description.set("options", describe_options(options_))
      .set("quantizer", octet::describe(quantizer_.get()));
}

std::unique_ptr<Layer> QuantizeLayer::make(const Description& description) {
  return std::make_unique<QuantizeLayer>(quantizer_in(description, "quantizer"),
                                         options_from(description.part("options")));
}

std::unique_ptr<Layer> QuantizeLayer::clone() const {
  return std::make_unique<QuantizeLayer>(*this);
}

Shape QuantizeLayer::do_build(const Shape& input_shape, const Random& /*random*/) {
  quantizer_->build(name(), "", input_shape, Quantizer::ZeroPoint::kept);
  if (options_.simulation == Simulation::integer) quantizer_->require_learnable();
  return input_shape;
}

}  // namespace octet
