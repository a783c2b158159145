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
  if (channels_ == 0) return weights;
  weights.kernel = Tensor::ones({1, 1, 1, channels_});
  weights.convolution->groups = channels_;
  return weights;
}

void ChannelIdentity::describe(Description& description) const {
  description.set("activation", to_string(activation()));
}

void ChannelIdentity::make_tensors(std::span<const Shape> input_shapes, const Random& /*random*/) {
  const Shape& input_shape = input_shapes[0];
  const Index rank = input_shape.rank();
  if (rank < 1 || rank > 3 || input_shape.dim(-1) < 1) {
    throw InvalidArgument(fmt::format(
        "layer \"{}\": expected examples [channels], [steps, channels] or [height, width, "
        "channels], found shape {}",
        name(), input_shape.to_string()));
  }
  channels_ = input_shape.dim(-1);
}

std::unique_ptr<ChannelIdentity> ChannelIdentity::make(const Description& d) {
  return std::make_unique<ChannelIdentity>("", parse_activation(d.text("activation")));
}

}  // namespace octet
