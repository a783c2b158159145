#pragma once

#include <octet/core/quant/rounding.h>
#include <octet/layers/folded_batch_norm.h>
#include <octet/layers/quantize/quantizers.h>

#include <memory>

namespace octet {

/// What the default 8-bit scheme can vary.
struct QuantizeOptions {
  Simulation simulation = Simulation::integer;
  /// The rounding contract of the runtime that will run the model.
  Rounding rounding = Rounding::fp32;
  /// Bits of the weights, 2 to 8. Stored as int8 whatever they are.
  int weight_bits = 8;
  /// A scale per unit of a kernel instead of one per kernel. quantize_model() gives convolutions
  /// one per filter whatever this says, unless quantized(layer, {.per_channel = false}) asks for
  /// one.
  bool per_channel = false;
  /// How activations' ranges start and average; RangeStart::tfmot with a decay of 0.999 is TFMOT's.
  RangeStart range_start = RangeStart::first_batch;
  double ema_decay = 0.99;
  /// How a BatchNorm goes on, which becomes part of the layer in front or a layer of its own:
  /// `folded` for a model that was trained in float, `statistics` for one that is trained quantized
  /// from the start. See freeze_batch_norm().
  BatchNormMode batch_norm = BatchNormMode::folded;

  /// TFMOT's ranges: start at -6..6, decay 0.999, no bias correction.
  static QuantizeOptions tfmot_ranges();
};

/// Says which tensors of a layer are quantized, and by what. A null quantizer leaves a tensor
/// alone. Derive from it to quantize a layer in another way, and pass it to
/// quantize_annotate_layer().
class QuantizeConfig {
 public:
  explicit QuantizeConfig(QuantizeOptions options = {}) : options_(options) {}
  virtual ~QuantizeConfig() = default;

  const QuantizeOptions& options() const { return options_; }

  /// For the kernel of a layer that has one (Dense). Asked for once, when the layer is wrapped.
  virtual std::unique_ptr<Quantizer> kernel_quantizer(const Layer& layer) const = 0;
  /// For the result of a layer with a kernel: before its activation where that is softmax, sigmoid
  /// or tanh, after it otherwise.
  virtual std::unique_ptr<Quantizer> activation_quantizer(const Layer& layer) const = 0;
  /// For the output of any other layer; the default scheme has one where Layer::result_grid() is
  /// measured.
  virtual std::unique_ptr<Quantizer> output_quantizer(const Layer& layer) const = 0;

 private:
  QuantizeOptions options_;
};

/// TFMOT's default 8-bit scheme: kernels LastValue, symmetric, narrow; activations and outputs
/// MovingAverage, asymmetric, per tensor.
class Default8BitQuantizeConfig : public QuantizeConfig {
 public:
  using QuantizeConfig::QuantizeConfig;
  std::unique_ptr<Quantizer> kernel_quantizer(const Layer& layer) const override;
  std::unique_ptr<Quantizer> activation_quantizer(const Layer& layer) const override;
  std::unique_ptr<Quantizer> output_quantizer(const Layer& layer) const override;
};

/// The default scheme. Throws InvalidArgument for weight bits outside 2 to 8.
std::shared_ptr<const QuantizeConfig> default_8bit(QuantizeOptions options = {});

}  // namespace octet
