#include <octet/layers/quantize/quantize_layer.h>

namespace octet {

QuantizeLayer::QuantizeLayer(QuantizeOptions options, std::string name)
    : QuantizeLayer(std::make_unique<AllValuesQuantizer>(QuantSpec{}, options.range_start),
                    options.simulation, std::move(name)) {}

QuantizeLayer::QuantizeLayer(std::unique_ptr<Quantizer> quantizer, Simulation simulation,
                             std::string name)
    : Layer(std::move(name)), quantizer_(std::move(quantizer)), simulation_(simulation) {}

QuantizeLayer::QuantizeLayer(const QuantizeLayer& other)
    : Layer(other), quantizer_(other.quantizer_->clone()), simulation_(other.simulation_) {}

Tensor QuantizeLayer::forward(const Tensor& x, const ForwardContext& context) {
  if (context.observes()) quantizer_->observe(x);
  return quantizer_->simulate(x, simulation_);
}

std::unique_ptr<Layer> QuantizeLayer::clone() const {
  return std::make_unique<QuantizeLayer>(*this);
}

Shape QuantizeLayer::do_build(const Shape& input_shape, const Random& /*random*/) {
  quantizer_->build(name(), "", input_shape, Quantizer::ZeroPoint::kept);
  return input_shape;
}

}  // namespace octet
