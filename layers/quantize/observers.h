#pragma once

#include <octet/layers/quantize/observer.h>

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

/// The range of the last batch.
class LastValueObserver : public StartedObserver {
 public:
  explicit LastValueObserver(RangeStart start);
  void observe(const Tensor& x) override;
  std::unique_ptr<Observer> clone() const override;
};

/// The range of everything seen so far.
class AllValuesObserver : public StartedObserver {
 public:
  explicit AllValuesObserver(RangeStart start);
  void observe(const Tensor& x) override;
  std::unique_ptr<Observer> clone() const override;
};

/// An exponential average of the batches' ranges (MovingAverageQuantizer).
class MovingAverageObserver : public StartedObserver {
 public:
  /// Throws InvalidArgument unless 0 <= decay < 1.
  MovingAverageObserver(RangeStart start, double decay);
  void observe(const Tensor& x) override;
  void describe(Description& description) const override;
  std::unique_ptr<Observer> clone() const override;

 private:
  double decay_;
};

/// A range that never changes; observe() still refuses NaN and infinity.
class FixedObserver : public Observer {
 public:
  /// Throws InvalidArgument unless min < max.
  FixedObserver(float min, float max);
  void observe(const Tensor& x) override;
  void describe(Description& description) const override;
  std::unique_ptr<Observer> clone() const override;

 private:
  float min_;
  float max_;
};

}  // namespace octet
