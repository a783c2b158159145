#include <fmt/core.h>
#include <octet/core/description.h>
#include <octet/core/error.h>
#include <octet/layers/graph.h>
#include <octet/layers/reshape.h>

#include <algorithm>

namespace octet {

std::vector<GraphValue> Reshape::emit(Graph& graph, std::span<const GraphValue> inputs) const {
  const Shape from = graph.shape(inputs[0]);
  const Shape to = target_for(from);
  return {from == to ? inputs[0] : graph.reshape(inputs[0], to)};
}

void Reshape::describe(Description& description) const { description.set("target", target_); }

std::unique_ptr<Layer> Reshape::clone() const { return std::make_unique<Reshape>(*this); }

std::unique_ptr<Layer> Flatten::clone() const { return std::make_unique<Flatten>(*this); }

Shape Reshape::target_for(const Shape& examples) const {
  Shape result = target_;
  if (std::ranges::count(target_, -1) > 1) {
    throw InvalidArgument(fmt::format("{} \"{}\": expected at most one -1 in the target {}", type(),
                                      name(), target_.to_string()));
  }
  const Index size = examples.size();
  for (Index axis = 0; axis < target_.rank(); ++axis) {
    if (target_[axis] != -1) continue;
    const Index others = target_.without_dim(axis).size();
    result = target_.with_dim(axis, others == 0 ? -1 : size / others);
  }
  if (std::ranges::any_of(result, [](Index extent) { return extent < 0; }) ||
      result.size() != size) {
    throw InvalidArgument(fmt::format("{} \"{}\": cannot reshape {} ({} values) to {}", type(),
                                      name(), examples.to_string(), size, target_.to_string()));
  }
  return result;
}

std::unique_ptr<Layer> Reshape::make(const Description& d) {
  return std::make_unique<Reshape>(d.shape("target"));
}

std::unique_ptr<Layer> Flatten::make(const Description& /*description*/) {
  return std::make_unique<Flatten>();
}

}  // namespace octet
