#pragma once

#include <octet/layers/dense.h>
#include <octet/layers/quantize/quantize_config.h>

namespace octet {

/// A Dense layer with its kernel and its result on 8-bit grids. State, in this order: kernel_min,
/// kernel_max, and post_activation_min, _max, _zero_point (pre_activation_* where the activation is
/// softmax, sigmoid or tanh). Per channel, kernel_min and kernel_max have one value per unit.
///
/// y = Q(f(x Qk(W) + b)), or f(Q(x Qk(W) + b)), with Q and Qk as Simulation says.
class QuantizeWrapper : public Layer {
 public:
  QuantizeWrapper(std::unique_ptr<Dense> dense, std::shared_ptr<const QuantizeConfig> config);
  QuantizeWrapper(const QuantizeWrapper& other);

  std::string_view type() const override { return "QuantizeWrapper"; }
  const Dense& wrapped() const { return *dense_; }
  const QuantizeConfig& config() const { return *config_; }
  /// Null where the config leaves the tensor alone.
  const Quantizer* kernel_quantizer() const { return kernel_.get(); }
  const Quantizer* activation_quantizer() const { return activation_.get(); }

  /// Takes the kernel's range from the kernel as it is now. In training the range is one step
  /// old after the optimizer has moved the kernel.
  void refresh_kernel_range();

  Tensor forward(const Tensor& x, const ForwardContext& context) override;
  Tensor forward_logits(const Tensor& x, const ForwardContext& context) override;
  /// What the FULLY_CONNECTED operator gives: forward() before a softmax, sigmoid or tanh.
  Tensor forward_linear(const Tensor& x, const ForwardContext& context);
  bool ends_in_softmax() const override { return dense_->ends_in_softmax(); }
  std::vector<NamedTensor> parameters() const override { return dense_->parameters(); }
  std::vector<NamedTensor> state() const override;
  std::vector<NamedTensor> counters() const override;
  std::vector<Quantizer*> quantizers() const override;
  std::unique_ptr<Layer> clone() const override;

 protected:
  Shape do_build(const Shape& input_shape, const Random& random) override;

 private:
  Tensor fake_quant_linear(const Tensor& x, const ForwardContext& context) const;
  Tensor integer_linear(const Tensor& x, const ForwardContext& context) const;

  std::unique_ptr<Dense> dense_;
  std::shared_ptr<const QuantizeConfig> config_;
  std::unique_ptr<Quantizer> kernel_;
  std::unique_ptr<Quantizer> activation_;
};

}  // namespace octet
