#include <fmt/core.h>
#include <octet/core/description.h>
#include <octet/core/error.h>
#include <octet/core/ops/image_ops.h>
#include <octet/layers/graph.h>
#include <octet/layers/image_layer.h>
#include <octet/layers/upsampling2d.h>

namespace octet {

std::string_view to_string(Interpolation interpolation) {
  switch (interpolation) {
    case Interpolation::nearest:
      return "nearest";
    case Interpolation::bilinear:
      return "bilinear";
  }
  throw InvalidArgument("an Interpolation outside the enumeration");
}

Interpolation parse_interpolation(std::string_view name) {
  for (const auto interpolation : {Interpolation::nearest, Interpolation::bilinear}) {
    if (name == to_string(interpolation)) return interpolation;
  }
  throw InvalidArgument(
      fmt::format("interpolation: expected nearest or bilinear, found \"{}\"", name));
}

std::vector<GraphValue> UpSampling2D::emit(Graph& graph, std::span<const GraphValue> inputs) const {
  detail::require_images(*this, graph.shape(inputs[0]));
  if (interpolation_ == Interpolation::nearest) return {graph.repeat_pixels(inputs[0], factors_)};
  detail::require_above_0(kType, "factors", factors_);
  const Shape& image = graph.shape(inputs[0]);
  return {graph.resize(inputs[0], {image[0] * factors_[0], image[1] * factors_[1]},
                       ResizeCoordinates::half_pixel)};
}

void UpSampling2D::describe(Description& description) const {
  description.set("factors", detail::as_shape(factors_));
  // Files of earlier versions know no other.
  if (interpolation_ != Interpolation::nearest) {
    description.set("interpolation", to_string(interpolation_));
  }
}

std::unique_ptr<Layer> UpSampling2D::clone() const { return std::make_unique<UpSampling2D>(*this); }

std::unique_ptr<Layer> UpSampling2D::make(const Description& d) {
  const auto interpolation = d.has("interpolation") ? parse_interpolation(d.text("interpolation"))
                                                    : Interpolation::nearest;
  return std::make_unique<UpSampling2D>(detail::pair_in(d, "factors"), interpolation);
}

}  // namespace octet
