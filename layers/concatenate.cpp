#include <fmt/core.h>
#include <octet/core/description.h>
#include <octet/core/error.h>
#include <octet/layers/concatenate.h>
#include <octet/layers/graph.h>
#include <octet/runtime/kernel.h>

namespace octet {

Concatenate::Concatenate(Index axis, std::string name) : Layer(std::move(name)), axis_(axis) {}

Shape Concatenate::do_build_all(std::span<const Shape> input_shapes, const Random& /*random*/) {
  if (input_shapes.size() < 2) {
    throw InvalidArgument(fmt::format("Concatenate \"{}\": expected two inputs or more, found {}",
                                      name(), input_shapes.size()));
  }
  if (input_shapes.size() > detail::kMostInputs) {
    throw InvalidArgument(fmt::format(
        "Concatenate \"{}\": expected at most {} inputs, found {}; join some of them first", name(),
        detail::kMostInputs, input_shapes.size()));
  }
  const Shape& first = input_shapes[0];
  const Index axis = counted_axis(first, axis_);
  Index extent = 0;
  for (const Shape& shape : input_shapes) {
    if (shape.rank() != first.rank() || shape.without_dim(axis) != first.without_dim(axis)) {
      throw InvalidArgument(fmt::format(
          "Concatenate \"{}\": expected inputs that differ along axis {} alone, found {} and {}",
          name(), axis, first.to_string(), shape.to_string()));
    }
    extent += shape[axis];
  }
  return first.with_dim(axis, extent);
}

std::vector<GraphValue> Concatenate::emit(Graph& graph, std::span<const GraphValue> inputs) const {
  // Behind the batch axis.
  const Index axis = output_shape().normalize_axis(axis_) + 1;
  return {graph.op(OpCode::concatenation, {inputs.begin(), inputs.end()},
                   ConcatenationAttributes{.axis = static_cast<std::int32_t>(axis)})};
}

void Concatenate::describe(Description& description) const { description.set("axis", axis_); }

std::unique_ptr<Layer> Concatenate::clone() const { return std::make_unique<Concatenate>(*this); }

std::unique_ptr<Layer> Concatenate::make(const Description& d) {
  return std::make_unique<Concatenate>(d.integer("axis"));
}

}  // namespace octet
