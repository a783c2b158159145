#include <octet/core/description.h>
#include <octet/layers/activation.h>
#include <octet/layers/graph.h>

namespace octet {

ActivationLayer::ActivationLayer(Activation activation, std::string name)
    : ActivationLayer(activation, kType, std::move(name)) {}

std::vector<GraphValue> ActivationLayer::emit(Graph& graph,
                                              std::span<const GraphValue> inputs) const {
  return {graph.activate(inputs[0], activation())};
}

void ActivationLayer::describe(Description& description) const {
  if (type_ == kType) description.set("activation", to_string(activation()));
}

bool is_activation(const Layer& layer) {
  return dynamic_cast<const ActivationLayer*>(&layer) != nullptr;
}

std::unique_ptr<Layer> ActivationLayer::clone() const {
  return std::make_unique<ActivationLayer>(*this);
}

std::unique_ptr<Layer> ActivationLayer::make(const Description& d) {
  return std::make_unique<ActivationLayer>(parse_activation(d.text("activation")));
}

std::unique_ptr<Layer> ReLU::make(const Description& /*description*/) {
  return std::make_unique<ReLU>();
}

std::unique_ptr<Layer> ReLU6::make(const Description& /*description*/) {
  return std::make_unique<ReLU6>();
}

std::unique_ptr<Layer> Softmax::make(const Description& /*description*/) {
  return std::make_unique<Softmax>();
}

}  // namespace octet
