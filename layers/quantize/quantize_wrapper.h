#pragma once

#include <octet/layers/quantize/oscillation.h>
#include <octet/layers/quantize/quantize_config.h>

namespace octet {

/// Any layer with its kernel on an 8-bit grid and its result on one of 8 or 16 bits, as its
/// QuantizeConfig says. With Q and
/// Qk as Simulation says and f the layer's activation:
///
///   a layer with a kernel W:  y = Q(f(x Qk(W) + b)), or f(Q(x Qk(W) + b)) for softmax, sigmoid and
///                             tanh, whose results have a grid of their own
///   any other:                y = Q(layer(x)) where the config gives a quantizer for the output,
///                             else the layer's result on the grid of what it reads
///
/// W and b are those of LayerWeights: of a FoldedBatchNorm the folded ones. While that trains on
/// the statistics of the batch, y is Q(f(correction(x Qk(W)))), see batch_norm_correction().
///
/// State: that of the layer; kernel_min and kernel_max; and min, max and zero_point of the result,
/// which begin with post_activation_ or pre_activation_ for a layer with a kernel and with output_
/// for any other. Per channel, kernel_min and kernel_max have one value per unit.
class QuantizeWrapper : public Layer {
 public:
  static constexpr std::string_view kType = "QuantizeWrapper";

  /// Throws InvalidArgument where the config quantizes the output of a softmax.
  QuantizeWrapper(std::unique_ptr<Layer> layer, std::shared_ptr<const QuantizeConfig> config);
  QuantizeWrapper(const QuantizeWrapper& other);
  static std::unique_ptr<Layer> make(const Description& description);

  std::string_view type() const override { return kType; }
  const Layer& wrapped() const { return *layer_; }
  const QuantizeConfig& config() const { return *config_; }
  /// Null where the config leaves the result alone.
  const Quantizer* activation_quantizer() const { return result_.get(); }
  /// Null where the options do not ask for it.
  const WeightOscillation* oscillation() const { return oscillation_.get(); }
  /// Puts frozen weights back on their codes, and whether they are there: an optimizer moves them.
  void hold_frozen_weights();
  bool holds_frozen_weights() const;

  Tensor forward(const Tensor& x, const ForwardContext& context) override {
    return forward_all({&x, 1}, context);
  }
  Tensor forward_all(std::span<const Tensor> inputs, const ForwardContext& context) override {
    return forward_steps(inputs, context).back();
  }
  std::vector<Tensor> forward_steps(std::span<const Tensor> inputs,
                                    const ForwardContext& context) override;

  Activation activation() const override { return layer_->activation(); }
  /// Returns the parts of the wrapped layer, or where it has none the layer itself.
  std::vector<Layer*> parts() const override;
  std::vector<NamedTensor> parameters() const override;
  std::vector<NamedTensor> state() const override;
  std::vector<NamedTensor> counters() const override;
  std::optional<LayerWeights> weights() const override { return layer_->weights(); }
  ResultGrid result_grid(Rounding rounding) const override { return layer_->result_grid(rounding); }
  float range_factor(const ForwardContext& context) const override;
  bool is_quantized() const override { return true; }
  std::optional<Rounding> contract() const override { return config_->options().rounding; }
  std::vector<Quantizer*> quantizers() const override;
  Quantizer* kernel_quantizer() const override { return kernel_.get(); }
  FoldedBatchNorm* folded_batch_norm() override { return layer_->folded_batch_norm(); }
  Quantizer* result_quantizer() const override;
  const Layer* layer_of_fixed_grid() const override;
  void connect(std::span<Layer* const> inputs) override;
  std::int32_t lower(Lowering& lowering, std::span<const std::int32_t> inputs) const override;
  void describe(Description& description) const override;
  std::optional<Shape> kernel_shape(const Shape& input_shape) const override {
    return layer_->kernel_shape(input_shape);
  }
  std::string_view kernel_name() const override { return layer_->kernel_name(); }
  std::unique_ptr<Layer> clone() const override;

 protected:
  Shape do_build_all(std::span<const Shape> input_shapes, const Random& random) override;

 private:
  bool has_kernel() const { return has_kernel_; }
  bool operators_on_codes(bool reads_codes) const;
  ResultGrid grid() const { return layer_->result_grid(config_->options().rounding); }
  bool in_integers() const;
  void require_sound_kernel() const;
  void require_int32_sums() const;
  void require_freezable() const;
  void count_oscillation(const Tensor& kernel, const ForwardContext& context) const;
  void tie_inputs() const;
  bool wants_gradient(std::span<const Tensor> inputs) const;
  std::vector<Tensor> with_kernel(const Tensor& x, const ForwardContext& context);
  Tensor simulated(const Quantizer& quantizer, const Tensor& x) const;
  bool multiplies_codes() const;
  Tensor finished(const Tensor& linear, const ForwardContext& context) const;
  Tensor fake_quant_linear(const LayerWeights& weights, const Tensor& x) const;
  std::vector<Tensor> integer_linear(const LayerWeights& weights, const Tensor& x,
                                     const ForwardContext& context) const;
  Tensor int16_linear(const LayerWeights& weights, const Tensor& x,
                      const ForwardContext& context) const;
  Tensor with_statistics_of_batch(FoldedBatchNorm& folded, const Tensor& x,
                                  const ForwardContext& context) const;
  std::vector<Tensor> without_kernel(std::span<const Tensor> inputs, const ForwardContext& context);
  std::vector<Tensor> unmeasured(std::span<const Tensor> inputs,
                                 const ForwardContext& context) const;
  std::vector<Tensor> joined(std::span<const Tensor> inputs, const ForwardContext& context) const;
  std::vector<Tensor> fixed_grid(Layer& function, const Tensor& x,
                                 const ForwardContext& context) const;

  std::unique_ptr<Layer> layer_;
  /// Whether the layer has weights(), which may be computed.
  bool has_kernel_;
  /// needs_images() of the built layer, which asks for its weights too.
  bool needs_images_ = false;
  std::shared_ptr<const QuantizeConfig> config_;
  std::unique_ptr<Quantizer> kernel_;
  std::unique_ptr<WeightOscillation> oscillation_;
  /// Of the result, before a softmax, sigmoid or tanh that ends a layer with a kernel.
  std::unique_ptr<Quantizer> result_;
  /// The layers that this one reads.
  std::vector<Layer*> inputs_;
};

/// The layer as one; null where it quantizes no other.
QuantizeWrapper* as_quantize_wrapper(Layer& layer);
const QuantizeWrapper* as_quantize_wrapper(const Layer& layer);

/// Throws InvalidArgument that names the layer where it has a quantizer for a result that its
/// operator only clamps: a ReLU6 of its own under contract double, since the RELU6 of TFLite Micro
/// does not rescale codes.
void require_exportable_clamp(const QuantizeWrapper& wrapper);

}  // namespace octet
