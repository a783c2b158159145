#pragma once

#include <octet/layers/layer.h>

namespace octet {

/// y = x where x >= 0, alpha x elsewhere, with an alpha for each channel that training learns; its
/// gradient is the sum of g x over the negative x of the channel. (He et al., Delving Deep into
/// Rectifiers, 2015; Keras' PReLU with one alpha for all steps or pixels, shared_axes.) Quantized,
/// alpha has int8 values, a scale and a zero point of its own.
class PReLU : public Layer {
 public:
  static constexpr std::string_view kType = "PReLU";
  static std::unique_ptr<Layer> make(const Description& description);

  /// `alpha` is where every channel's starts. Throws InvalidArgument unless it is finite.
  explicit PReLU(float alpha = 0.25F, std::string name = "");
  PReLU(const PReLU& other);

  std::string_view type() const override { return kType; }
  std::vector<GraphValue> emit(Graph& graph, std::span<const GraphValue> inputs) const override;
  LayerTensors tensors() const override { return {.parameters = {{"alpha", alpha_}}}; }
  void describe(Description& description) const override;
  std::unique_ptr<Layer> clone() const override { return std::make_unique<PReLU>(*this); }

 protected:
  void make_tensors(std::span<const Shape> input_shapes, const Random& random) override;

 private:
  float start_;
  /// [channels].
  Tensor alpha_;
};

}  // namespace octet
