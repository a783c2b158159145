#include <fmt/core.h>
#include <octet/core/description.h>
#include <octet/core/error.h>
#include <octet/layers/graph.h>
#include <octet/layers/input.h>

namespace octet {

Tensor InputLayer::forward_all(std::span<const Tensor> inputs, const ForwardContext& /*context*/) {
  const Tensor& x = inputs.front();
  if (x.rank() != example_shape_.rank() + 1 || x.shape().without_batch() != example_shape_) {
    throw InvalidArgument(
        fmt::format("InputLayer \"{}\": expected a batch of examples {}, "
                    "found shape {}",
                    name(), example_shape_.to_string(), x.shape().to_string()));
  }
  return x;
}

const InputLayer* as_input(const Layer& layer) { return dynamic_cast<const InputLayer*>(&layer); }

void InputLayer::describe(Description& description) const {
  description.set("shape", example_shape_);
}

std::unique_ptr<Layer> InputLayer::clone() const { return std::make_unique<InputLayer>(*this); }

Shape InputLayer::result_shape(std::span<const Shape> input_shapes) const {
  if (example_shape_.size() == 0) {
    throw InvalidArgument(
        fmt::format("InputLayer \"{}\": expected at least one value per example, "
                    "found shape {}",
                    name(), example_shape_.to_string()));
  }
  if (input_shapes[0] != example_shape_) {
    throw InvalidArgument(
        fmt::format("InputLayer \"{}\": expected examples {}, found {} from the "
                    "layers in front; an Input is the first layer",
                    name(), example_shape_.to_string(), input_shapes[0].to_string()));
  }
  return example_shape_;
}

std::unique_ptr<Layer> InputLayer::make(const Description& d) {
  return std::make_unique<InputLayer>(d.shape("shape"));
}

}  // namespace octet
