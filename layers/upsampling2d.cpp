#include <octet/core/description.h>
#include <octet/core/ops/image_ops.h>
#include <octet/layers/graph.h>
#include <octet/layers/image_layer.h>
#include <octet/layers/upsampling2d.h>

namespace octet {

std::vector<GraphValue> UpSampling2D::emit(Graph& graph, std::span<const GraphValue> inputs) const {
  return {graph.repeat_pixels(inputs[0], factors_)};
}

void UpSampling2D::describe(Description& description) const {
  description.set("factors", detail::as_shape(factors_));
}

std::unique_ptr<Layer> UpSampling2D::clone() const { return std::make_unique<UpSampling2D>(*this); }

std::unique_ptr<Layer> UpSampling2D::make(const Description& d) {
  return std::make_unique<UpSampling2D>(detail::pair_in(d, "factors"));
}

}  // namespace octet
