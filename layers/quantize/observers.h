#pragma once

#include <octet/layers/quantize/observer.h>

#include <memory>
#include <string_view>

// The rules by which a range follows the smallest and largest value of each batch; names and
// behaviour are those of TensorFlow Model Optimization (docs/quantization.md).

namespace octet {

/// Where a range starts before anything was observed.
enum class RangeStart {
  first_batch,  ///< Octet: at the first batch's own range
  tfmot         ///< TFMOT: at -6 and 6 (AllValues: 0 and 0), whatever the data
};

/// "first_batch" or "tfmot".
std::string_view to_string(RangeStart start);
/// The range start of that name. Throws FormatError for another.
RangeStart parse_range_start(std::string_view name);

/// What the rules that begin at a RangeStart have in common.
class StartedObserver : public Observer {
 public:
  void describe(Description& description) const override;

 protected:
  /// A range of -`limit` to `limit` if the start is TFMOT's.
  StartedObserver(RangeStart start, float limit);
  RangeStart start() const { return start_; }

 private:
  RangeStart start_;
};

/// The range of the last batch: what weights use.
class LastValueObserver : public StartedObserver {
 public:
  explicit LastValueObserver(RangeStart start = RangeStart::first_batch);
  std::string_view type() const override { return "LastValue"; }
  bool reads_only_limits() const override { return true; }
  void observe(const Tensor& x) override;
  std::unique_ptr<Observer> clone() const override {
    return std::make_unique<LastValueObserver>(*this);
  }
};

/// The range of everything seen so far: what a model's input uses.
class AllValuesObserver : public StartedObserver {
 public:
  explicit AllValuesObserver(RangeStart start = RangeStart::first_batch);
  std::string_view type() const override { return "AllValues"; }
  bool reads_only_limits() const override { return true; }
  void observe(const Tensor& x) override;
  std::unique_ptr<Observer> clone() const override {
    return std::make_unique<AllValuesObserver>(*this);
  }
};

/// An exponential average of the batches' ranges: what activations use. With r the batch's bound
/// and d the decay, bound += (r - bound) * w.
/// RangeStart::tfmot: w = 1 - d from the first step on.
/// RangeStart::first_batch: w = (1 - d) / (1 - d^t) at step t = 1, 2, ...: the bias-corrected
/// average of Adam (Kingma and Ba, ICLR 2015), which starts at the first batch's own range.
class MovingAverageObserver : public StartedObserver {
 public:
  /// Throws InvalidArgument unless 0 <= decay < 1.
  explicit MovingAverageObserver(RangeStart start = RangeStart::first_batch, double decay = 0.99);
  std::string_view type() const override { return "MovingAverage"; }
  bool reads_only_limits() const override { return true; }
  void observe(const Tensor& x) override;
  void describe(Description& description) const override;
  std::unique_ptr<Observer> clone() const override {
    return std::make_unique<MovingAverageObserver>(*this);
  }

 private:
  double decay_;
};

/// A range that never changes; observe() still refuses NaN and infinity.
class FixedObserver : public Observer {
 public:
  /// Throws InvalidArgument unless min < max.
  FixedObserver(float min, float max);
  std::string_view type() const override { return "Fixed"; }
  bool is_constant() const override { return true; }
  bool reads_only_limits() const override { return true; }
  void observe(const Tensor& x) override;
  void describe(Description& description) const override;
  std::unique_ptr<Observer> clone() const override {
    return std::make_unique<FixedObserver>(*this);
  }

 private:
  float min_;
  float max_;
};

/// A range whose step is 2 mean |x| / sqrt(Qp), for the values of the last batch, Qp the highest
/// quantized value from the zero point on: where LSQ starts (Esser et al., ICLR 2020), also known
/// as StatsQ. Symmetric or from 0 on, as the spec says.
class MeanMagnitudeObserver : public Observer {
 public:
  std::string_view type() const override { return "MeanMagnitude"; }
  void observe(const Tensor& x) override;
  std::unique_ptr<Observer> clone() const override {
    return std::make_unique<MeanMagnitudeObserver>(*this);
  }
};

}  // namespace octet
