#pragma once

#include <octet/layers/quantize/observer.h>

#include <memory>
#include <span>
#include <string_view>
#include <vector>

// Ranges that leave outliers out: calibrate() finds how much of them (docs/quantization.md,
// "Calibration").

namespace octet {

class MagnitudeHistogram;
struct MinMax;

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
/// histogram of 2,048 bins for each sign, which is saved with the model, and takes the range from
/// all that it has counted so far, in whatever order and however batched; observe(), in training,
/// changes nothing but refuses NaN and infinity. The first batch counts as one of calibrate()
/// wherever it comes from.
class HistogramObserver : public Observer {
 public:
  void observe(const Tensor& x) override;
  void calibrate(const Tensor& x) override;
  /// The range of all values that the parts have counted, exactly that of the whole batch.
  void merge_calibrated(const Observer& before,
                        std::span<const std::unique_ptr<Observer>> parts) override;
  /// "histogram", MagnitudeHistogram::packed(), and "extremes", the smallest and the largest value
  /// or 0.
  std::vector<NamedTensor> counters() const override {
    return {{"histogram", histogram_}, {"extremes", extremes_}};
  }

 protected:
  HistogramObserver() = default;
  HistogramObserver(const HistogramObserver& other);
  /// Throws InvalidArgument for a spec with an axis.
  void do_build(const Shape& shape) override;

  /// The t of the range [max(min, -t), min(max, t)].
  virtual float threshold(const MagnitudeHistogram& histogram, const MinMax& limits) const = 0;

 private:
  MagnitudeHistogram histogram() const;
  /// Keeps both, and the range that follows from them.
  void take(const MagnitudeHistogram& histogram, const MinMax& limits);

  Tensor histogram_;
  Tensor extremes_;
};

/// The range of weights, per tensor or per channel, with the smallest sum of squared errors: of 1
/// %, 2 %, ..., 100 % of the largest magnitude.
class MseObserver : public ClipObserver {
 public:
  std::string_view type() const override { return "Mse"; }
  std::unique_ptr<Observer> clone() const override { return std::make_unique<MseObserver>(*this); }

 protected:
  float clip_of(std::span<const float> values, const Range& limits) const override;
};

/// The range of weights, per tensor or per channel, up to the k-th smallest magnitude of n, k =
/// floor(percentile / 100 * n + 0.5), to float32 rounding. Where the k-th magnitude is 0 nothing is
/// left out.
class PercentileObserver : public ClipObserver {
 public:
  /// Throws InvalidArgument unless 0 < percentile <= 100.
  explicit PercentileObserver(double percentile);
  std::string_view type() const override { return "Percentile"; }
  void describe(Description& description) const override;
  std::unique_ptr<Observer> clone() const override {
    return std::make_unique<PercentileObserver>(*this);
  }

 protected:
  float clip_of(std::span<const float> values, const Range& limits) const override;

 private:
  double percentile_;
};

/// The range of activations with the smallest sum of squared errors, as MseObserver, over all
/// values that calibrate() has shown.
class HistogramMseObserver : public HistogramObserver {
 public:
  std::string_view type() const override { return "HistogramMse"; }
  std::unique_ptr<Observer> clone() const override {
    return std::make_unique<HistogramMseObserver>(*this);
  }

 protected:
  float threshold(const MagnitudeHistogram& histogram, const MinMax& limits) const override;
};

/// The range of activations up to the end of the bin that holds the k-th smallest magnitude of all
/// n values, zeros among them. A bin is at most 1/1024 of the largest magnitude wide; for the last
/// of all values the range is exact.
class HistogramPercentileObserver : public HistogramObserver {
 public:
  /// Throws InvalidArgument unless 0 < percentile <= 100.
  explicit HistogramPercentileObserver(double percentile = 99.99);
  std::string_view type() const override { return "HistogramPercentile"; }
  void describe(Description& description) const override;
  std::unique_ptr<Observer> clone() const override {
    return std::make_unique<HistogramPercentileObserver>(*this);
  }

 protected:
  float threshold(const MagnitudeHistogram& histogram, const MinMax& limits) const override;

 private:
  double percentile_;
};

/// The range of activations of 8 bits that keeps most of the distribution, in the sense of least
/// Kullback-Leibler divergence (TensorRT, Migacz 2017).
class HistogramEntropyObserver : public HistogramObserver {
 public:
  std::string_view type() const override { return "HistogramEntropy"; }
  /// Throws InvalidArgument for other bits than 8.
  void require_spec(const QuantSpec& spec) const override;
  std::unique_ptr<Observer> clone() const override {
    return std::make_unique<HistogramEntropyObserver>(*this);
  }

 protected:
  float threshold(const MagnitudeHistogram& histogram, const MinMax& limits) const override;
};

}  // namespace octet
