#include <octet/core/description.h>
#include <octet/layers/graph.h>
#include <octet/layers/image_layer.h>
#include <octet/layers/zero_padding2d.h>

namespace octet {

std::vector<GraphValue> ZeroPadding2D::emit(Graph& graph,
                                            std::span<const GraphValue> inputs) const {
  return {graph.pad(inputs[0], padding_)};
}

void ZeroPadding2D::describe(Description& description) const {
  detail::describe(padding_, description);
}

std::unique_ptr<Layer> ZeroPadding2D::clone() const {
  return std::make_unique<ZeroPadding2D>(*this);
}

std::unique_ptr<Layer> ZeroPadding2D::make(const Description& d) {
  return std::make_unique<ZeroPadding2D>(detail::padding_in(d));
}

}  // namespace octet
