#pragma once

#include <octet/core/kernels/min_max.h>
#include <octet/core/quant/histogram.h>
#include <octet/layers/quantize/observer.h>

#include <memory>
#include <span>
#include <string_view>
#include <vector>

// Ranges that leave outliers out: calibrate() finds how much of them (docs/quantization.md,
// "Calibration").

namespace octet {

/// A range of weights. calibrate() searches a clip for each channel, or one for all, on the values
/// themselves; observe(), in training, follows the limits of the weights and keeps the clip: with t
/// = clip * max |w|, the range is [max(min, -t), min(max, t)]. The first batch counts as one of
/// calibrate() wherever it comes from.
class ClipObserver : public Observer {
 public:
  void observe(const Tensor& x) override;
  void calibrate(const Tensor& x) override;
  /// "clip": one value, or one per channel.
  std::vector<NamedTensor> counters() const override { return {{"clip", clip_}}; }

 protected:
  ClipObserver() = default;
  ClipObserver(const ClipObserver& other);
  void do_build(const Shape& shape) override;

  /// The clip, above 0 and up to 1, of one channel's values, whose limits are known.
  virtual float clip_of(std::span<const float> values, const Range& limits) const = 0;

 private:
  void search(const Tensor& x, const std::vector<Range>& limits);
  void follow(const std::vector<Range>& limits);

  Tensor clip_;
  /// What was searched last, and the clips of it: kernels stay the same while several batches
  /// calibrate a model.
  std::vector<float> searched_;
  std::vector<float> found_;
};

/// A range of activations, one for the tensor. calibrate() counts the values of each batch in a
/// histogram and takes the range from all that it has counted so far, in whatever order and however
/// batched; observe(), in training, changes nothing but refuses NaN and infinity. The first batch
/// counts as one of calibrate() wherever it comes from.
class HistogramObserver : public Observer {
 public:
  void observe(const Tensor& x) override;
  void calibrate(const Tensor& x) override;
  /// The range of all values that the parts have counted, exactly that of the whole batch.
  void merge_calibrated(const Observer& before,
                        std::span<const std::unique_ptr<Observer>> parts) override;
  /// "histogram", Histogram::packed(), and "extremes", the smallest and the largest value or 0.
  std::vector<NamedTensor> counters() const override {
    return {{"histogram", histogram_}, {"extremes", extremes_}};
  }

 protected:
  HistogramObserver() = default;
  HistogramObserver(const HistogramObserver& other);
  /// Throws InvalidArgument for a spec with an axis.
  void do_build(const Shape& shape) override;

  /// The t of the range [max(min, -t), min(max, t)].
  virtual float threshold(const Histogram& histogram, const MinMax& limits) const = 0;

 private:
  Histogram histogram() const;
  /// Keeps both, and the range that follows from them.
  void take(const Histogram& histogram, const MinMax& limits);

  Tensor histogram_;
  Tensor extremes_;
};

/// The range of the smallest squared error, see mse_clip().
class MseObserver : public ClipObserver {
 public:
  std::string_view type() const override { return "Mse"; }
  std::unique_ptr<Observer> clone() const override;

 protected:
  float clip_of(std::span<const float> values, const Range& limits) const override;
};

/// The range up to the k-th smallest magnitude, see percentile_magnitude().
class PercentileObserver : public ClipObserver {
 public:
  /// Throws InvalidArgument unless 0 < percentile <= 100.
  explicit PercentileObserver(double percentile);
  std::string_view type() const override { return "Percentile"; }
  void describe(Description& description) const override;
  std::unique_ptr<Observer> clone() const override;

 protected:
  float clip_of(std::span<const float> values, const Range& limits) const override;

 private:
  double percentile_;
};

/// MseObserver's rule on a histogram.
class HistogramMseObserver : public HistogramObserver {
 public:
  std::string_view type() const override { return "HistogramMse"; }
  std::unique_ptr<Observer> clone() const override;

 protected:
  float threshold(const Histogram& histogram, const MinMax& limits) const override;
};

/// PercentileObserver's rule on a histogram: exact to the width of a bin.
class HistogramPercentileObserver : public HistogramObserver {
 public:
  /// Throws InvalidArgument unless 0 < percentile <= 100.
  explicit HistogramPercentileObserver(double percentile);
  std::string_view type() const override { return "HistogramPercentile"; }
  void describe(Description& description) const override;
  std::unique_ptr<Observer> clone() const override;

 protected:
  float threshold(const Histogram& histogram, const MinMax& limits) const override;

 private:
  double percentile_;
};

/// The range of the least divergence, see entropy_magnitude(); for 8 bits.
class HistogramEntropyObserver : public HistogramObserver {
 public:
  std::string_view type() const override { return "HistogramEntropy"; }
  void require_spec(const QuantSpec& spec) const override;
  std::unique_ptr<Observer> clone() const override;

 protected:
  float threshold(const Histogram& histogram, const MinMax& limits) const override;
};

}  // namespace octet
