#pragma once

#include <octet/layers/quantize/quantize_config.h>

namespace octet {

/// Any other layer with its output on a grid, where the config wants one. State: output_min,
/// output_max, output_zero_point; none where the output is left alone. A ReLU6 that is left alone
/// clamps the codes of its input under contract double (see clamps_input_codes()).
class QuantizeOutputWrapper : public Layer {
 public:
  /// Throws InvalidArgument where the config quantizes the output of a softmax.
  QuantizeOutputWrapper(std::unique_ptr<Layer> layer, std::shared_ptr<const QuantizeConfig> config);
  QuantizeOutputWrapper(const QuantizeOutputWrapper& other);

  std::string_view type() const override { return "QuantizeWrapper"; }
  const Layer& wrapped() const { return *layer_; }
  const QuantizeConfig& config() const { return *config_; }
  /// Null where the output is left alone.
  const Quantizer* output_quantizer() const { return output_.get(); }

  Tensor forward(const Tensor& x, const ForwardContext& context) override;
  Tensor forward_logits(const Tensor& x, const ForwardContext& context) override;
  bool ends_in_softmax() const override { return layer_->ends_in_softmax(); }
  std::vector<NamedTensor> parameters() const override { return layer_->parameters(); }
  std::vector<NamedTensor> state() const override;
  std::vector<NamedTensor> counters() const override;
  std::vector<Quantizer*> quantizers() const override;
  std::unique_ptr<Layer> clone() const override;

 protected:
  Shape do_build(const Shape& input_shape, const Random& random) override;

 private:
  std::unique_ptr<Layer> layer_;
  std::shared_ptr<const QuantizeConfig> config_;
  std::unique_ptr<Quantizer> output_;
};

/// Throws InvalidArgument that names the layer where it is a ReLU6 of its own under contract double
/// with an output quantizer: the RELU6 of TFLite Micro clamps codes and does not rescale them.
void require_exportable_clamp(const QuantizeOutputWrapper& wrapper);

}  // namespace octet
