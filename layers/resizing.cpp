#include <octet/core/description.h>
#include <octet/layers/graph.h>
#include <octet/layers/image_layer.h>
#include <octet/layers/resizing.h>

namespace octet {

std::vector<GraphValue> Resizing::emit(Graph& graph, std::span<const GraphValue> inputs) const {
  return {graph.resize(inputs[0], size_, coordinates_)};
}

void Resizing::describe(Description& description) const {
  description.set("size", detail::as_shape(size_)).set("coordinates", to_string(coordinates_));
}

std::unique_ptr<Layer> Resizing::make(const Description& d) {
  return std::make_unique<Resizing>(detail::pair_in(d, "size"),
                                    parse_resize_coordinates(d.text("coordinates")));
}

}  // namespace octet
