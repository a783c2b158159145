#pragma once

#include <octet/layers/quantize/quantizer.h>

// Quantizers whose ranges leave outliers out: calibrate() finds how much of them
// (docs/quantization.md, "Calibration").

namespace octet {

/// A quantizer to whose observer batches of calibrate() are others than those of training.
class CalibratedQuantizer : public Quantizer {
 public:
  void calibrate(const Tensor& x) override { show(x, &Observer::calibrate); }

 protected:
  using Quantizer::Quantizer;
};

/// For weights, per tensor or per channel: the range whose grid has the smallest sum of squared
/// errors over the weights, of 1 %, 2 %, ..., 100 % of the largest magnitude. In training the range
/// follows the largest magnitude, and the percentage stays until the next calibrate().
class MseQuantizer : public CalibratedQuantizer {
 public:
  explicit MseQuantizer(QuantSpec spec);
  std::string_view type() const override { return "Mse"; }
  std::unique_ptr<Quantizer> clone() const override;
};

/// For weights, per tensor or per channel: the range up to the k-th smallest magnitude of n, k =
/// floor(percentile / 100 * n + 0.5), to float32 rounding. In training its share of the largest
/// magnitude stays until the next calibrate(). Where the k-th magnitude is 0 nothing is left out.
class PercentileQuantizer : public CalibratedQuantizer {
 public:
  /// Throws InvalidArgument unless 0 < percentile <= 100.
  PercentileQuantizer(QuantSpec spec, double percentile);
  std::string_view type() const override { return "Percentile"; }
  std::unique_ptr<Quantizer> clone() const override;
};

/// For activations: as MseQuantizer, over all values that calibrate() has shown, counted in a
/// histogram of 2,048 bins for each sign. The counts are saved with the model, so that a
/// calibration that was stopped goes on. In training the range stays as it is; the first batch of a
/// model that was not calibrated counts as its calibration. Refused by build() for a range per
/// channel.
class HistogramMseQuantizer : public CalibratedQuantizer {
 public:
  explicit HistogramMseQuantizer(QuantSpec spec = {});
  std::string_view type() const override { return "HistogramMse"; }
  std::unique_ptr<Quantizer> clone() const override;
};

/// For activations, on the histogram of HistogramMseQuantizer: up to the end of the bin that holds
/// the k-th smallest magnitude of all n values, zeros among them. A bin is at most 1/1024 of the
/// largest magnitude wide; for the last of all values the range is exact.
class HistogramPercentileQuantizer : public CalibratedQuantizer {
 public:
  /// Throws InvalidArgument unless 0 < percentile <= 100.
  explicit HistogramPercentileQuantizer(QuantSpec spec = {}, double percentile = 99.99);
  std::string_view type() const override { return "HistogramPercentile"; }
  std::unique_ptr<Quantizer> clone() const override;
};

/// For activations of 8 bits, on the histogram of HistogramMseQuantizer: the range that keeps most
/// of the distribution, in the sense of least Kullback-Leibler divergence (TensorRT, Migacz 2017).
class HistogramEntropyQuantizer : public CalibratedQuantizer {
 public:
  /// Throws InvalidArgument for other bits than 8.
  explicit HistogramEntropyQuantizer(QuantSpec spec = {});
  std::string_view type() const override { return "HistogramEntropy"; }
  std::unique_ptr<Quantizer> clone() const override;
};

}  // namespace octet
