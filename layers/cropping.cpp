#include <fmt/core.h>
#include <octet/core/description.h>
#include <octet/core/error.h>
#include <octet/layers/cropping.h>
#include <octet/layers/graph.h>
#include <octet/layers/image_layer.h>

namespace octet {
namespace {

/// What is left of an axis of `extent` elements without `before` at its begin and `after` at its
/// end.
AxisSlice cropped(const Layer& layer, Index extent, Index before, Index after) {
  if (before >= 0 && after >= 0 && before < extent && after < extent - before) {
    return {before, extent - after};
  }
  throw InvalidArgument(fmt::format(
      "{} \"{}\": expected to cut off 0 or more of {} elements, and to leave at least 1, found {} "
      "and {}",
      layer.type(), layer.name(), extent, before, after));
}

}  // namespace

std::vector<GraphValue> Cropping1D::emit(Graph& graph, std::span<const GraphValue> inputs) const {
  const Shape& sequence = graph.shape(inputs[0]);
  detail::require_sequences(*this, sequence);
  const AxisSlice steps = cropped(*this, sequence[0], begin_, end_);
  return {graph.slice(inputs[0], {steps, {0, sequence[1]}})};
}

void Cropping1D::describe(Description& description) const {
  description.set("begin", begin_).set("end", end_);
}

std::unique_ptr<Layer> Cropping1D::make(const Description& d) {
  return std::make_unique<Cropping1D>(d.integer("begin"), d.integer("end"));
}

std::vector<GraphValue> Cropping2D::emit(Graph& graph, std::span<const GraphValue> inputs) const {
  const Shape& image = graph.shape(inputs[0]);
  detail::require_images(*this, image);
  return {graph.slice(inputs[0], {cropped(*this, image[0], cropping_.top, cropping_.bottom),
                                  cropped(*this, image[1], cropping_.left, cropping_.right),
                                  {0, image[2]}})};
}

void Cropping2D::describe(Description& description) const {
  detail::describe(cropping_, description);
}

std::unique_ptr<Layer> Cropping2D::make(const Description& d) {
  return std::make_unique<Cropping2D>(detail::padding_in(d));
}

}  // namespace octet
