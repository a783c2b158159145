#include <octet/core/description.h>
#include <octet/layers/program/program.h>
#include <octet/layers/quantize/config_description.h>
#include <octet/layers/quantize/integer_ops.h>
#include <octet/layers/quantize/quantize_layer.h>
#include <octet/layers/quantize/quantizer_registry.h>

namespace octet {

QuantizeLayer::QuantizeLayer(const QuantizeOptions& options, std::string name)
    : QuantizeLayer(default_input_quantizer(options, activation_spec(options)), options,
                    std::move(name)) {}

QuantizeLayer::QuantizeLayer(std::unique_ptr<Quantizer> quantizer, const QuantizeOptions& options,
                             std::string name)
    : Layer(std::move(name)), quantizer_(std::move(quantizer)), options_(options) {}

QuantizeLayer::QuantizeLayer(const QuantizeLayer& other)
    : Layer(other), quantizer_(clone_of(other.quantizer_)), options_(other.options_) {}

std::vector<GraphValue> QuantizeLayer::emit(Graph& graph,
                                            std::span<const GraphValue> inputs) const {
  const GraphValue result = graph.quantize(inputs[0]);
  graph.steps_from(graph.step_count() - 1).front().scheme =
      std::make_shared<StepScheme>(StepScheme{.owner = name(),
                                              .options = &options_,
                                              .result = quantizer_.get(),
                                              .prepared = make_prepared_step()});
  return {result};
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

void QuantizeLayer::make_tensors(std::span<const Shape> input_shapes, const Random& /*random*/) {
  quantizer_->build(name(), "", input_shapes[0], Quantizer::ZeroPoint::kept);
  if (options_.simulation == Simulation::integer) quantizer_->require_learnable();
}

}  // namespace octet
