#pragma once

#include <octet/core/quant/rounding.h>
#include <octet/layers/folded_batch_norm.h>
#include <octet/layers/quantize/quantizers.h>

#include <memory>
#include <optional>
#include <string_view>

namespace octet {

/// How the range of a tensor is found. Weights take min_max, percentile and mse.
enum class Calibration {
  min_max,         ///< the smallest and the largest value: LastValue (weights), AllValues
  moving_average,  ///< an average of the batches' limits: MovingAverage
  percentile,      ///< up to the k-th smallest magnitude: Percentile, HistogramPercentile
  mse,             ///< the least squared error when quantized: Mse, HistogramMse
  entropy          ///< the least divergence: HistogramEntropy
};

/// "min_max", "moving_average", "percentile", "mse" or "entropy".
std::string_view to_string(Calibration calibration);
/// The calibration of that name. Throws FormatError for another.
Calibration parse_calibration(std::string_view name);

/// Where scales come from.
enum class Scales {
  measured,  ///< from the range that an observer found
  lsq,       ///< learned, see LsqQuantizer
  lsq_plus,  ///< of results: learned with an offset, see LsqPlusQuantizer
  pact       ///< of results behind a ReLU or ReLU6: see PactQuantizer; of others measured
};

/// "measured", "lsq", "lsq_plus" or "pact".
std::string_view to_string(Scales scales);
/// The scales of that name. Throws FormatError for another.
Scales parse_scales(std::string_view name);

/// Options of the default 8-bit scheme.
struct QuantizeOptions {
  Simulation simulation = Simulation::integer;
  /// The rounding mode of the runtime that will run the model.
  Rounding rounding = Rounding::fp32;
  /// Bits of the weights, 2 to 8. Stored as int8 unless LowerOptions::pack_weights,
  /// CSourceOptions::weights or OnnxOptions::weights asks for less.
  int weight_bits = 8;
  /// Whether weights of 7 bits and fewer use all quantized values, [-2^(bits - 1), 2^(bits - 1) -
  /// 1], or leave out the lowest, so that they are symmetric: of 2 bits, {-2, -1, 0, 1} or {-1, 0,
  /// 1} (ternary). Of 8 bits -128 is always left out, which runtimes count on.
  bool full_weight_grid = false;
  /// Bits of results behind a ReLU or ReLU6, 2 to 8, or 16. Fewer than 8 are the highest int8
  /// values, [128 - 2^bits, 127], with the zero point at the lowest: the ReLU clamps from below,
  /// saturation from above, in every runtime. Inputs of models and other results keep 8 bits,
  /// because no operator would clamp them to fewer. 16 applies to all results and to inputs, with
  /// rounding mode q15 only: int16 values with zero point 0 and scale max(max x / 32767, -min x /
  /// 32768), whose products with weights are summed in int64. Layers take them whose operators have
  /// OperatorDefinition::takes_int16; a softmax then computes in float.
  int activation_bits = 8;
  /// A scale per unit of a kernel instead of one per kernel. quantize_model() gives convolutions
  /// one per filter whatever this says, unless quantized(layer, {.per_channel = false}) asks for
  /// one.
  bool per_channel = false;
  /// Whether the scales of kernels are learned, by `lsq`, and how those of results are. Learned
  /// ones start from what is measured. Inputs of models keep measured ones.
  Scales weight_scales = Scales::measured;
  Scales activation_scales = Scales::measured;
  /// Whether oscillations of quantized weights are counted in training: see oscillating_weights().
  /// Costs a pass over the weights in each training pass, and memory.
  bool count_oscillations = false;
  /// The frequency above which a weight is frozen at its mean quantized value, see
  /// WeightOscillation; 0: none is. For learned weight_scales, without batch normalization behind
  /// the kernel.
  float freeze_oscillations_above = 0.0F;
  /// How ranges of activations start and average; RangeStart::tfmot with a decay of 0.999 is
  /// TFMOT's way.
  RangeStart range_start = RangeStart::first_batch;
  double ema_decay = 0.99;
  /// How the ranges of weights are found. Not given: mse for weights of 4 bits and fewer, whose
  /// steps are too few to reach for outliers, else min_max.
  std::optional<Calibration> weight_calibration{};
  /// How the ranges of results are found.
  Calibration activation_calibration = Calibration::moving_average;
  /// How the ranges of a model's inputs are found. Not given: as for results where that leaves
  /// outliers out (percentile, mse, entropy), else min_max, as in TFMOT.
  std::optional<Calibration> input_calibration{};
  /// For Calibration::percentile: the share of values, in percent, that are not clipped.
  double percentile = 99.99;
  /// How a folded BatchNorm is trained: `folded` keeps its statistics, for a model that was trained
  /// in float; `statistics` updates them, for a model that is trained quantized from the start. See
  /// freeze_batch_norm().
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

