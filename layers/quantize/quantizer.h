#pragma once

#include <octet/core/arithmetic/round_mode.h>
#include <octet/core/description.h>
#include <octet/core/function_ref.h>
#include <octet/core/quant/quant_params.h>
#include <octet/core/tensor.h>
#include <octet/layers/layer.h>
#include <octet/layers/quantize/learned_range.h>
#include <octet/layers/quantize/observer.h>

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

/// Puts one tensor of a network on a grid of integers. Two parts make it: the grid (QuantSpec: how
/// many codes, signed, symmetric, per tensor or per channel) and an observer, which watches the
/// tensor and keeps the range that the grid is to span, as state that no optimizer touches.
///
/// To write your own quantizer, derive from this class and pass it an Observer; it needs a type()
/// and a clone(), and is saved and loaded with its model once registered (register_quantizer). One
/// whose scale is learned gives it as parameters() and overrides params(), and learned_range() for
/// Simulation::integer or fake_quant() for Simulation::fake_quant.
class Quantizer {
 public:
  /// Whether the zero point is kept as state beside the range.
  enum class ZeroPoint { hidden, kept };

  virtual ~Quantizer() = default;

  /// The name under which files know the class, e.g. "MovingAverage".
  virtual std::string_view type() const = 0;
  /// Writes what the quantizer was made with: its spec ("bits", "signed", "narrow", "symmetric",
  /// "axis", "full_steps") and the arguments of its observer. The entry "type" is the file's.
  virtual void describe(Description& description) const;

  /// Makes the state for tensors of `shape` (without the batch axis): "<prefix>min", "<prefix>max",
  /// "<prefix>zero_point". `owner` names the tensor in errors. Throws InvalidArgument for an axis
  /// that `shape` does not have, and for any where a zero point, which is one number, is kept.
  void build(std::string owner, std::string prefix, const Shape& shape, ZeroPoint zero_point);
  bool built() const { return min().defined(); }

  const QuantSpec& spec() const { return spec_; }
  const Observer& observer() const { return *observer_; }

  /// Shows the observer `x`, unless frozen. An empty tensor changes nothing. Throws NumericError
  /// that names the tensor where x holds NaN or infinity or its range is too wide for float32; the
  /// state is then unchanged. Throws InvalidArgument before build().
  virtual void observe(const Tensor& x);
  /// The same for a batch that calibrate() shows: what a CalibratedQuantizer settles its range by.
  virtual void calibrate(const Tensor& x) { observe(x); }
  /// What a layer does with its tensor in a forward pass: observe() while training, calibrate()
  /// while calibrating, nothing at inference.
  void watch(const Tensor& x, const ForwardContext& context);

  /// Observer::merge_calibrated() of this quantizer's, unless frozen; settle_range() comes after
  /// it.
  void merge_calibrated(const Observer& before, std::span<const std::unique_ptr<Observer>> parts);

  /// What observe() does once the observer has a range, for one that was written into min() and
  /// max(): training on shards merges theirs. Nothing while frozen or without a range. Throws
  /// NumericError for a range that is too wide for float32.
  void settle_range();

  /// While frozen, observe() changes nothing. Saved with the model.
  void freeze(bool frozen) { frozen_.data()[0] = frozen ? 1.0F : 0.0F; }
  bool frozen() const { return frozen_.item() != 0.0F; }
  /// While disabled, tensors pass the simulation unchanged; ranges are still observed.
  void enable(bool enabled) { enabled_ = enabled; }
  bool enabled() const { return enabled_; }

  /// Ties quantizers of tensors that one operator takes on one grid (CONCATENATION): each goes on
  /// observing its own tensor into its own range, and the grid of all of them spans the smallest
  /// minimum and the largest maximum of those that have a range. Quantizers that were tied to
  /// others bring these along. Throws InvalidArgument, naming the tensors, for a quantizer that is
  /// null or not built, per channel, of another spec than the first, or whose scale is learned;
  /// NumericError where the common range is too wide for float32. Nothing is tied then.
  static void tie(std::span<Quantizer* const> quantizers);
  bool tied() const { return group_ != nullptr; }

  /// Whether there is a range to quantize with: its own or that of one tied to it.
  bool has_range() const;

  /// Scale, zero point and limits of the integers that export uses.
  /// Throws InvalidArgument where no range has been observed, NumericError for an unsound one.
  virtual QuantParams params() const;

  /// TensorFlow's fake quantization of x with the grid's range; its gradient passes inside the
  /// nudged range. Throws as params().
  virtual Tensor fake_quant(const Tensor& x) const;

  /// dequantize(quantize(x)) with params(), the result carrying its grid; the gradient passes where
  /// x lies between the reals of qmin and qmax, and reaches learned_range(). Throws as params(),
  /// and InvalidArgument for a range per channel.
  virtual Tensor quantize_dequantize(const Tensor& x, RoundMode mode = RoundMode::half_away) const;

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
  /// What an optimizer may change: none, unless the scale is learned.
  virtual std::vector<NamedTensor> parameters() const { return {}; }
  /// The same parameters with their gradients, as Simulation::integer takes them. A quantizer that
  /// has parameters and does not override this is refused there.
  virtual LearnedRange learned_range() const { return {}; }
  /// Throws InvalidArgument, naming the tensor, where Simulation::integer would leave parameters
  /// without gradients: learned_range() has none, or another number of them.
  void require_learnable() const;
  std::vector<NamedTensor> state() const;
  /// "<prefix>updates", "<prefix>frozen" and what the observer keeps besides.
  virtual std::vector<NamedTensor> counters() const;
  /// A copy that shares nothing with this quantizer, and is tied to none.
  virtual std::unique_ptr<Quantizer> clone() const = 0;

 protected:
  /// Throws InvalidArgument for a null observer.
  Quantizer(QuantSpec spec, std::unique_ptr<Observer> observer);
  /// A copy as clone() makes it. A subclass with parameters clones them in its copy constructor.
  Quantizer(const Quantizer& other);
  Quantizer& operator=(const Quantizer&) = delete;

  /// Makes the parameters for tensors of `shape`.
  virtual void do_build(const Shape& /*shape*/) {}
  /// Takes over what was just observed. Where it throws, it must not have changed anything: the
  /// observer is then put back.
  virtual void range_changed() {}
  /// Whether range_changed() is to be called for a range that is new.
  virtual bool follows_range() const { return true; }
  /// Makes the zero point kept beside the range, and those of the tied, that of `params`.
  void keep_zero_point(const QuantParams& params) const;

  /// What `run` makes of x with its channels, if it has a range for each, on the last axis. Throws
  /// InvalidArgument for an axis that x does not have.
  Tensor with_channels_last(const Tensor& x, FunctionRef<Tensor(const Tensor&)> run) const;

  /// Shows the observer `x` by its observe() or calibrate(), as observe() says.
  void show(const Tensor& x, void (Observer::*how)(const Tensor&));

  /// The range that the grid spans: this quantizer's, or that of all tied to it.
  ObservedRange grid_range() const;
  const std::string& owner() const { return owner_; }
  /// Throws InvalidArgument where no range has been observed.
  void require_range() const;

 private:
  struct Member;
  struct Group;

  static void require_tieable(const Quantizer* quantizer, const Quantizer& first);
  static std::shared_ptr<Group> union_of(std::span<Quantizer* const> quantizers);
  Group* group() const;

  QuantSpec spec_;
  std::unique_ptr<Observer> observer_;
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
  return quantizer ? clone_of(*quantizer, quantizer->type()) : nullptr;
}

}  // namespace octet
