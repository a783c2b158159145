#include <octet/core/description.h>
#include <octet/layers/graph.h>
#include <octet/layers/image_layer.h>
#include <octet/layers/pool2d.h>

namespace octet {

void Pool2D::describe(Description& description) const {
  description.set("size", detail::as_shape(options_.size))
      .set("stride", detail::as_shape(options_.stride))
      .set("padding", to_string(options_.padding));
}

Pool2DOptions Pool2D::options_in(const Description& d) {
  return {.size = detail::pair_in(d, "size"),
          .stride = detail::pair_in(d, "stride"),
          .padding = parse_padding(d.text("padding"))};
}

GraphValue Pool2D::pooled(Graph& graph, OpCode code, GraphValue input) const {
  detail::require_images(*this, graph.shape(input));
  const auto number = [this](Index value) { return detail::as_int32(*this, value); };
  return graph.op(code, {input},
                  PoolAttributes{.padding = options_.padding,
                                 .stride_h = number(options_.stride[0]),
                                 .stride_w = number(options_.stride[1]),
                                 .filter_h = number(options_.size[0]),
                                 .filter_w = number(options_.size[1])});
}

std::vector<GraphValue> MaxPool2D::emit(Graph& graph, std::span<const GraphValue> inputs) const {
  return {pooled(graph, OpCode::max_pool_2d, inputs[0])};
}

std::unique_ptr<Layer> MaxPool2D::clone() const { return std::make_unique<MaxPool2D>(*this); }

std::unique_ptr<Layer> MaxPool2D::make(const Description& description) {
  return std::make_unique<MaxPool2D>(options_in(description));
}

std::vector<GraphValue> AveragePool2D::emit(Graph& graph,
                                            std::span<const GraphValue> inputs) const {
  return {pooled(graph, OpCode::average_pool_2d, inputs[0])};
}

std::unique_ptr<Layer> AveragePool2D::clone() const {
  return std::make_unique<AveragePool2D>(*this);
}

std::unique_ptr<Layer> AveragePool2D::make(const Description& description) {
  return std::make_unique<AveragePool2D>(options_in(description));
}

}  // namespace octet
