#include <fmt/core.h>
#include <octet/core/description.h>
#include <octet/core/error.h>
#include <octet/core/ops/ops.h>
#include <octet/layers/activation_function.h>
#include <octet/layers/concatenate.h>
#include <octet/layers/graph.h>
#include <octet/layers/program/float_operators.h>
#include <octet/runtime/kernel.h>

namespace octet {

Concatenate::Concatenate(Index axis, std::string name) : Layer(std::move(name)), axis_(axis) {}

std::vector<GraphValue> Concatenate::emit(Graph& graph, std::span<const GraphValue> inputs) const {
  if (inputs.size() < 2) {
    throw InvalidArgument(fmt::format("Concatenate \"{}\": expected two inputs or more, found {}",
                                      name(), inputs.size()));
  }
  if (inputs.size() > detail::kMostInputs) {
    throw InvalidArgument(fmt::format(
        "Concatenate \"{}\": expected at most {} inputs, found {}; join some of them first", name(),
        detail::kMostInputs, inputs.size()));
  }
  const Shape first = graph.shape(inputs[0]);
  const Index axis = counted_axis(first, axis_);
  for (const GraphValue input : inputs) {
    const Shape& shape = graph.shape(input);
    if (shape.rank() == first.rank() && shape.without_dim(axis) == first.without_dim(axis))
      continue;
    throw InvalidArgument(fmt::format(
        "Concatenate \"{}\": expected inputs that differ along axis {} alone, found {} and {}",
        name(), axis, first.to_string(), shape.to_string()));
  }
  return {graph.op(OpCode::concatenation, {inputs.begin(), inputs.end()},
                   // Behind the batch axis.
                   ConcatenationAttributes{.axis = static_cast<std::int32_t>(axis) + 1})};
}

void Concatenate::describe(Description& description) const { description.set("axis", axis_); }

std::unique_ptr<Layer> Concatenate::clone() const { return std::make_unique<Concatenate>(*this); }

std::unique_ptr<Layer> Concatenate::make(const Description& d) {
  return std::make_unique<Concatenate>(d.integer("axis"));
}

Tensor float_forms::concatenation(const FloatCall& call) {
  const auto& attributes = call.as<ConcatenationAttributes>();
  return apply_activation(attributes.activation,
                          concatenate({call.x.begin(), call.x.end()}, attributes.axis));
}

}  // namespace octet
