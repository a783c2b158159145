#include <fmt/core.h>
#include <octet/core/description.h>
#include <octet/core/error.h>
#include <octet/layers/graph.h>
#include <octet/layers/repeat_vector.h>

namespace octet {

RepeatVector::RepeatVector(Index steps, std::string name) : Layer(std::move(name)), steps_(steps) {
  if (steps < 1) {
    throw InvalidArgument(fmt::format("RepeatVector: expected at least 1 step, found {}", steps));
  }
}

std::vector<GraphValue> RepeatVector::emit(Graph& graph, std::span<const GraphValue> inputs) const {
  const Index features = input_shape()[0];
  const GraphValue pixel = graph.reshape(inputs[0], {1, 1, features}, "/pixel");
  return {graph.reshape(graph.repeat_pixels(pixel, {steps_, 1}, "/column"), output_shape())};
}

void RepeatVector::describe(Description& description) const { description.set("steps", steps_); }

std::unique_ptr<Layer> RepeatVector::make(const Description& d) {
  return std::make_unique<RepeatVector>(d.integer("steps"));
}

Shape RepeatVector::do_build(const Shape& input_shape, const Random& /*random*/) {
  if (input_shape.rank() == 1) return {steps_, input_shape[0]};
  throw InvalidArgument(fmt::format("RepeatVector \"{}\": expected examples [features], found {}",
                                    name(), input_shape.to_string()));
}

}  // namespace octet
