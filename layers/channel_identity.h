#pragma once

#include <octet/layers/kernel_layer.h>

namespace octet {

/// y = f(x), f the activation, as the convolution that it is: a depthwise one of 1 x 1 whose kernel
/// are ones, which are not trained. A BatchNorm without a layer that it could be folded into is
/// folded into this one. Examples [channels], [steps, channels] or [height, width, channels].
class ChannelIdentity : public KernelLayer {
 public:
  static constexpr std::string_view kType = "ChannelIdentity";
  static std::unique_ptr<ChannelIdentity> make(const Description& description);

  explicit ChannelIdentity(std::string name = "", Activation activation = Activation::none)
      : KernelLayer(std::move(name), activation) {}

  std::string_view type() const override { return kType; }
  LayerTensors tensors() const override { return {}; }
  std::optional<LayerWeights> weights() const override;
  void describe(Description& description) const override;

 protected:
  std::unique_ptr<KernelLayer> copy() const override {
    return std::make_unique<ChannelIdentity>(*this);
  }
  /// Throws InvalidArgument that names the layer for examples of other than one to three axes, and
  /// without channels.
  void make_tensors(std::span<const Shape> input_shapes, const Random& random) override;

 private:
  /// 0 before it is built.
  Index channels_ = 0;
};

}  // namespace octet
