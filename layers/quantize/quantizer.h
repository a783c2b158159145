#pragma once

#include <octet/core/arithmetic/round_mode.h>
#include <octet/core/function_ref.h>
#include <octet/core/quant/quant_params.h>
#include <octet/core/tensor.h>
#include <octet/layers/layer.h>
#include <octet/layers/quantize/observer.h>
#include <octet/layers/quantize/scale_rule.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace octet {

/// How quantized layers compute while they are trained and evaluated.
enum class Simulation {
  /// On the integers themselves, as the exported model does: not one bit of difference.
  integer,
  /// TensorFlow's composition of float ops and fake quantization: close to the integers.
  fake_quant
};

/// "integer" or "fake_quant".
std::string_view to_string(Simulation simulation);

/// Quantizes one tensor of a network. Three parts make it: a spec (how many bits, signed,
/// symmetric, per tensor or per channel), an observer, which watches the tensor and keeps its range
/// as state that no optimizer touches, and a scale rule, which makes scale and zero point of
/// parameters that an optimizer changes. Without a rule they follow from the range.
///
/// To quantize in a way of your own, derive from Observer or from ScaleRule. A class derived from
/// this one can name a constructor (quantizers.h), and no more: copies are Quantizers.
class Quantizer {
 public:
  /// Whether the zero point is kept as state beside the range.
  enum class ZeroPoint { hidden, kept };

  /// Throws InvalidArgument for a null observer, and for a spec that the observer or the rule
  /// refuses.
  Quantizer(QuantSpec spec, std::unique_ptr<Observer> observer,
            std::unique_ptr<ScaleRule> scale_rule = nullptr);
  /// Takes spec and observer of `start`, whose range is where the rule starts. Throws
  /// InvalidArgument for a null `start`, one with a rule, and a spec that the rule refuses.
  Quantizer(std::unique_ptr<Quantizer> start, std::unique_ptr<ScaleRule> scale_rule);
  /// A copy that shares nothing with `other`, and is tied to none.
  Quantizer(const Quantizer& other);
  Quantizer& operator=(const Quantizer&) = delete;
  virtual ~Quantizer() = default;
  std::unique_ptr<Quantizer> clone() const;

  /// The name of the scale rule, e.g. "Lsq", or without one that of the observer, e.g.
  /// "MovingAverage".
  std::string_view type() const { return scale_rule_ ? scale_rule_->type() : observer_->type(); }

  /// Makes the state for tensors of `shape` (without the batch axis): "<prefix>min", "<prefix>max",
  /// "<prefix>zero_point". `owner` names the tensor in errors. Throws InvalidArgument for an axis
  /// that `shape` does not have, and for any where a zero point, which is one number, is kept.
  void build(std::string owner, std::string prefix, const Shape& shape, ZeroPoint zero_point);
  bool built() const { return min().defined(); }

  const QuantSpec& spec() const { return spec_; }
  const Observer& observer() const { return *observer_; }
  /// Null where scale and zero point follow from the observed range.
  const ScaleRule* scale_rule() const { return scale_rule_.get(); }

  /// Shows the observer `x`, unless frozen. An empty tensor changes nothing. Where a scale rule no
  /// longer follows the range, only its parameters are put right. Throws NumericError that names
  /// the tensor where x holds NaN or infinity or its range is too wide for float32; the state is
  /// then unchanged. Throws InvalidArgument before build().
  void observe(const Tensor& x) { show(x, &Observer::observe); }
  /// observe() for a batch that octet::calibrate() shows: some observers settle their range by it.
  void calibrate(const Tensor& x) { show(x, &Observer::calibrate); }
  /// What a layer does with its tensor in a forward pass: observe() while training, calibrate()
  /// while calibrating, nothing at inference.
  void watch(const Tensor& x, const ForwardContext& context);
  /// Makes a learned scale one that a step can have, where an optimizer has moved it to another.
  /// For a quantizer with a scale rule. Throws NumericError for values x that are not finite.
  void repair_scale(const Tensor& x);

  /// Observer::merge_calibrated() of this quantizer's, unless frozen; settle_range() comes after
  /// it.
  void merge_calibrated(const Observer& before, std::span<const std::unique_ptr<Observer>> parts);

  /// What observe() does once the observer has a range, for one that was written into min() and
  /// max(): training on shards merges theirs. Nothing while frozen or without a range. Throws
  /// NumericError for a range that is too wide for float32.
  void settle_range();

