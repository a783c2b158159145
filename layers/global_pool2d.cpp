#include <octet/core/ops/pool2d.h>
#include <octet/layers/global_pool2d.h>
#include <octet/layers/graph.h>
#include <octet/layers/image_layer.h>

namespace octet {
namespace {

/// A pool of one window as large as the image, and a RESHAPE of [1, 1, c] to [c].
GraphValue pooled_whole(const Layer& layer, Graph& graph, OpCode code, GraphValue input) {
  const Shape image = graph.shape(input);
  detail::require_images(layer, image);
  const GraphValue pooled = graph.op(code, {input},
                                     PoolAttributes{.filter_h = detail::as_int32(layer, image[0]),
                                                    .filter_w = detail::as_int32(layer, image[1])},
                                     "/pool");
  return graph.reshape(pooled, {image[2]});
}

}  // namespace

std::vector<GraphValue> GlobalAveragePool2D::emit(Graph& graph,
                                                  std::span<const GraphValue> inputs) const {
  return {pooled_whole(*this, graph, OpCode::average_pool_2d, inputs[0])};
}

std::unique_ptr<Layer> GlobalAveragePool2D::clone() const {
  return std::make_unique<GlobalAveragePool2D>(*this);
}

std::unique_ptr<Layer> GlobalAveragePool2D::make(const Description& /*description*/) {
  return std::make_unique<GlobalAveragePool2D>();
}

std::vector<GraphValue> GlobalMaxPool2D::emit(Graph& graph,
                                              std::span<const GraphValue> inputs) const {
  return {pooled_whole(*this, graph, OpCode::max_pool_2d, inputs[0])};
}

std::unique_ptr<Layer> GlobalMaxPool2D::clone() const {
  return std::make_unique<GlobalMaxPool2D>(*this);
}

std::unique_ptr<Layer> GlobalMaxPool2D::make(const Description& /*description*/) {
  return std::make_unique<GlobalMaxPool2D>();
}

}  // namespace octet
