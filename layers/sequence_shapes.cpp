#include <fmt/core.h>
#include <octet/core/description.h>
#include <octet/core/error.h>
#include <octet/layers/graph.h>
#include <octet/layers/image_layer.h>
#include <octet/layers/sequence_shapes.h>

namespace octet {
namespace {

/// x as images of one column, each step a row.
GraphValue column_of(Graph& graph, GraphValue x) {
  const Shape& shape = graph.shape(x);
  const Index steps = shape.rank() == 1 ? 1 : shape[0];
  return graph.reshape(x, {steps, 1, shape.dim(-1)}, "/column");
}

/// Images of one column as sequences.
GraphValue sequence_of(Graph& graph, GraphValue rows) {
  const Shape& shape = graph.shape(rows);
  return graph.reshape(rows, {shape[0], shape[2]});
}

GraphValue repeated_rows(Graph& graph, GraphValue x, Index factor) {
  return sequence_of(graph, graph.repeat_pixels(column_of(graph, x), {factor, 1}, "/rows"));
}

}  // namespace

std::vector<GraphValue> ZeroPadding1D::emit(Graph& graph,
                                            std::span<const GraphValue> inputs) const {
  const Padding2D padding{.top = begin_, .bottom = end_};
  detail::require_sequences(*this, graph.shape(inputs[0]));
  return {sequence_of(graph, graph.pad(column_of(graph, inputs[0]), padding, "/rows"))};
}

void ZeroPadding1D::describe(Description& description) const {
  description.set("begin", begin_).set("end", end_);
}

std::unique_ptr<Layer> ZeroPadding1D::make(const Description& d) {
  return std::make_unique<ZeroPadding1D>(d.integer("begin"), d.integer("end"));
}

std::vector<GraphValue> UpSampling1D::emit(Graph& graph, std::span<const GraphValue> inputs) const {
  detail::require_sequences(*this, graph.shape(inputs[0]));
  return {repeated_rows(graph, inputs[0], factor_)};
}

void UpSampling1D::describe(Description& description) const { description.set("factor", factor_); }

std::unique_ptr<Layer> UpSampling1D::make(const Description& d) {
  return std::make_unique<UpSampling1D>(d.integer("factor"));
}

RepeatVector::RepeatVector(Index steps, std::string name) : Layer(std::move(name)), steps_(steps) {
  if (steps < 1) {
    throw InvalidArgument(fmt::format("RepeatVector: expected at least 1 step, found {}", steps));
  }
}

std::vector<GraphValue> RepeatVector::emit(Graph& graph, std::span<const GraphValue> inputs) const {
  const Shape& example = graph.shape(inputs[0]);
  if (example.rank() == 1) return {repeated_rows(graph, inputs[0], steps_)};
  throw InvalidArgument(fmt::format("RepeatVector \"{}\": expected examples [features], found {}",
                                    name(), example.to_string()));
}

void RepeatVector::describe(Description& description) const { description.set("steps", steps_); }

std::unique_ptr<Layer> RepeatVector::make(const Description& d) {
  return std::make_unique<RepeatVector>(d.integer("steps"));
}

}  // namespace octet
