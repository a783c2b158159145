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

GraphValue repeated_rows(const Layer& layer, Graph& graph, GraphValue x, Index factor) {
  const GraphValue rows = graph.repeat_pixels(column_of(graph, x), {factor, 1}, "/rows");
  return graph.reshape(rows, layer.output_shape());
}

}  // namespace

std::vector<GraphValue> ZeroPadding1D::emit(Graph& graph,
                                            std::span<const GraphValue> inputs) const {
  const Padding2D padding{.top = begin_, .bottom = end_};
  return {graph.reshape(graph.pad(column_of(graph, inputs[0]), padding, "/rows"), output_shape())};
}

void ZeroPadding1D::describe(Description& description) const {
  description.set("begin", begin_).set("end", end_);
}

std::unique_ptr<Layer> ZeroPadding1D::make(const Description& d) {
  return std::make_unique<ZeroPadding1D>(d.integer("begin"), d.integer("end"));
}

Shape ZeroPadding1D::do_build(const Shape& input_shape, const Random& /*random*/) {
  return detail::sequence_result(*this, input_shape, [this](const Tensor& images) {
    return pad2d(images, {.left = begin_, .right = end_});
  });
}

std::vector<GraphValue> UpSampling1D::emit(Graph& graph, std::span<const GraphValue> inputs) const {
  return {repeated_rows(*this, graph, inputs[0], factor_)};
}

void UpSampling1D::describe(Description& description) const { description.set("factor", factor_); }

std::unique_ptr<Layer> UpSampling1D::make(const Description& d) {
  return std::make_unique<UpSampling1D>(d.integer("factor"));
}

Shape UpSampling1D::do_build(const Shape& input_shape, const Random& /*random*/) {
  return detail::sequence_result(*this, input_shape, [this](const Tensor& images) {
    return upsample2d(images, {1, factor_});
  });
}

RepeatVector::RepeatVector(Index steps, std::string name) : Layer(std::move(name)), steps_(steps) {
  if (steps < 1) {
    throw InvalidArgument(fmt::format("RepeatVector: expected at least 1 step, found {}", steps));
  }
}

std::vector<GraphValue> RepeatVector::emit(Graph& graph, std::span<const GraphValue> inputs) const {
  return {repeated_rows(*this, graph, inputs[0], steps_)};
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
