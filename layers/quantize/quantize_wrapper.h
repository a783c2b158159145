#pragma once

#include <octet/core/description.h>
#include <octet/layers/quantize/oscillation.h>
#include <octet/layers/quantize/quantize_config.h>

namespace octet {

enum class ResultRule;
struct Step;

/// Any layer with its kernel quantized to 8 bits or fewer and its result to 8 or 16 bits, as its
/// QuantizeConfig says. With Q and Qk as Simulation says and f the layer's activation:
///
///   a layer with a kernel W:  y = Q(f(x Qk(W) + b)), or f(Q(x Qk(W) + b)) for softmax, sigmoid and
///                             tanh, whose results have a scale of their own
///   any other:                y = Q(layer(x)) where the config gives a quantizer for the output,
///                             else the result with the scale and zero point of x
///
/// W and b are those of LayerWeights: of a FoldedBatchNorm the folded ones. While that trains on
/// the statistics of the batch, x Qk(W) is normalized by its own, see
/// FoldedBatchNorm::normalize_batch().
///
/// State: that of the layer; kernel_min and kernel_max; and min, max and zero_point of the result,
/// which begin with post_activation_ or pre_activation_ for a layer with a kernel and with output_
/// for any other. What operators of a layer of your own give before its result has min, max and
/// zero_point under the name of its tensor. Per channel, kernel_min and kernel_max have one value
/// per unit.
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
  /// Sets frozen weights back to their quantized values, from which an optimizer moves them, and
  /// tells whether there are any.
  void hold_frozen_weights();
  /// Quantizers of tensors that are trained, and these tensors.
  std::vector<std::pair<Quantizer*, Tensor>> trained_tensors() const;
  bool holds_frozen_weights() const;

  /// The operators of the wrapped layer, quantized.
  std::vector<GraphValue> emit(Graph& graph, std::span<const GraphValue> inputs) const override;
  LayerTensors tensors() const override;
  std::optional<LayerWeights> weights() const override { return layer_->weights(); }
  std::optional<LayerQuantizers> quantized_by() const override;
  void describe(Description& description) const override;
  std::unique_ptr<Layer> clone() const override;

 protected:
  void make_tensors(std::span<const Shape> input_shapes, const Random& random) override;
  Shape result_shape(std::span<const Shape> input_shapes) const override;

 private:
  bool has_kernel() const { return has_kernel_; }
  void make_result_quantizer();
  bool in_integers() const;
  void require_sound_kernel() const;
  void require_int32_sums() const;
  void require_freezable() const;
  struct Inner;
  std::vector<Inner> inner_values(std::span<const Step> steps, std::size_t of_result,
                                  ResultRule rule) const;
  enum class ReadAs;
  std::unique_ptr<Quantizer> new_inner_quantizer(const Step& step, bool of_kernel, ReadAs read_as,
                                                 const std::string& prefix) const;
  void build_inner_quantizers();
  void give_inner_quantizers(std::span<Step> steps, std::size_t of_result, ResultRule rule) const;
  std::size_t step_of_result(std::span<const Step> steps, ResultRule rule) const;
  bool is_quantized_step(const Step& step, bool gives_result, bool is_behind,
                         ResultRule rule) const;
  void require_linear_alone() const;

  std::unique_ptr<Layer> layer_;
  /// Whether the layer has weights(), which may be computed.
  bool has_kernel_;
  std::shared_ptr<const QuantizeConfig> config_;
  std::unique_ptr<Quantizer> kernel_;
  std::unique_ptr<WeightOscillation> oscillation_;
  /// The quantizer of the result, before a softmax, sigmoid or tanh that ends a layer with a
  /// kernel.
  std::unique_ptr<Quantizer> result_;
  /// The quantizers of what the operators of a layer without weights() give before its result, and
  /// of the tensors that they read, in their order; null where the config leaves one alone.
  std::vector<std::unique_ptr<Quantizer>> inner_;
  /// Whether some of them are of tensors that are trained.
  bool inner_trains_ = false;
  /// In a layer of a file, before it is built: gives each of them by its prefix.
  std::optional<Description> described_inner_;
};

/// The layer as one; null where it quantizes no other.
QuantizeWrapper* as_quantize_wrapper(Layer& layer);
const QuantizeWrapper* as_quantize_wrapper(const Layer& layer);

/// Throws InvalidArgument that names the layer where it has a quantizer for a result that its
/// operator only clamps: a ReLU6 of its own in rounding mode double, since the RELU6 of TFLite
/// Micro does not rescale.
void require_exportable_clamp(const QuantizeWrapper& wrapper);

}  // namespace octet
