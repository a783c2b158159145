#pragma once

#include <octet/layers/quantize/observers.h>
#include <octet/layers/quantize/quantizer.h>

#include <memory>

// The usual quantizers by name. Each class is nothing but a constructor: what it makes is a
// Quantizer.

namespace octet {

/// A Quantizer of the last batch's range: what weights use.
class LastValueQuantizer : public Quantizer {
 public:
  explicit LastValueQuantizer(QuantSpec spec, RangeStart start = RangeStart::first_batch);
};

/// A Quantizer of an exponential average of the batches' ranges: what activations use, see
/// MovingAverageObserver.
class MovingAverageQuantizer : public Quantizer {
 public:
  /// Throws InvalidArgument unless 0 <= decay < 1.
  explicit MovingAverageQuantizer(QuantSpec spec, RangeStart start = RangeStart::first_batch,
                                  double decay = 0.99);
};

/// A Quantizer of the range of everything seen so far: what a model's input uses.
class AllValuesQuantizer : public Quantizer {
 public:
  explicit AllValuesQuantizer(QuantSpec spec, RangeStart start = RangeStart::first_batch);
};

/// A Quantizer of a range that never changes. As in TFMOT, its fake quantization is that of
/// constant limits (fake_quant_with_min_max_args).
class FixedQuantizer : public Quantizer {
 public:
  /// Throws InvalidArgument unless min < max.
  FixedQuantizer(float min, float max, QuantSpec spec = {});
};

/// A Quantizer whose step, 2 mean |x| / sqrt(Qp), is taken anew from every kernel, see
/// MeanMagnitudeObserver.
class MeanMagnitudeQuantizer : public Quantizer {
 public:
  explicit MeanMagnitudeQuantizer(QuantSpec spec);
};

/// A Quantizer for weights, per tensor or per channel: of 1 %, 2 %, ..., 100 % of the largest
/// magnitude the range with the smallest sum of squared errors over the weights. In training the
/// range follows the largest magnitude, and the percentage stays until the next calibrate().
class MseQuantizer : public Quantizer {
 public:
  explicit MseQuantizer(QuantSpec spec);
};

/// A Quantizer for weights, per tensor or per channel: the range up to the k-th smallest magnitude
/// of n, k = floor(percentile / 100 * n + 0.5), to float32 rounding. In training its share of the
/// largest magnitude stays until the next calibrate(). Where the k-th magnitude is 0 nothing is
/// left out.
class PercentileQuantizer : public Quantizer {
 public:
  /// Throws InvalidArgument unless 0 < percentile <= 100.
  PercentileQuantizer(QuantSpec spec, double percentile);
};

/// A Quantizer for activations: as MseQuantizer, over all values that calibrate() has shown,
/// counted in a histogram of 2,048 bins for each sign. The counts are saved with the model, so that
/// a calibration that was stopped goes on. In training the range stays as it is; the first batch of
/// a model that was not calibrated counts as its calibration. Refused by build() for a range per
/// channel.
class HistogramMseQuantizer : public Quantizer {
 public:
  explicit HistogramMseQuantizer(QuantSpec spec = {});
};

/// A Quantizer for activations, on the histogram of HistogramMseQuantizer: up to the end of the bin
/// that holds the k-th smallest magnitude of all n values, zeros among them. A bin is at most
/// 1/1024 of the largest magnitude wide; for the last of all values the range is exact.
class HistogramPercentileQuantizer : public Quantizer {
 public:
  /// Throws InvalidArgument unless 0 < percentile <= 100.
  explicit HistogramPercentileQuantizer(QuantSpec spec = {}, double percentile = 99.99);
};

/// A Quantizer for activations of 8 bits, on the histogram of HistogramMseQuantizer: the range that
/// keeps most of the distribution, in the sense of least Kullback-Leibler divergence (TensorRT,
/// Migacz 2017).
class HistogramEntropyQuantizer : public Quantizer {
 public:
  /// Throws InvalidArgument for other bits than 8.
  explicit HistogramEntropyQuantizer(QuantSpec spec = {});
};

/// A Quantizer whose step is learned by LSQ from where `start` begins, see LearnedScale::kLsq.
class LsqQuantizer : public Quantizer {
 public:
  /// Starts at the range of `start`, e.g. a MeanMagnitudeQuantizer for the start of the paper.
  /// Throws InvalidArgument for a null or a learned `start`.
  explicit LsqQuantizer(std::unique_ptr<Quantizer> start);
};

/// A Quantizer for results of layers, per tensor, whose step and offset are learned by LSQ+, see
/// LearnedScale::kLsqPlus.
class LsqPlusQuantizer : public Quantizer {
 public:
  /// Throws InvalidArgument also for a start that is symmetric or per channel.
  explicit LsqPlusQuantizer(std::unique_ptr<Quantizer> start);
};

/// A Quantizer for results of a ReLU, per tensor, whose clip is learned by PACT, see
/// LearnedScale::kPact.
class PactQuantizer : public Quantizer {
 public:
  /// Throws InvalidArgument also for a start that is symmetric or per channel.
  explicit PactQuantizer(std::unique_ptr<Quantizer> start);
};

}  // namespace octet