  /// While frozen, observe() changes nothing. Saved with the model.
  void freeze(bool frozen) { frozen_.mutable_data()[0] = frozen ? 1.0F : 0.0F; }
  bool frozen() const { return frozen_.item() != 0.0F; }
  /// While disabled, tensors pass the simulation unchanged; ranges are still observed.
  void enable(bool enabled) { enabled_ = enabled; }
  bool enabled() const { return enabled_; }

  /// Ties quantizers of tensors that one operator takes with one scale and zero point
  /// (CONCATENATION): each goes on observing its own tensor into its own range, and the common
  /// scale spans the smallest minimum and the largest maximum of those that have a range.
  /// Quantizers that were tied to others bring these along. Throws InvalidArgument, naming the
  /// tensors, for a quantizer that is null or not built, per channel, of another spec than the
  /// first, or with a scale rule; NumericError where the common range is too wide for float32.
  /// Nothing is tied then.
  static void tie(std::span<Quantizer* const> quantizers);
  bool tied() const { return group_ != nullptr; }

  /// Whether there is a range to quantize with: its own or that of one tied to it.
  bool has_range() const;
  /// The range of this quantizer's tensor, or that of all tied to it.
  ObservedRange common_range() const;

  /// Scale, zero point and limits of the integers that export uses.
  /// Throws InvalidArgument where no range has been observed, NumericError for an unsound one.
  QuantParams params() const;

  /// TensorFlow's fake quantization of x with the range, whose gradient passes inside the nudged
  /// range; or that of the scale rule. Throws as params().
  Tensor fake_quant(const Tensor& x) const;

  /// dequantize(quantize(x)) with params(), which the result carries; the gradient passes where x
  /// lies between the real values of qmin and qmax, and reaches learned_range(). Throws as
  /// params(), and InvalidArgument for a range per channel.
  Tensor quantize_dequantize(const Tensor& x, RoundMode mode = RoundMode::half_away) const;

  /// quantize_dequantize(x) or fake_quant(x).
  Tensor simulate(const Tensor& x, Simulation simulation,
                  RoundMode mode = RoundMode::half_away) const {
    return simulation == Simulation::integer ? quantize_dequantize(x, mode) : fake_quant(x);
  }

  /// What the names of the state begin with, e.g. "kernel_".
  const std::string& prefix() const { return prefix_; }
  /// The range that this quantizer's own tensor was observed to have.
  const Tensor& min() const { return observer_->range().min; }
  const Tensor& max() const { return observer_->range().max; }
  /// What an optimizer may change, "<prefix><name>": the parameters of the scale rule.
  std::vector<NamedTensor> parameters() const;
  /// ScaleRule::learned_range() of the rule; without one, nothing.
  LearnedRange learned_range() const;
  /// Throws InvalidArgument, naming the tensor, where Simulation::integer would leave parameters
  /// without gradients: learned_range() has none, or another number of them.
  void require_learnable() const;
  std::vector<NamedTensor> state() const;
  /// "<prefix>updates", "<prefix>frozen" and what observer and scale rule keep besides.
  std::vector<NamedTensor> counters() const;
  LayerTensors tensors() const { return {parameters(), state(), counters()}; }

 private:
  struct Member;
  struct Group;

  static void require_tieable(const Quantizer* quantizer, const Quantizer& first);
  static std::shared_ptr<Group> union_of(std::span<Quantizer* const> quantizers);
  Group* group() const;

  void show(const Tensor& x, void (Observer::*how)(const Tensor&));
  /// Makes the zero point kept beside the range, and those of the tied, that of `params`.
  void keep_zero_point(const QuantParams& params) const;
  /// What `run` makes of x with its channels, if it has a range for each, on the last axis. Throws
  /// InvalidArgument for an axis that x does not have.
  Tensor with_channels_last(const Tensor& x, FunctionRef<Tensor(const Tensor&)> run) const;
  void append_named(std::vector<NamedTensor>& list, const std::vector<NamedTensor>& part) const;
  /// Throws InvalidArgument where no range has been observed.
  void require_range() const;

  QuantSpec spec_;
  std::unique_ptr<Observer> observer_;
  std::unique_ptr<ScaleRule> scale_rule_;
  std::string owner_;
  std::string prefix_;
  Tensor frozen_;
  bool enabled_ = true;
  /// What those tied to this quantizer see of it.
  std::shared_ptr<Member> member_;
  std::shared_ptr<Group> group_;
};

/// A copy, or null of null.
inline std::unique_ptr<Quantizer> clone_of(const std::unique_ptr<Quantizer>& quantizer) {
  return quantizer ? quantizer->clone() : nullptr;
}

}  // namespace octet
