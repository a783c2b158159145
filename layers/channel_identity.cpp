#include <fmt/core.h>
#include <octet/core/description.h>
#include <octet/core/error.h>
#include <octet/layers/channel_identity.h>

namespace octet {

std::optional<LayerWeights> ChannelIdentity::weights() const {
  LayerWeights weights;
  weights.unit_axis = 3;
  weights.convolution = Conv2DOptions{};
  weights.depthwise = true;
  if (!built()) return weights;
  const Index channels = output_shape().dim(-1);
  weights.kernel = Tensor::ones({1, 1, 1, channels});
  weights.convolution->groups = channels;
  return weights;
}

void ChannelIdentity::describe(Description& description) const {
  description.set("activation", to_string(activation()));
}

std::vector<std::pair<std::string, Shape>> ChannelIdentity::large_tensors(
    const Shape& input) const {
  if (input.rank() == 0) return {};
  return {{"gamma", Shape{input.dim(-1)}}};
}

Shape ChannelIdentity::do_build(const Shape& input_shape, const Random& /*random*/) {
  const Index rank = input_shape.rank();
  if (rank < 1 || rank > 3 || input_shape.dim(-1) < 1) {
    throw InvalidArgument(fmt::format(
        "layer \"{}\": expected examples [channels], [steps, channels] or [height, width, "
        "channels], found shape {}",
        name(), input_shape.to_string()));
  }
  return input_shape;
}

std::unique_ptr<ChannelIdentity> ChannelIdentity::make(const Description& d) {
  return std::make_unique<ChannelIdentity>("", parse_activation(d.text("activation")));
}

}  // namespace octet
