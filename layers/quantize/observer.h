#pragma once

#include <octet/core/description.h>
#include <octet/core/quant/quant_params.h>
#include <octet/core/tensor.h>
#include <octet/layers/layer.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace octet {

/// The range of one tensor: what an observer keeps of it, and a quantizer makes its scale and zero
/// point from. Copies share the tensors.
struct ObservedRange {
  Tensor min;      ///< scalar, or [channels]
  Tensor max;      ///< as min
  Tensor updates;  ///< how many batches the range stands for
  bool usable_from_start = false;

  bool known() const { return min.defined() && (usable_from_start || updates.item() > 0.0F); }
};

/// Watches one tensor of a network and keeps the range that its quantized values are to span, per
/// tensor or per channel. A subclass is given the whole tensor and decides which range follows from
/// it: the smallest and largest value, an average of them, a percentile.
///
/// Derive from it to measure ranges in another way, and hand it to a Quantizer. It is saved and
/// loaded with its model once registered (register_observer).
class Observer {
 public:
  virtual ~Observer() = default;

  /// The name under which files know the class, e.g. "MovingAverage".
  virtual std::string_view type() const = 0;
  /// Throws InvalidArgument for a spec that the observer cannot serve.
  virtual void require_spec(const QuantSpec& /*spec*/) const {}
  /// Whether the range never changes: fake quantization is then TensorFlow's of constant limits.
  virtual bool is_constant() const { return false; }

  /// Makes the state for tensors of `shape` whose range is kept per index of `spec.axis`, or as
  /// one for -1. `owner` names the tensor in errors.
  void build(const QuantSpec& spec, std::string owner, const Shape& shape);

  /// Whether observe() and calibrate() ask for nothing of x but its smallest and largest value.
  virtual bool reads_only_limits() const { return false; }
  /// Updates the range with the values of `x`, which is not empty. Throws NumericError that names
  /// the tensor for NaN and infinity; the caller then restores `range()` and `counters()`.
  virtual void observe(const Tensor& x) = 0;

  /// Updates the range with a batch of calibrate(). Observers that settle their range by
  /// calibration override it.
  virtual void calibrate(const Tensor& x) { observe(x); }
  /// Merges the state of observers that each calibrated one shard of a batch, starting from
  /// `before`. This observer is in the state of the first shard, from which counters that do not
  /// depend on the values (the number of batches) are kept. The default takes the smallest minimum
  /// and the largest maximum, which is the range of the whole batch if each bound depends only on
  /// the batch's bound and rises with it; other observers override it.
  virtual void merge_calibrated(const Observer& before,
                                std::span<const std::unique_ptr<Observer>> parts);
  /// Throws NumericError that names the tensor for NaN and infinity, as observe() does.
  void require_finite(const Tensor& x) const;

  const ObservedRange& range() const { return *range_; }
  /// range() to share: it is this observer's for as long as the observer lives.
  std::shared_ptr<const ObservedRange> shared_range() const { return range_; }

  /// What else observe() keeps from batch to batch, e.g. a histogram: saved with the model.
  virtual std::vector<NamedTensor> counters() const { return {}; }

  /// Writes the arguments of the constructor, under their names, for a quantizer's description,
  /// which has "type" and the entries of the spec ("bits", "axis", ...) for itself.
  virtual void describe(Description& /*description*/) const {}

  /// A copy that shares nothing with this observer.
  virtual std::unique_ptr<Observer> clone() const = 0;

 protected:
  /// The range before anything was observed; one that is `usable_from_start` quantizes by it.
  explicit Observer(float initial_min = 0.0F, float initial_max = 0.0F,
                    bool usable_from_start = false);
  /// Copies the range. A subclass with tensors of its own clones them in its copy constructor.
  Observer(const Observer& other);
  Observer& operator=(const Observer&) = delete;

  /// Makes what counters() gives, for tensors of `shape`.
  virtual void do_build(const Shape& /*shape*/) {}

  struct Range {
    float min = 0.0F;
    float max = 0.0F;
  };
  /// Smallest and largest value of x per channel, or as one. Where x knows its limits, nothing is
  /// read. Throws NumericError for NaN and infinity, InvalidArgument for another number of channels
  /// than build() was told.
  std::vector<Range> limits_of(const Tensor& x) const;

  /// `range` widened to hold 0 and made symmetric where the spec says so.
  Range widened(const Range& range) const;

  std::span<float> mins() { return range_->min.mutable_span(); }
  std::span<float> maxs() { return range_->max.mutable_span(); }
  float updates() const { return range_->updates.item(); }
  void set_updates(float count) { range_->updates.mutable_data()[0] = count; }

  const QuantSpec& spec() const { return spec_; }
  /// The tensor's name in errors.
  const std::string& owner() const { return owner_; }

 private:
  QuantSpec spec_;
  std::string owner_;
  void require_finite(bool finite) const;

  float initial_min_;
  float initial_max_;
  std::shared_ptr<ObservedRange> range_;
};

}  // namespace octet
