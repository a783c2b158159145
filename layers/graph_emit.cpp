// How a graph takes down what a layer emits.

#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/layers/graph.h>
#include <octet/layers/program/program.h>

#include <algorithm>
#include <utility>

namespace octet {
namespace {

/// How many inputs, the first values of a program, steps read or results are.
std::size_t inputs_read(const Program& program, std::size_t inputs, GraphValue result) {
  std::size_t read = 0;
  for (std::size_t i = 0; i < inputs; ++i) {
    const auto reads = [i](const Step& step) { return std::ranges::count(step.inputs, i) > 0; };
    if (result.index == i || std::ranges::any_of(program.steps, reads)) ++read;
  }
  return read;
}

}  // namespace

Shape Graph::shape_of(const Layer& layer, std::span<const Shape> input_shapes) {
  Program program;
  Graph graph(program);
  graph.shaped_ = &layer;
  std::vector<GraphValue> inputs;
  for (const Shape& shape : input_shapes) inputs.push_back(graph.input(nullptr, shape));
  const GraphValue result = graph.emit(layer, inputs).front();
  const std::size_t read = inputs_read(program, inputs.size(), result);
  if (read == inputs.size()) return graph.shape(result);
  throw InvalidArgument(fmt::format("{} \"{}\": expected {} input{}, found {}", layer.type(),
                                    layer.name(), read == 1 ? "one" : std::to_string(read),
                                    read == 1 ? "" : "s", inputs.size()));
}

std::vector<GraphValue> Graph::emit_as(const Layer& layer, Layer* running,
                                       std::span<const GraphValue> inputs) {
  const std::size_t outer_first = std::exchange(first_, program_.values.size());
  const Layer* const outer = std::exchange(layer_, &layer);
  // All that a layer holds is named after the layer that uses it once more.
  const bool keeps_name = outer != nullptr && (named_ != outer || uses_again_);
  const Layer* const outer_named = std::exchange(named_, keeps_name ? named_ : &layer);
  const bool outer_uses_again = std::exchange(uses_again_, false);
  auto outer_suffixes = std::exchange(suffixes_, {});
  Layer* const outer_running = std::exchange(running_, running);
  std::vector<GraphValue> results = layer.emit(*this, inputs);
  if (results.empty()) {
    throw InvalidArgument(
        fmt::format("layer \"{}\" of type {}: expected emit() to return a value, found none",
                    layer.name(), layer.type()));
  }
  const Shape& found = shape(results.front());
  const bool differs = &layer != shaped_ && found != layer.output_shape();
  if (differs || program_.values[results.front().index].is_parameter) {
    throw InvalidArgument(fmt::format(
        "layer \"{}\" of type {}: expected emit() to return a value of shape {}, which "
        "result_shape() says, found {}",
        layer.name(), layer.type(), layer.output_shape().to_string(), found.to_string()));
  }
  // Scans and other parts of layers name what they give; the layer's result has its name.
  Program::Value& result = program_.values[results.front().index];
  if (results.front().index >= first_ && result.layer == named_) result.suffix = part_;
  if (results.size() > 1) result.beside.clear();
  for (const GraphValue value : std::span(results).subspan(1)) {
    static_cast<void>(shape(value));  // Throws for a value of another graph.
    result.beside.push_back(value.index);
  }
  first_ = outer_first;
  layer_ = outer;
  named_ = outer_named;
  uses_again_ = outer_uses_again;
  suffixes_ = std::move(outer_suffixes);
  running_ = outer_running;
  return results;
}

std::vector<GraphValue> Graph::emit(Layer& layer, std::span<const GraphValue> inputs) {
  return emit_as(layer, &layer, inputs);
}

std::vector<GraphValue> Graph::emit_again(Layer& layer, std::span<const GraphValue> inputs) {
  uses_again_ = true;
  std::vector<GraphValue> results = emit_as(layer, &layer, inputs);
  uses_again_ = false;
  return results;
}

GraphValue Graph::emit_part(Layer& layer, std::string_view part,
                            std::span<const GraphValue> inputs) {
  require_tensor_name(part);
  const std::string outer =
      std::exchange(part_, fmt::format("{}{}", part_.empty() ? "/" : part_ + "_", part));
  uses_again_ = true;
  const GraphValue result = emit_as(layer, running_ == nullptr ? nullptr : &layer, inputs).front();
  uses_again_ = false;
  part_ = outer;
  return result;
}

std::vector<GraphValue> Graph::emit(const Layer& layer, std::span<const GraphValue> inputs) {
  return emit_as(layer, nullptr, inputs);
}

}  // namespace octet
