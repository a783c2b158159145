#pragma once

#include <octet/layers/quantize/quantize_config.h>

namespace octet {

/// A layer marked for quantize_apply(). Computes what the layer does.
class AnnotatedLayer : public Layer {
 public:
  AnnotatedLayer(std::unique_ptr<Layer> layer, std::shared_ptr<const QuantizeConfig> config)
      : Layer(layer->name()), layer_(std::move(layer)), config_(std::move(config)) {}
  AnnotatedLayer(const AnnotatedLayer& other)
      : Layer(other), layer_(other.layer_->clone()), config_(other.config_) {}

  std::string_view type() const override { return layer_->type(); }
  const Layer& wrapped() const { return *layer_; }
  /// Null for the default scheme.
  const std::shared_ptr<const QuantizeConfig>& config() const { return config_; }

  void set_name(std::string name) override {
    layer_->set_name(name);
    Layer::set_name(std::move(name));
  }
  Tensor forward(const Tensor& x, const ForwardContext& context) override {
    return layer_->forward(x, context);
  }
  Tensor forward_logits(const Tensor& x, const ForwardContext& context) override {
    return layer_->forward_logits(x, context);
  }
  bool ends_in_softmax() const override { return layer_->ends_in_softmax(); }
  std::vector<NamedTensor> parameters() const override { return layer_->parameters(); }
  std::vector<NamedTensor> state() const override { return layer_->state(); }
  std::vector<NamedTensor> counters() const override { return layer_->counters(); }
  std::unique_ptr<Layer> clone() const override { return std::make_unique<AnnotatedLayer>(*this); }

 protected:
  Shape do_build(const Shape& input_shape, const Random& random) override {
    layer_->build(input_shape, random);
    return layer_->output_shape();
  }

 private:
  std::unique_ptr<Layer> layer_;
  std::shared_ptr<const QuantizeConfig> config_;
};

}  // namespace octet