  /// Makes the quantizer of the kernel of a layer that has one (Dense). Called once, when the layer
  /// is wrapped.
  virtual std::unique_ptr<Quantizer> kernel_quantizer(const Layer& layer) const = 0;
  /// Makes the quantizer of the result of a layer with a kernel: before its activation if that is
  /// softmax, sigmoid or tanh, else after it.
  virtual std::unique_ptr<Quantizer> activation_quantizer(const Layer& layer) const = 0;
  /// Makes the quantizer of the output of any other layer; the default scheme has one where
  /// result_rule() is measured.
  virtual std::unique_ptr<Quantizer> output_quantizer(const Layer& layer) const = 0;
  /// Makes the quantizer of a result that BATCH_MATMUL reads as its second operand, as keys and
  /// values of attention are. The default scheme gives it zero point 0, because LiteRT computes
  /// other products in another rounding mode.
  virtual std::unique_ptr<Quantizer> factor_quantizer(const Layer& layer) const {
    return activation_quantizer(layer);
  }
  /// Makes the quantizer of a result that SQRT or RSQRT reads, whose zero point is the lowest
  /// value. The default scheme learns no offset of it, nor a range to both sides of 0.
  virtual std::unique_ptr<Quantizer> radicand_quantizer(const Layer& layer) const {
    return activation_quantizer(layer);
  }
  /// For a tensor that a layer without weights() trains: a kernel of Graph::linear(), whose units
  /// lie along `unit_axis`, a kernel that is a Graph::parameter(), for which that is kOneScale, or
  /// another Graph::parameter(), for which it is -1. The default scheme quantizes a kernel as
  /// kernel_quantizer() does, one of kOneScale per tensor, and any other tensor per tensor to 8
  /// bits, asymmetric, or to the 16 bits of activations, from the range that it has now.
  static constexpr int kOneScale = -2;
  virtual std::unique_ptr<Quantizer> parameter_quantizer(const Layer& layer, int unit_axis) const;

 private:
  QuantizeOptions options_;
};

/// TFMOT's default 8-bit scheme: kernels LastValue, symmetric, narrow; activations and outputs
/// MovingAverage, asymmetric, per tensor. Kernels of 4 bits and fewer are Mse; QuantizeOptions asks
/// for other ranges.
class Default8BitQuantizeConfig : public QuantizeConfig {
 public:
  using QuantizeConfig::QuantizeConfig;
  std::unique_ptr<Quantizer> kernel_quantizer(const Layer& layer) const override;
  std::unique_ptr<Quantizer> activation_quantizer(const Layer& layer) const override;
  std::unique_ptr<Quantizer> output_quantizer(const Layer& layer) const override;
  std::unique_ptr<Quantizer> factor_quantizer(const Layer& layer) const override;
  std::unique_ptr<Quantizer> radicand_quantizer(const Layer& layer) const override;
};

/// How inputs and results are quantized that no clamp ends: 8 bits, or 16.
QuantSpec activation_spec(const QuantizeOptions& options);

/// The quantizer that measures the range of a result, as the options say.
std::unique_ptr<Quantizer> default_activation_quantizer(const QuantizeOptions& options,
                                                        const QuantSpec& spec);
inline std::unique_ptr<Quantizer> default_activation_quantizer(const QuantizeOptions& options) {
  return default_activation_quantizer(options, activation_spec(options));
}
/// Measures the range of a model's input.
std::unique_ptr<Quantizer> default_input_quantizer(const QuantizeOptions& options,
                                                   const QuantSpec& spec);

/// The default scheme. Throws InvalidArgument for bits outside 2 to 8, of activations also 16, for
/// 16 bits without rounding q15, for that without them, for 16 bits that are calibrated by mse or
/// entropy or whose scales are learned, for results of fewer bits than 8 calibrated by entropy, for
/// weights calibrated by moving_average or entropy, for a percentile outside (0, 100], and for
/// weight_scales that are for results only.
std::shared_ptr<const QuantizeConfig> default_8bit(QuantizeOptions options = {});

}  // namespace octet
